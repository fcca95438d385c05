/** Which entries a directory that is about to be made adds, so that each can be synced. Called by LogDirectory. */
import type { Disk } from './disk';

/** Directories in which making `directory` makes an entry, outermost first. */
export function missingParents(disk: Disk, directory: string): string[] {
  const parents: string[] = [];
  for (let path = directory; !disk.exists(path); path = parents[0] as string) {
    parents.unshift(path.slice(0, path.lastIndexOf('/')) || '/');
  }
  return parents;
}
