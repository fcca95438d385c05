/** Where the batches of a segment file end, by its headers alone. Called when a swap is finished at load. */
import { scanBatches } from '../batch-scan';
import type { Disk } from '../disk';

/** One past the last offset; `emptyEnd` when there is none. */
export function batchesEnd(disk: Disk, path: string, emptyEnd: number): number {
  const file = disk.openFile(path);
  try {
    let end = emptyEnd;
    for (const { header } of scanBatches(file, 0)) end = header.lastOffset + 1;
    return end;
  } finally {
    file.close();
  }
}
