/**
 * Reads a segment batch by batch after a crash: see segment-walk. Reads through the thread pool, the next window while
 * the batches of this one are checked, so that a process that recovers many gigabytes is as fast as its disk and
 * still answers its health checks. Called by recovery.
 */
import { type BatchHeader } from '@tributary/record';
import type { BatchChain } from './batch-chain';
import type { Segment } from './segment';
import { sizeOfBatch, takeBatches, wholeBatchesEnd, type Flaw } from './segment-walk';

const WINDOW_BYTES = 1024 * 1024;
const NOTHING = Buffer.alloc(0);

export interface Verdict {
  /** Where the sound part of the segment ends. */
  readonly validBytes: number;
  readonly flaw: Flaw | undefined;
}

export async function verifySegment(
  segment: Segment,
  chain: BatchChain,
  onBatch: (header: BatchHeader) => void,
): Promise<Verdict> {
  segment.reset();
  const { file } = segment;
  // One is read into while the batches of the other are checked; nothing of them is kept.
  const windowBytes = Math.min(WINDOW_BYTES, file.size);
  const windows = [Buffer.allocUnsafe(windowBytes), Buffer.allocUnsafe(windowBytes)];
  const readOn = (from: number): Promise<Buffer> => {
    windows.reverse();
    return file.readAsync(from, windowBytes, windows[0]);
  };
  let position = 0;
  let bytes = await readOn(0);
  while (position < file.size) {
    let end = wholeBatchesEnd(bytes);
    if (end === 0) {
      const size = sizeOfBatch(bytes);
      if (size === undefined || position + size > file.size) {
        return { validBytes: position, flaw: notWhole(position) };
      }
      bytes = await file.readAsync(position, size);
      end = wholeBatchesEnd(bytes);
      if (end === 0) return { validBytes: position, flaw: notWhole(position) };
    }
    const following =
      position + end < file.size ? readOn(position + end) : Promise.resolve(NOTHING);
    following.catch(() => undefined); // met again below, unless something is wrong before
    const window = { bytes: bytes.subarray(0, end), position };
    const flaw = takeBatches(segment, chain, window, onBatch);
    if (flaw) return { validBytes: flaw.position, flaw };
    position += end;
    bytes = await following;
  }
  return { validBytes: position, flaw: undefined };
}

function notWhole(position: number): Flaw {
  return { position, problem: 'not a whole batch', isWhole: false };
}
