/** One partition directory: its small files, then every segment in order as one log. Called by inspect. */
import { dirname } from 'node:path';
import { CLEAN_MARKER_FILE } from '../clean-shutdown-marker';
import { DAMAGE_FILE } from '../damage-mark';
import type { Disk } from '../disk';
import { EPOCH_FILE } from '../epoch-file';
import { GAPS_FILE, gapsUpTo } from '../offset-gaps';
import { PARTITION_METADATA_FILE } from '../partition-metadata';
import { findSegments } from '../segment-list';
import { EpochCheck } from './epoch-check';
import { LogChain } from './log-chain';
import { openIfThere, readIfThere } from './read-whole';
import { MEANING, type InspectionReport } from './report';
import { segmentPaths } from './segment-files';
import { SnapshotCheck } from './snapshot-check';
import { readEpochFile, readWithCompanion } from './text-file-check';
import { verifySegment, type InspectionContext } from './verify-segment';

/** What a running broker may be about to finish, and what it cleans up at its next start. */
const PASSING = /\.(tmp|swap|cleaned|deleted)$/;
const KNOWN = /^([0-9]{20}\.(log|index|timeindex|snapshot|seal)|(leader-epoch-checkpoint|partition\.metadata)(\.crc)?|damaged|offset-gaps)$/; // prettier-ignore

export async function verifyPartition(
  context: InspectionContext,
  directory: string,
): Promise<void> {
  const { disk, report } = context;
  const names = disk.list(directory);
  report.partitions += 1;
  tellUnknown(directory, names, report);
  checkMetadata(context, directory);
  if (names.includes(DAMAGE_FILE)) {
    report.note(`${directory} is marked as damaged: it waits for its peers, or for a person`);
  }
  const epochs = readEpochs(context, directory);
  const snapshots = new SnapshotCheck(disk, directory, report);
  const chain = new LogChain(report, readGaps(context, directory), epochs, snapshots);
  const { baseOffsets, orphans } = findSegments(names);
  for (const name of orphans) report.note(`${directory}/${name} belongs to no segment`);
  for (const [i, baseOffset] of baseOffsets.entries()) {
    const isLast = i === baseOffsets.length - 1;
    const seal = await verifySegment(context, { directory, baseOffset, isLast }, chain);
    if (isLast && seal && isClosed(disk, directory)) epochs?.onClose(seal.epochsCrc);
  }
  snapshots.finish(chain.nextOffset ?? baseOffsets.at(-1) ?? 0);
}

/**
 * Its log directory was closed cleanly and not opened since. A log that was opened may have begun epochs in which nothing is
 * written yet: its last segment is sealed still, and the epoch file is another one than it was at the close.
 */
function isClosed(disk: Disk, directory: string): boolean {
  return disk.exists(`${dirname(directory)}/${CLEAN_MARKER_FILE}`);
}

/** One segment of it: what other files say about the whole log is left out. */
export async function verifyOneSegment(
  context: InspectionContext,
  directory: string,
  baseOffset: number,
): Promise<void> {
  const epochs = readEpochs(context, directory);
  const names = context.disk.list(directory);
  const isLast = findSegments(names).baseOffsets.at(-1) === baseOffset;
  const chain = new LogChain(context.report, readGaps(context, directory), epochs);
  await verifySegment(context, { directory, baseOffset, isLast }, chain);
}

function readEpochs({ disk, report }: InspectionContext, directory: string) {
  const path = `${directory}/${EPOCH_FILE}`;
  const last = findSegments(disk.list(directory)).baseOffsets.at(-1) ?? 0;
  const isOpen = !disk.exists(segmentPaths(directory, last).seal);
  const damages = report.damages;
  const text = readEpochFile(disk, path, report);
  if (report.damages > damages) return undefined;
  if (text !== undefined) return new EpochCheck(path, text, isOpen, report);
  // It is not made before the first epoch: a replica that has nothing yet is as it should be.
  if (hasBytes(disk, segmentPaths(directory, last).log) || last > 0) {
    report.note(`${path} does not exist: the batches alone tell the epochs`);
  }
  return undefined;
}

/** An empty file is of an earlier version, which did not tell how far up. */
function readGaps({ disk, report }: InspectionContext, directory: string) {
  const path = `${directory}/${GAPS_FILE}`;
  const text = readIfThere(disk, path)?.toString();
  const bound = gapsUpTo(text);
  if (bound === undefined && text !== '') {
    report.damage({ path, problem: 'it fails its own checksum', meaning: MEANING.gaps });
  }
  return (baseOffset: number): boolean => baseOffset <= (bound ?? Infinity);
}

function hasBytes(disk: Disk, path: string): boolean {
  const file = openIfThere(disk, path);
  if (!file) return false;
  try {
    return file.size > 0;
  } finally {
    file.close();
  }
}

function checkMetadata({ disk, report }: InspectionContext, directory: string): void {
  const path = `${directory}/${PARTITION_METADATA_FILE}`;
  const before = report.damages;
  const text = readWithCompanion(disk, path, report, MEANING.identity);
  if (report.damages > before) return;
  if (/^version: 0\ntopic_id: [A-Za-z0-9_-]{22}\n$/.test(text ?? '')) return;
  const problem = text === undefined ? 'there is none' : 'it names no topic id';
  report.damage({ path, problem, meaning: MEANING.identity });
}

function tellUnknown(directory: string, names: readonly string[], report: InspectionReport): void {
  for (const name of names) {
    if (KNOWN.test(name)) continue;
    const what = PASSING.test(name) ? 'is work in progress' : 'is no file of a log';
    report.note(`${directory}/${name} ${what}`);
  }
}
