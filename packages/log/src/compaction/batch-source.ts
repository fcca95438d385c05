/**
 * The batches of a sealed segment, one after another, through the thread pool. Invariant: what it gives is what was
 * written, its header by the sums of the seal and the rest by its CRC, so damage is not carried on into a file that
 * looks sound; at most one window, or one larger batch, is in memory besides what the caller keeps. Called by
 * the compaction pass.
 */
import { checkCrc, type BatchHeader } from '@tributary/record';
import { headerAt } from '../batch-scan';
import { corruptLog } from '../corrupt-log';
import { checkHeaders, rangeWithin } from '../interval-range';
import type { Segment } from '../segment';

const WINDOW_BYTES = 256 * 1024;

export interface SourceBatch {
  readonly batch: Buffer;
  readonly header: BatchHeader;
}

/** From a little before `from` on. Throws CORRUPT_LOG; CLOSED when the segment is removed meanwhile. */
export async function* readBatches(
  segment: Segment,
  from = segment.baseOffset,
): AsyncGenerator<SourceBatch> {
  const { file, intervals, size } = segment;
  const source = { intervals, size, path: file.path };
  let i = intervals.count === 0 ? 0 : intervals.containing(from);
  while (i < intervals.count) {
    const range = rangeWithin(source, i, WINDOW_BYTES);
    const window = await file.readAsync(range.position, range.length);
    checkHeaders(window, range);
    for (let at = 0; at < window.length;) {
      const header = headerAt(window, at);
      const batch = window.subarray(at, at + (header?.sizeInBytes ?? 0));
      if (!header || !checkCrc(batch)) {
        throw corruptLog('a batch fails its CRC', {
          path: range.path,
          position: range.position + at,
          offset: header?.baseOffset,
        });
      }
      yield { batch, header };
      at += batch.length;
    }
    i = range.last + 1;
  }
}
