/**
 * Walks the batches of a segment file by their headers. Stops without a word at the first thing that is not
 * a whole batch: who needs to know compares where it stopped with the size of the file.
 */
import { BATCH_HEADER_BYTES, readBatchHeader, type BatchHeader } from '@tributary/record';
import { hasCode } from '@tributary/common';
import type { DiskFile } from './disk';

const WINDOW_BYTES = 64 * 1024;

export interface ScannedBatch {
  readonly position: number;
  readonly header: BatchHeader;
}

export function* scanBatches(file: DiskFile, from: number): Generator<ScannedBatch> {
  let window: Buffer = Buffer.alloc(0);
  let windowAt = from;
  for (let position = from; position + BATCH_HEADER_BYTES <= file.size;) {
    if (position + BATCH_HEADER_BYTES > windowAt + window.length) {
      window = file.read(position, WINDOW_BYTES);
      windowAt = position;
    }
    const header = headerAt(window, position - windowAt);
    if (!header || position + header.sizeInBytes > file.size) return;
    yield { position, header };
    position += header.sizeInBytes;
  }
}

/** undefined: no batch has such a header. */
export function headerAt(bytes: Buffer, at: number): BatchHeader | undefined {
  try {
    const header = readBatchHeader(bytes, at);
    return header.magic === 2 && header.sizeInBytes >= BATCH_HEADER_BYTES ? header : undefined;
  } catch (error) {
    if (hasCode(error, 'INVALID_BATCH')) return undefined;
    throw error;
  }
}
