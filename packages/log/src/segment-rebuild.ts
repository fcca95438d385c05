/**
 * Makes the indexes and the seal of a segment anew from its batches, while the log is in use: a file beside it is
 * missing, or a byte of it was changed. Where the seal is sound, and only an index is not, the batches must give
 * the sums of the seal again. Synchronous: whoever reads the segment waits. Called by the segment.
 */
import { hasCode } from '@tributary/common';
import { BatchChain } from './batch-chain';
import { corruptLog } from './corrupt-log';
import type { LogFiles } from './log-files';
import type { PooledFile } from './file-pool';
import type { SegmentIndexes } from './segment-indexes';
import { intervalsOf, type SegmentSeal } from './segment-seal';
import { sizeOfBatch, takeBatches, wholeBatchesEnd, type BatchNotes } from './segment-walk';

const WINDOW_BYTES = 1024 * 1024;

/** A segment, as far as it is made anew. */
interface RebuiltSegment extends BatchNotes {
  readonly file: PooledFile;
  readonly baseOffset: number;
  readonly indexes: SegmentIndexes;
  reset(): void;
  finish(): void;
  persistIndexes(): void;
}

/** Throws CORRUPT_LOG. */
export function rebuildSegment(
  segment: RebuiltSegment,
  rules: LogFiles,
  seal: SegmentSeal | undefined,
): void {
  const { file, baseOffset } = segment;
  segment.reset();
  const chain = seal
    ? new BatchChain({ epochOf: () => -1, mayLeaveGap: () => true }, baseOffset)
    : new BatchChain(rules, baseOffset);
  for (let position = 0; position < file.size;) {
    let bytes = file.read(position, WINDOW_BYTES);
    let end = wholeBatchesEnd(bytes);
    if (end === 0) {
      bytes = file.read(position, sizeOfBatch(bytes) ?? 0);
      end = wholeBatchesEnd(bytes);
    }
    const flaw =
      end === 0
        ? { position, problem: 'not a whole batch' }
        : takeBatches(segment, chain, { bytes: bytes.subarray(0, end), position });
    if (flaw) {
      const { nextOffset: offset } = chain;
      throw corruptLog(flaw.problem, { path: file.path, position: flaw.position, offset });
    }
    position += end;
  }
  if (seal) checkSums(segment, seal);
  segment.finish();
  keep(segment);
}

function checkSums(segment: RebuiltSegment, seal: SegmentSeal): void {
  const { intervals } = segment.indexes;
  const sealed = intervalsOf(seal);
  const differs = sealed.findIndex(
    ({ position, crc }, i) =>
      i >= intervals.count || intervals.position(i) !== position || intervals.sum(i) !== crc,
  );
  if (differs < 0 && intervals.count === sealed.length) return;
  throw corruptLog('a batch header here was changed after it was written', {
    path: segment.file.path,
    position: sealed[Math.max(0, differs)]?.position ?? 0,
  });
}

/** For the next start. On a full disk it is made again then. */
function keep(segment: RebuiltSegment): void {
  try {
    segment.persistIndexes();
  } catch (error) {
    if (!hasCode(error, 'DISK_FULL')) throw error;
  }
}
