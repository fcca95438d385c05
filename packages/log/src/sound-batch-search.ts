/**
 * Looks for a whole batch with a true CRC anywhere behind a place that does not check: a torn write leaves none, unless
 * the power failed. Called by recovery, where it is about to cut.
 */
import { baseOffsetAt, BATCH_HEADER_BYTES, checkCrc } from '@tributary/record';
import type { DiskFile } from './disk';
import { sizeOfBatch } from './segment-walk';

const WINDOW_BYTES = 1024 * 1024;
const MAGIC_AT = 16;
const MAGIC = 2;

/** @param nextOffset no batch there can begin below it. */
export async function hasSoundBatch(
  file: DiskFile,
  from: number,
  nextOffset: number,
): Promise<boolean> {
  for (let position = from; position + BATCH_HEADER_BYTES <= file.size;) {
    const window = await file.readAsync(position, WINDOW_BYTES);
    let at = 0;
    for (; at + BATCH_HEADER_BYTES <= window.length; at += 1) {
      if (window[at + MAGIC_AT] !== MAGIC || baseOffsetAt(window, at) < nextOffset) continue;
      const size = sizeOfBatch(window, at);
      if (size === undefined || position + at + size > file.size) continue;
      if (checkCrc(await file.readAsync(position + at, size))) return true;
    }
    if (at === 0) return false;
    position += at;
  }
  return false;
}
