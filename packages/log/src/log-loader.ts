/**
 * From files to a log that can be used. After a clean shutdown the seals are believed, and no batch is read;
 * otherwise every batch from the recovery point on is: see log-recovery. The recovery point is never
 * advanced here. Called by Log.open.
 */
import { hasCode } from '@tributary/common';
import { crc32c } from '@tributary/record';
import { corruptLog } from './corrupt-log';
import { finishSwaps } from './compaction/swap-recovery';
import type { Disk } from './disk';
import { EpochFile } from './epoch-file';
import { LeaderEpochCache, type EpochEntry } from './leader-epoch-cache';
import { LogFiles, LogResources } from './log-files';
import type { LogOptions } from './log-options';
import { LogProducers } from './log-producers';
import { LogRecovery } from './log-recovery';
import { ProducerRecovery } from './producer-recovery';
import { keepSnapshot, newestSnapshot, removeSnapshotsAbove } from './producer-snapshot';
import { ProducerStates } from './producer-states';
import { SealTimes } from './seal-times';
import { Segment } from './segment';
import { findSegments, SegmentList } from './segment-list';

export interface LoadedLog {
  readonly files: LogFiles;
  readonly segments: SegmentList;
  readonly epochs: LeaderEpochCache;
  /** The epoch file tells something else. */
  readonly epochFileStrays: boolean;
  readonly producers: LogProducers;
  readonly sealTimes: SealTimes;
  readonly logStartOffset: number;
  readonly recoveryPoint: number;
  /** Bytes that recovery cut off. */
  readonly cutBytes: number;
}

interface StoredEpochs {
  readonly epochs: LeaderEpochCache;
  readonly mayLackTheLast: boolean;
}

export async function loadLog(
  disk: Disk,
  directory: string,
  options: LogOptions,
): Promise<LoadedLog> {
  const resources = options.resources ?? new LogResources(disk);
  const files = new LogFiles(disk, directory, resources, options.clock);
  const start = options.logStartOffset ?? 0;
  const opened = openSegments(files, start);
  const stored = readEpochs(files, opened.at(-1), options);
  const toldEpochs = stored?.epochs.format();
  files.epochOf = (offset, found) => expectedEpoch(stored, offset, found);

  const limits = { expirationMs: options.producerIdExpirationMs };
  // What lies below the first segment was committed and deleted: a snapshot of that is of no other history.
  const firstOffset = opened[0]?.baseOffset ?? start;
  const trustedUpTo = Math.max(options.recoveryPoint ?? 0, firstOffset);
  removeSnapshotsAbove(disk, directory, options.recover ? trustedUpTo : Infinity);
  const snapshot = newestSnapshot(disk, directory, limits);
  const states = snapshot?.states ?? new ProducerStates(limits);
  const recovery = new LogRecovery(
    files,
    options,
    new ProducerRecovery(states, snapshot?.offset ?? 0, (offset, known) =>
      keepSnapshot(disk, directory, { offset, states: known }),
    ),
  );
  await recovery.recover(opened);
  requireSynced(directory, recovery, options);
  if (recovery.cutBytes > 0) reportCut(options, recovery);

  const isPast = (recovery.kept.at(-1)?.nextOffset ?? -1) < start;
  const segments = isPast ? startAnew(files, recovery, start) : new SegmentList(recovery.kept);
  for (const segment of recovery.unstored) segments.mustStore(segment);
  const range = {
    logStartOffset: Math.max(start, segments.first.baseOffset),
    logEndOffset: segments.active.nextOffset,
  };
  const recoveryPoint = Math.min(options.recoveryPoint ?? 0, range.logEndOffset);
  const sealTimes = new SealTimes(segments, options.clock);
  const times = { clock: options.clock, sealTimes, limits };
  const producers = new LogProducers(disk, directory, segments, times);
  const foresees = (snapshot?.offset ?? 0) > range.logEndOffset;
  if (foresees || recovery.trimmed || isPast) {
    producers.recover(range, Math.min(trustedUpTo, range.logEndOffset));
  } else {
    producers.adopt(states);
  }
  const epochs = reconciled(stored?.epochs, recovery.changes, segments);
  files.epochOf = (offset) => epochs.epochOf(offset);
  return {
    files,
    segments,
    epochs,
    epochFileStrays: toldEpochs !== epochs.format(),
    producers,
    sealTimes,
    logStartOffset: range.logStartOffset,
    recoveryPoint,
    cutBytes: recovery.cutBytes,
  };
}

