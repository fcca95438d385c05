/**
 * The first half of opening a log directory: whose is it, how did the process before this one end? Invariant: nothing in
 * a directory of somebody else is touched; a clean shutdown is believed once (its marker goes before anything is
 * loaded). Called by LogDirectory, and by LogDirectories for each of its directories.
 */
import { parsePartitionName } from '@tributary/common';
import { takeMarker, type CleanShutdown } from './clean-shutdown-marker';
import type { DirectoryLock } from './disk';
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
