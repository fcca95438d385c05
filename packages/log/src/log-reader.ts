/**
 * Finds the bytes that a read asks for: index lookup, then one bounded read, whose headers are walked. A batch
 * larger than was read costs a second one. Written as steps, so that one algorithm serves the
 * synchronous and the asynchronous read. The limit `below` is checked on every batch, whatever segment it
 * lies in (KAFKA-9196). Called by the log alone.
 */
import { TributaryError } from '@tributary/common';
import { BATCH_HEADER_BYTES, batchSizeAt, lastOffsetAt } from '@tributary/record';
import type { DiskFile } from './disk';
import type { SegmentList } from './segment-list';

/** How much more than asked for is read, so that the batches before the wanted one fit in. */
const SLACK_BYTES = 8192;

export interface ReadRequest {
  readonly offset: number;
  readonly maxBytes: number;
  readonly below: number;
}

interface ReadStep {
  readonly file: DiskFile;
  readonly position: number;
  readonly length: number;
}

const NOTHING = Buffer.alloc(0);

/** Yields the reads to do, takes their bytes, returns the result. `offset` lies within the log. */
function* readSteps(
  segments: SegmentList,
  request: ReadRequest,
): Generator<ReadStep, Buffer, Buffer> {
  const { offset, maxBytes } = request;
  let segment = segments.containing(offset);
  for (;;) {
    segments.touch(segment);
    const { file } = segment;
    let position = segment.positionFor(offset);
    let length = maxBytes + SLACK_BYTES;
    while (position < file.size) {
      const chunk = yield { file, position, length };
      const cut = cutBatches(chunk, request);
      if (cut.batches) return cut.batches;
      // Go on behind what was passed, or read the same batch again, whole.
      position += cut.passed;
      if (position < file.size && position + cut.needed > file.size) throw broken(file, position);
      length = Math.max(cut.needed, maxBytes + SLACK_BYTES);
    }
    // The offset lies in a gap at the end of this segment.
    const next = segments.after(segment);
    if (!next) return NOTHING;
    segment = next;
  }
}

/** Runs the steps at once. */
export function readNow(segments: SegmentList, request: ReadRequest): Buffer {
  const steps = readSteps(segments, request);
  let step = steps.next();
  while (!step.done) {
    const { file, position, length } = step.value;
    step = steps.next(file.read(position, length));
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
    const { file, position, length } = step.value;
    const chunk = await file.readAsync(position, length);
    if (!stillValid()) return undefined;
    step = steps.next(chunk);
  }
  return step.value;
}

type Cut =
  | { readonly batches: Buffer }
  | {
      readonly batches?: undefined;
      /** So far the batches reach that end before the wanted offset; may be beyond the chunk. */
      readonly passed: number;
      /** Bytes that must be read from there to see more. */
      readonly needed: number;
    };

function cutBatches(chunk: Buffer, { offset, maxBytes, below }: ReadRequest): Cut {
  let from = 0;
  while (hasHeader(chunk, from) && lastOffsetAt(chunk, from) < offset) from += sizeAt(chunk, from);
  let end = from;
  while (hasHeader(chunk, end) && lastOffsetAt(chunk, end) < below) {
    const next = end + sizeAt(chunk, end);
    if (end > from && (next > chunk.length || next - from > maxBytes)) break;
    if (next > chunk.length) return { passed: from, needed: next - from };
    end = next;
  }
  if (!hasHeader(chunk, from)) return { passed: from, needed: BATCH_HEADER_BYTES };
  return { batches: chunk.subarray(from, end) };
}

function hasHeader(chunk: Buffer, at: number): boolean {
  return chunk.length - at >= BATCH_HEADER_BYTES;
}

function sizeAt(chunk: Buffer, at: number): number {
  try {
    return batchSizeAt(chunk, at) as number;
  } catch (error) {
    throw new TributaryError('CORRUPT_LOG', 'a batch on disk has an impossible length', {
      cause: error,
    });
  }
}

function broken(file: DiskFile, position: number): TributaryError {
  return new TributaryError(
    'CORRUPT_LOG',
    `${file.path} does not end with a whole batch: see position ${position}`,
    { details: { path: file.path, position } },
  );
}