function openSegments(files: LogFiles, start: number): Segment[] {
  const { disk, directory } = files;
  finishSwaps(disk, directory, disk.list(directory));
  const names = disk.list(directory);
  const { baseOffsets, orphans, deleted } = findSegments(names, start);
  const leftovers = names.filter((name) => name.endsWith('.tmp'));
  for (const name of [...deleted, ...orphans, ...leftovers]) disk.remove(`${directory}/${name}`);
  return baseOffsets.map((baseOffset) => Segment.open(files, baseOffset));
}

/** The recovery point vouches for what was on the device; every cut lowers it first. So what is not there was taken away. */
function requireSynced(
  directory: string,
  { kept }: LogRecovery,
  { recoveryPoint = 0 }: LogOptions,
): void {
  const last = kept.at(-1);
  const end = last?.nextOffset ?? 0;
  if (end >= recoveryPoint) return;
  throw corruptLog(`the log ends at offset ${end}, it was written up to ${recoveryPoint}`, {
    path: last?.file.path ?? directory,
    position: last?.size ?? 0,
    offset: end,
  });
}

/** What is left ends before the log starts: nothing of it may be seen again. */
function startAnew(files: LogFiles, recovery: LogRecovery, start: number): SegmentList {
  for (const segment of recovery.kept.reverse()) segment.remove();
  recovery.unstored.length = recovery.changes.length = 0;
  return new SegmentList([Segment.create(files, start)]);
}

/**
 * undefined: missing or damaged; the seals and the batches tell the same, but for empty epochs. After a clean shutdown
 * the seal of the last segment knows what must be there.
 */
function readEpochs(
  { disk, directory }: LogFiles,
  last: Segment | undefined,
  { recover }: LogOptions,
): StoredEpochs | undefined {
  const file = new EpochFile(disk, directory);
  try {
    const text = file.read();
    if (text === undefined) return undefined;
    const expected = recover ? 0 : (last?.indexes.readHead()?.epochsCrc ?? 0);
    if (expected !== 0 && expected !== crc32c(Buffer.from(text))) return undefined;
    const epochs = LeaderEpochCache.parse(text, file.path);
    return { epochs, mayLackTheLast: file.mayLackTheLast };
  } catch (error) {
    if (hasCode(error, 'CORRUPT_LOG')) return undefined;
    throw error;
  }
}

/** Of the batch at `offset`; -1: not known. Behind the last entry of what may lack some there may be later epochs. */
function expectedEpoch(stored: StoredEpochs | undefined, offset: number, found: number): number {
  if (!stored) return -1;
  const { epochs, mayLackTheLast } = stored;
  const epoch = epochs.epochOf(offset);
  return mayLackTheLast && epoch === epochs.latestEpoch && found > epoch ? -1 : epoch;
}

function reconciled(
  stored: LeaderEpochCache | undefined,
  changes: readonly EpochEntry[],
  segments: SegmentList,
): LeaderEpochCache {
  const epochs = stored ?? new LeaderEpochCache();
  epochs.reconcile(changes);
  // An epoch that begins right at the end was recorded by a leader that had not written yet (KAFKA-7415).
  epochs.cutFrom(segments.active.nextOffset + 1);
  epochs.cutBefore(segments.first.baseOffset);
  return epochs;
}

function reportCut({ logger, topic, partition }: LogOptions, recovery: LogRecovery): void {
  logger.warn('log recovery cut off bytes that do not check', {
    topic,
    partition,
    bytes: recovery.cutBytes,
    logEndOffset: recovery.kept.at(-1)?.nextOffset,
  });
}
