/**
 * The batches of a sealed segment, one after another, through the thread pool. Invariant: what it gives is whole and
 * its CRC holds, so damage is not carried on into a file that looks sound; at most one window, or one larger
 * batch, is in memory besides what the caller keeps. Called by the compaction pass.
 */
import { TributaryError } from '@tributary/common';
import { BATCH_HEADER_BYTES, batchSizeAt, checkCrc, type BatchHeader } from '@tributary/record';
import { headerAt } from '../batch-scan';
import type { Segment } from '../segment';

const WINDOW_BYTES = 256 * 1024;

export interface SourceBatch {
  readonly batch: Buffer;
  readonly header: BatchHeader;
}

/** @param from a batch boundary. Throws CORRUPT_LOG; CLOSED when the segment is removed meanwhile. */
export async function* readBatches(segment: Segment, from = 0): AsyncGenerator<SourceBatch> {
  const { file } = segment;
  let window: Buffer = Buffer.alloc(0);
  let windowAt = from;
  for (let position = from; position < file.size;) {
    const at = position - windowAt;
    const size = window.length - at < BATCH_HEADER_BYTES ? undefined : sizeAt(window, at);
    const wanted = size ?? BATCH_HEADER_BYTES;
    if (position + wanted > file.size) throw corrupt(segment, position, 'a batch is cut off');
    if (size === undefined || at + size > window.length) {
      window = await file.readAsync(position, Math.max(WINDOW_BYTES, wanted));
      windowAt = position;
      if (window.length < wanted)
        throw corrupt(segment, position, 'the file is shorter than it was');
      continue;
    }
    const batch = window.subarray(at, at + size);
    const header = checkCrc(batch) ? headerAt(batch, 0) : undefined;
    if (!header) throw corrupt(segment, position, 'a batch fails its CRC');
    yield { batch, header };
    position += size;
  }

  function sizeAt(bytes: Buffer, at: number): number | undefined {
    try {
      return batchSizeAt(bytes, at);
    } catch (error) {
      throw corrupt(segment, windowAt + at, 'no batch has such a length', error);
    }
  }
}

function corrupt(
  segment: Segment,
  position: number,
  problem: string,
  cause?: unknown,
): TributaryError {
  const { path } = segment.file;
  return new TributaryError('CORRUPT_LOG', `${path} at position ${position}: ${problem}`, {
    details: { path, position },
    cause,
  });
}
