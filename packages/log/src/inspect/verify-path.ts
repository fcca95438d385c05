/**
 * Verifies what a path names, on a stopped or a running broker: reads only, takes no lock. What it finds goes to the
 * report. Called by `trib debug segment verify`.
 */
import { PLACEMENT_FILE } from '../placement-record';
import { inspectedPath } from './inspected-path';
import { readSnapshotChecked } from './snapshot-check';
import { checkMetaProperties, checkPlacement } from './text-file-check';
import { checkCheckpoint, checkMarkers, verifyDirectory } from './verify-directory';
import { verifyOneSegment, verifyPartition } from './verify-partition';
import type { InspectionContext } from './verify-segment';

/** @param path absolute. Throws INVALID_ARGUMENT when it is nothing of a log. */
export async function verifyPath(context: InspectionContext, path: string): Promise<void> {
  const { disk, report } = context;
  const target = inspectedPath(disk, path);
  switch (target.kind) {
    case 'log-directory':
      return verifyDirectory(context, target.directory);
    case 'partition':
      return verifyPartition(context, target.directory);
    case 'segment-file':
      if (target.file === 'snapshot') return void readSnapshotChecked(disk, path, report);
      return verifyOneSegment(context, target.directory, target.baseOffset);
    case 'text-file':
      return verifyTextFile(context, target.path, target.directory);
  }
}

async function verifyTextFile(
  context: InspectionContext,
  path: string,
  directory: string,
): Promise<void> {
  const name = path.slice(directory.length + 1);
  if (name === 'meta.properties') return checkMetaProperties(context.disk, path, context.report);
  if (name === PLACEMENT_FILE) return checkPlacement(context.disk, path, context.report);
  if (name.startsWith('.')) return checkMarkers(context, directory);
  // Only the log itself says whether these are right.
  if (name === 'leader-epoch-checkpoint' || name === 'partition.metadata') {
    return verifyPartition(context, directory);
  }
  return checkCheckpoint(context, path);
}
