/**
 * `damaged`: a file that says that bytes of this log are not as they were written, and which. Invariant: from the moment
 * damage is found until the log is refilled or repaired it is there, over restarts too: otherwise the next start,
 * which does not read every byte, would take the log for sound and let it lead. Called by the log when it fails, by
 * the loader of a log directory, and by the repair.
 */
import { hasCode, TributaryError } from '@tributary/common';
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';

export const DAMAGE_FILE = 'damaged';

/** In place on return, safe from the death of the process. Where the disk refuses, the damage is found again when it is read. */
export function markDamage(disk: Disk, directory: string, error: TributaryError): void {
  try {
    new DurableTextFile(disk, `${directory}/${DAMAGE_FILE}`).writeNow(`${error.message}\n`);
  } catch (thrown) {
    if (!hasCode(thrown, 'DISK_FULL', 'STORAGE_ERROR', 'DATA_DIR_NOT_WRITABLE')) throw thrown;
  }
}

/** As `markDamage`, and safe from the power's: found by a start, which the next one might take for a torn end. */
export async function keepDamage(
  disk: Disk,
  directory: string,
  error: TributaryError,
): Promise<void> {
  try {
    await new DurableTextFile(disk, `${directory}/${DAMAGE_FILE}`).write(`${error.message}\n`);
  } catch (thrown) {
    if (!hasCode(thrown, 'DISK_FULL', 'STORAGE_ERROR', 'DATA_DIR_NOT_WRITABLE')) throw thrown;
  }
}

/** Before anything is changed: a repair that is interrupted must not pass for a sound log. Durable when it resolves. */
export async function keepDamageMarked(disk: Disk, directory: string): Promise<void> {
  const file = new DurableTextFile(disk, `${directory}/${DAMAGE_FILE}`);
  await file.write(file.read() || `${directory} is being repaired\n`);
}

/** Throws CORRUPT_LOG where a mark lies, whatever is in it. */
export function checkDamage(disk: Disk, directory: string): void {
  const path = `${directory}/${DAMAGE_FILE}`;
  if (!disk.exists(path)) return;
  const reason = new DurableTextFile(disk, path).read()?.trim();
  throw new TributaryError('CORRUPT_LOG', reason || `${directory} is marked as damaged`, {
    details: { path },
  });
}

export async function forgetDamage(disk: Disk, directory: string): Promise<void> {
  disk.remove(`${directory}/${DAMAGE_FILE}`);
  await disk.syncDirectory(directory);
}
