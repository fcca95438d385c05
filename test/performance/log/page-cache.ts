/**
 * Makes a file cold: its pages leave the page cache. Node cannot ask for that, `dd` of GNU coreutils can, for one file,
 * without any rights. Where there is none, a read is only as cold as a log that was just opened.
 */
import type { ScratchDirectory } from '../scratch-directory';

export async function evict(scratch: ScratchDirectory, path: string): Promise<boolean> {
  try {
    // What is dirty is written first: such pages cannot go.
    await scratch.run('dd', [`of=${path}`, 'oflag=nocache', 'conv=notrunc,fdatasync', 'count=0', 'if=/dev/null']); // prettier-ignore
    await scratch.run('dd', [`if=${path}`, 'iflag=nocache', 'count=0', 'of=/dev/null']);
    return true;
  } catch {
    return false; // another dd, or none
  }
}
