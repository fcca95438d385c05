/** Where the batches of a segment file end: by its seal, or else by the headers. Called when a swap is finished at load. */
import { hasCode } from '@tributary/common';
import { BATCH_HEADER_BYTES } from '@tributary/record';
import { headerAt } from '../batch-scan';
import type { Disk, DiskFile } from '../disk';
import { decodeSealHead } from '../segment-seal';

const WINDOW_BYTES = 64 * 1024;

export interface SwappedFiles {
  readonly log: string;
  readonly seal: string;
}

/** One past the last offset; `emptyEnd` when there is none. */
export function batchesEnd(disk: Disk, { log, seal }: SwappedFiles, emptyEnd: number): number {
  const file = disk.openFile(log, { readOnly: true });
  try {
    return sealedEnd(disk, seal, file.size) ?? scannedEnd(file, emptyEnd);
  } finally {
    file.close();
  }
}

/** undefined: the seal is damaged or missing (Kafka writes none), or is of another file. */
function sealedEnd(disk: Disk, path: string, logBytes: number): number | undefined {
  if (!disk.exists(path)) return undefined;
  const file = disk.openFile(path, { readOnly: true });
  try {
    const head = decodeSealHead(file.read(0, file.size), path);
    return head.logBytes === logBytes ? head.nextOffset : undefined;
  } catch (error) {
    if (hasCode(error, 'CORRUPT_LOG')) return undefined;
    throw error;
  } finally {
    file.close();
  }
}

function scannedEnd(file: DiskFile, emptyEnd: number): number {
  let end = emptyEnd;
  let window: Buffer = Buffer.alloc(0);
  let windowAt = 0;
  for (let position = 0; position + BATCH_HEADER_BYTES <= file.size;) {
    if (position + BATCH_HEADER_BYTES > windowAt + window.length) {
      window = file.read(position, WINDOW_BYTES);
      windowAt = position;
    }
    const header = headerAt(window, position - windowAt);
    if (!header || position + header.sizeInBytes > file.size) break;
    end = header.lastOffset + 1;
    position += header.sizeInBytes;
  }
  return end;
}
