/**
 * Walks the batches of a segment, each one checked: header sums of the intervals, then its CRC. Begins with one
 * interval and reads more at a time as it goes on, since most scans look for one batch and a few read all.
 * Called by the segment.
 */
import { checkCrc, readBatchHeader, type BatchHeader } from '@tributary/record';
import { hasCode } from '@tributary/common';
import { corruptLog } from './corrupt-log';
import type { DiskFile } from './disk';
import { checkHeaders, rangeWithin, type IntervalSource } from './interval-range';

const WINDOW_BYTES_MIN = 8 * 1024;
const WINDOW_BYTES_MAX = 1024 * 1024;

export interface ScannedBatch {
  readonly position: number;
  readonly header: BatchHeader;
  readonly bytes: Buffer;
}

/** From the interval on in which `offset` lies or would lie. Throws CORRUPT_LOG. */
export function* scanBatches(
  file: DiskFile,
  source: IntervalSource,
  offset: number,
): Generator<ScannedBatch> {
  const { intervals } = source;
  let window = WINDOW_BYTES_MIN;
  let i = intervals.count === 0 ? 0 : intervals.containing(offset);
  while (i < intervals.count) {
    const range = rangeWithin(source, i, window);
    const chunk = file.read(range.position, range.length);
    checkHeaders(chunk, range);
    for (let at = 0; at < chunk.length;) {
      const position = range.position + at;
      const header = headerAt(chunk, at);
      const size = header?.sizeInBytes ?? 0;
      const bytes = chunk.subarray(at, at + size);
      if (!header || !checkCrc(bytes)) {
        throw corruptLog('a batch fails its CRC', {
          path: range.path,
          position,
          offset: header?.baseOffset,
        });
      }
      yield { position, header, bytes };
      at += size;
    }
    i = range.last + 1;
    window = Math.min(window * 2, WINDOW_BYTES_MAX);
  }
}

/** undefined: no batch has such a header. */
export function headerAt(bytes: Buffer, at: number): BatchHeader | undefined {
  try {
    const header = readBatchHeader(bytes, at);
    return header.magic === 2 && header.lastOffsetDelta >= 0 ? header : undefined;
  } catch (error) {
    if (hasCode(error, 'INVALID_BATCH')) return undefined;
    throw error;
  }
}
