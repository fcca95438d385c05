/** Reads of a log, at once or through the thread pool. Called by Log. */
import { hasCode } from '@tributary/common';
import { readNow, readWaiting, type ReadRequest } from './log-reader';
import type { LogState } from './log-state';

/** How often an asynchronous read starts again because the log was changed under it; then it is done at once. */
const READ_ATTEMPTS = 3;

const NOTHING = Buffer.alloc(0);

export function readLog(log: LogState, request: ReadRequest): Buffer {
  if (!isSomethingThere(log, request)) return NOTHING;
  return log.health.guard('read', () => readNow(log.segments, request));
}

export async function readLogAsync(log: LogState, request: ReadRequest): Promise<Buffer> {
  for (let attempt = 0; attempt < READ_ATTEMPTS; attempt += 1) {
    log.health.check();
    if (!isSomethingThere(log, request)) return NOTHING;
    const { truncations } = log.flusher;
    const stillValid = (): boolean => truncations === log.flusher.truncations;
    const batches = await log.health.guardAsync('read', async () => {
      try {
        return await readWaiting(log.segments, request, stillValid);
      } catch (error) {
        // A segment that was closed by its removal is no failure: what is left is read again.
        if (!hasCode(error, 'CLOSED')) throw error;
        return undefined;
      }
    });
    // The log may start behind it by now: then these may be batches from behind a deletion.
    if (batches && isSomethingThere(log, request)) return batches;
  }
  log.health.check();
  return readLog(log, request);
}

export function batchStart(log: LogState, offset: number): number {
  if (!isSomethingThere(log, { offset, below: Infinity })) return offset;
  const found = log.health.guard('read', () => log.segments.containing(offset).findBatch(offset));
  return Math.min(offset, found?.header.baseOffset ?? offset);
}

/** Throws OFFSET_OUT_OF_RANGE. */
function isSomethingThere(
  log: LogState,
  { offset, below }: Pick<ReadRequest, 'offset' | 'below'>,
): boolean {
  const { logStartOffset, logEndOffset } = log.range;
  if (offset < logStartOffset || offset > logEndOffset) throw log.outOfRange(offset);
  return offset < Math.min(below, logEndOffset);
}
