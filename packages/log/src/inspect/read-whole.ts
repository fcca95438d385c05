/** Small files as a whole, for reading only; the process that owns them may be running, so each may go at any moment. */
import type { Disk, DiskFile } from '../disk';

/** undefined: it does not exist (any more). */
export function openIfThere(disk: Disk, path: string): DiskFile | undefined {
  try {
    return disk.openFile(path, { readOnly: true });
  } catch (error) {
    if (disk.exists(path)) throw error;
    return undefined;
  }
}

export function readIfThere(disk: Disk, path: string): Buffer | undefined {
  const file = openIfThere(disk, path);
  if (!file) return undefined;
  try {
    return file.read(0, file.size);
  } finally {
    file.close();
  }
}
