/**
 * The first half of opening a log directory: whose is it, how did the process before this one end? Invariant: nothing in
 * a directory of somebody else is touched; a clean shutdown is believed once (its marker goes before anything is
 * loaded). Called by LogDirectory, and by LogDirectories for each of its directories.
 */
import { parsePartitionName, TributaryError, type Logger } from '@tributary/common';
import { takeMarker, type CleanShutdown } from './clean-shutdown-marker';
import type { DirectoryLock, Disk } from './disk';
import type { LogDirectoryOptions } from './log-directory-options';
import { MetaProperties } from './meta-properties';
import { missingParents } from './missing-parents';
import { RunningMarker } from './running-marker';

export interface PreparedDirectory {
  readonly lock: DirectoryLock;
  readonly meta: MetaProperties;
  readonly marker: RunningMarker;
  /** undefined: the last shutdown was not clean. */
  readonly clean: CleanShutdown | undefined;
}

/**
 * @param newId for a directory that has no id yet; undefined: it gets none. Throws DATA_DIR_LOCKED,
 * DATA_DIR_NOT_WRITABLE, STORAGE_ERROR, UNKNOWN_FORMAT, CORRUPT_LOG, CLUSTER_MISMATCH, or INVALID_CONFIG when it is
 * another broker's.
 */
export async function prepareDirectory(
  options: LogDirectoryOptions,
  newId?: () => string,
): Promise<PreparedDirectory> {
  const { disk, directory, brokerId, clusterId } = options;
  refuseFile(disk, directory);
  const parents = missingParents(disk, directory);
  disk.makeDirectory(directory);
  const lock = disk.lockDirectory(directory);
  try {
    for (const parent of parents) await disk.syncDirectory(parent);
    const isEmpty = !disk.list(directory).some((name) => parsePartitionName(name));
    const meta = await MetaProperties.open(disk, directory, brokerId, newId);
    if (clusterId !== undefined) await meta.confirmCluster(clusterId);
    const clean = await takeMarker(disk, directory);
    const marker = RunningMarker.read(disk, directory, clean, meta.isNew && isEmpty);
    return { lock, meta, marker, clean };
  } catch (error) {
    lock.unlock();
    throw error;
  }
}

/** @param hasFailed the lock of a dead disk cannot be removed; its owner is gone at the next start anyway. */
export function unlockQuietly(lock: DirectoryLock, logger: Logger, hasFailed: boolean): void {
  try {
    lock.unlock();
  } catch (error) {
    if (!hasFailed) throw error;
    logger.warn('a failed log directory stays locked', { error });
  }
}

/** Making the directory would fail, too, but could not say why in the operator's words. */
function refuseFile(disk: Disk, directory: string): void {
  let existing = directory;
  while (!disk.exists(existing) && existing.includes('/')) {
    existing = existing.slice(0, existing.lastIndexOf('/')) || '/';
  }
  if (existing === '' || disk.isDirectory(existing)) return;
  throw new TributaryError(
    'DATA_DIR_NOT_WRITABLE',
    `the data directory ${directory} cannot be made: ${existing} is not a directory`,
    { hint: 'Remove what is there, or choose another directory.', details: { path: directory } },
  );
}
