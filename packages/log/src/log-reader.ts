/**
 * Finds the bytes that a read asks for: the interval of the offset, then one bounded read of whole intervals, which are
 * checked: their header sums, and the CRC of each batch that is given out. So what is read is what was written, at
 * the price of one pass over it. Written as steps, so that one algorithm serves the synchronous and the asynchronous
 * read. The limit `below` is checked on every batch, whatever segment it lies in (KAFKA-9196). Called by the log alone.
 */
import { baseOffsetAt, batchSizeAt, checkCrc, lastOffsetAt } from '@tributary/record';
import { corruptLog } from './corrupt-log';
import type { DiskFile } from './disk';
import { checkHeaders, rangeOf, rangeWithin, type IntervalRange } from './interval-range';
import type { Segment } from './segment';
import { INDEX_INTERVAL_BYTES } from './segment-indexes';
import type { SegmentList } from './segment-list';

export interface ReadRequest {
  readonly offset: number;
  readonly maxBytes: number;
  readonly below: number;
}

interface ReadStep {
  readonly file: DiskFile;
  readonly range: IntervalRange;
}

const NOTHING = Buffer.alloc(0);

/** Yields the reads to do, takes their bytes, returns the result. `offset` lies within the log. */
function* readSteps(
  segments: SegmentList,
  request: ReadRequest,
): Generator<ReadStep, Buffer, Buffer> {
  let segment: Segment | undefined = segments.containing(request.offset);
  while (segment) {
    segments.touch(segment);
    const { file, intervals } = segment;
    let i = intervals.count === 0 ? 0 : intervals.containing(request.offset);
    while (i < intervals.count) {
      const range = rangeFor(segment, i, request);
      const chunk = yield { file, range };
      checkHeaders(chunk, range);
      const batches = cutBatches(chunk, range, request);
      if (batches) return batches;
      i = range.last + 1;
    }
    // The offset lies in a gap at the end of this segment.
    segment = segments.after(segment);
  }
  return NOTHING;
}

function rangeFor(
  segment: Segment,
  first: number,
  { offset, maxBytes, below }: ReadRequest,
): IntervalRange {
  const { intervals, size, file } = segment;
  const source = { intervals, size, path: file.path };
  // Who reads on where the last read ended wants the first batch of an interval; others want one within it.
  const slack = intervals.firstOffset(first) === offset ? 0 : INDEX_INTERVAL_BYTES;
  const range = rangeWithin(source, first, maxBytes + slack);
  if (below >= segment.nextOffset) return range;
  const last = Math.max(first, Math.min(range.last, intervals.containing(below - 1)));
  return last === range.last ? range : rangeOf(source, first, last);
}

/** Runs the steps at once. */
export function readNow(segments: SegmentList, request: ReadRequest): Buffer {
  const steps = readSteps(segments, request);
  let step = steps.next();
  while (!step.done) {
    const { file, range } = step.value;
    step = steps.next(file.read(range.position, range.length));
  }
  return step.value;
}

/** Runs them through the thread pool; gives up, with undefined, when `stillValid` says no after a wait. */
export async function readWaiting(
  segments: SegmentList,
  request: ReadRequest,
  stillValid: () => boolean,
): Promise<Buffer | undefined> {
  const steps = readSteps(segments, request);
  let step = steps.next();
  while (!step.done) {
    const { file, range } = step.value;
    const chunk = await file.readAsync(range.position, range.length);
    if (!stillValid()) return undefined;
    step = steps.next(chunk);
  }
  return step.value;
}

/** undefined: the batch that reaches to the offset comes later. Lengths and base offsets are known to be right. */
function cutBatches(
  chunk: Buffer,
  range: IntervalRange,
  { offset, maxBytes, below }: ReadRequest,
): Buffer | undefined {
  let from = 0;
  let end = sizeAt(chunk, 0);
  for (; end < chunk.length && baseOffsetAt(chunk, end) <= offset; end += sizeAt(chunk, end)) {
    from = end;
  }
  checkBatch(chunk, from, end, range);
  if (lastOffsetAt(chunk, from) < offset) {
    if (end === chunk.length) return undefined;
    from = end;
    end += sizeAt(chunk, end);
    checkBatch(chunk, from, end, range);
  }
  if (lastOffsetAt(chunk, from) >= below) return NOTHING;
  while (end < chunk.length && baseOffsetAt(chunk, end) < below) {
    const next = end + sizeAt(chunk, end);
    if (next - from > maxBytes) break;
    checkBatch(chunk, end, next, range);
    if (lastOffsetAt(chunk, end) >= below) break;
    end = next;
  }
  return chunk.subarray(from, end);
}

function sizeAt(chunk: Buffer, at: number): number {
  return batchSizeAt(chunk, at) as number;
}

function checkBatch(chunk: Buffer, from: number, to: number, range: IntervalRange): void {
  if (checkCrc(chunk.subarray(from, to))) return;
  throw corruptLog('a batch fails its CRC', {
    path: range.path,
    position: range.position + from,
    offset: baseOffsetAt(chunk, from),
  });
}
