/**
 * What the death of a process leaves of a write that it did not finish: the beginning of a batch, and nothing behind. All of
 * a batch that does not check was whole once, so it is damage; also where its length is what changed. Called by recovery, where
 * the power did not fail.
 */
import { BATCH_HEADER_BYTES, crc32c, CRC_FROM } from '@tributary/record';
import type { DiskFile } from './disk';
import { BATCH_BYTES_MAX, sizeOfBatch } from './segment-walk';

const CRC_AT = 17;

/** Can the bytes from `position` on be such a beginning? They are no sound batch. */
export async function isTornTail(file: DiskFile, position: number): Promise<boolean> {
  const length = file.size - position;
  if (length < BATCH_HEADER_BYTES) return true;
  if (length > BATCH_BYTES_MAX) return false;
  const rest = await file.readAsync(position, length);
  const size = sizeOfBatch(rest);
  if (size !== undefined && size <= length) return false;
  return crc32c(rest.subarray(CRC_FROM)) !== rest.readUInt32BE(CRC_AT);
}
