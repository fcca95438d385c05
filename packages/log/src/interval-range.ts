/**
 * Intervals that are read together, and the check of what was read: the header sums of all of them, whatever part is
 * asked for. After it, base offset, length, leader epoch, magic and CRC field of each batch are known to be what was
 * written; the rest of a batch is once its CRC matches. Called by the reader and by scans.
 */
import { BATCH_HEADER_BYTES, continueCrc32c, CRC_FROM } from '@tributary/record';
import { corruptLog } from './corrupt-log';
import type { IntervalIndex } from './interval-index';

export interface IntervalRange {
  readonly path: string;
  readonly position: number;
  readonly length: number;
  readonly intervals: IntervalIndex;
  readonly first: number;
  readonly last: number;
  /** Of the last interval as it is now: an append to it while the bytes are read changes it. */
  readonly lastSum: number;
}

export interface IntervalSource {
  readonly intervals: IntervalIndex;
  readonly path: string;
  readonly size: number;
}

const LENGTH_AT = 8;
const LENGTH_PREFIX_BYTES = 12;

export function endOf({ intervals, size }: IntervalSource, i: number): number {
  return i + 1 < intervals.count ? intervals.position(i + 1) : size;
}

export function rangeOf(source: IntervalSource, first: number, last: number): IntervalRange {
  const { intervals, path } = source;
  const position = intervals.position(first);
  const length = endOf(source, last) - position;
  return { path, position, length, intervals, first, last, lastSum: intervals.sum(last) };
}

/** As many whole intervals from `first` on as end within `bytes`, but at least that one. */
export function rangeWithin(source: IntervalSource, first: number, bytes: number): IntervalRange {
  const { intervals } = source;
  const limit = intervals.position(first) + bytes;
  let last = intervals.at(limit);
  if (last > first && endOf(source, last) > limit) last -= 1;
  return rangeOf(source, first, Math.max(first, last));
}

/** Throws CORRUPT_LOG. */
export function checkHeaders(bytes: Buffer, range: IntervalRange): void {
  const { intervals, first, last } = range;
  if (bytes.length < range.length) {
    throw corruptLog('the file ends here', {
      path: range.path,
      position: range.position + bytes.length,
    });
  }
  let at = 0;
  for (let i = first; i <= last; i += 1) {
    const end = i < last ? intervals.position(i + 1) - range.position : range.length;
    const expected = i < last ? intervals.sum(i) : range.lastSum;
    let sum = 0;
    while (at + BATCH_HEADER_BYTES <= end) {
      sum = continueCrc32c(sum, bytes, at, at + CRC_FROM);
      const size = LENGTH_PREFIX_BYTES + bytes.readInt32BE(at + LENGTH_AT);
      if (size < BATCH_HEADER_BYTES) break;
      at += size;
    }
    if (at !== end || sum !== expected) {
      throw corruptLog('a batch header here was changed after it was written', {
        path: range.path,
        position: intervals.position(i),
        offset: intervals.firstOffset(i),
      });
    }
  }
}
