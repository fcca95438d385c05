/**
 * From files to a log that can be used. After a clean shutdown the files are believed; otherwise every batch
 * from the recovery point on is read and checked. Invariant: what is loaded is a prefix of what was
 * appended: at the first byte that does not check the log is cut, and all later segments are dropped. The
 * recovery point is never advanced here. Called by Log.open.
 */
import { hasCode } from '@tributary/common';
import { finishSwaps } from './compaction/swap-recovery';
import type { Disk } from './disk';
import { LeaderEpochCache, type EpochEntry } from './leader-epoch-cache';
import type { LogOptions } from './log-options';
import { LogProducers } from './log-producers';
import { SealTimes } from './seal-times';
import { Segment } from './segment';
import { findSegments, SegmentList } from './segment-list';
import { verifySegment, type VerifyProgress } from './segment-verifier';
import { readTextFile } from './durable-text-file';

export const EPOCH_FILE = 'leader-epoch-checkpoint';

export interface LoadedLog {
  readonly segments: SegmentList;
  readonly epochs: LeaderEpochCache;
  readonly producers: LogProducers;
  readonly sealTimes: SealTimes;
  readonly logStartOffset: number;
  readonly recoveryPoint: number;
  /** Bytes that recovery cut off. */
  readonly cutBytes: number;
}

export async function loadLog(
  disk: Disk,
  directory: string,
  options: LogOptions,
): Promise<LoadedLog> {
  const start = options.logStartOffset ?? 0;
  finishSwaps(disk, directory, disk.list(directory));
  const { baseOffsets, orphans, deleted } = findSegments(disk.list(directory), start);
  for (const name of [...deleted, ...orphans, ...leftovers(disk.list(directory))]) {
    disk.remove(`${directory}/${name}`);
  }
  const opened = baseOffsets.map((baseOffset) => Segment.open(disk, directory, baseOffset));
  const loaded = await loadSegments(opened, options);
  const end = loaded.kept.at(-1)?.nextOffset;
  let { kept, changes } = loaded;
  if (end === undefined || end < start) {
    // What is left ends before the log starts: nothing of it may be seen again.
    for (const segment of kept.reverse()) segment.remove();
    kept = [Segment.create(disk, directory, start)];
    changes = [];
  }
  const segments = new SegmentList(kept);
  for (const segment of kept) if (segment !== segments.active) segment.unloadIndexes();
  const logStartOffset = Math.max(start, segments.first.baseOffset);
  const logEndOffset = segments.active.nextOffset;
  const recoveryPoint = Math.min(options.recoveryPoint ?? 0, logEndOffset);
  const sealTimes = new SealTimes(segments, options.clock);
  const producers = new LogProducers(disk, directory, segments, {
    clock: options.clock,
    sealTimes,
    limits: { expirationMs: options.producerIdExpirationMs },
  });
  // What lies below the first segment was committed and deleted: a snapshot of that is of no other history.
  const trustedUpTo = options.recover
    ? Math.max(recoveryPoint, segments.first.baseOffset)
    : logEndOffset;
  producers.recover({ logStartOffset, logEndOffset }, trustedUpTo);
  return {
    segments,
    epochs: loadEpochs(disk, directory, segments, changes),
    producers,
    sealTimes,
    logStartOffset,
    recoveryPoint,
    cutBytes: loaded.cutBytes,
  };
}

interface LoadedSegments {
  kept: Segment[];
  cutBytes: number;
  /** Epoch changes found in the segments that were verified, in order. */
  changes: EpochEntry[];
}

async function loadSegments(
  segments: readonly Segment[],
  options: LogOptions,
): Promise<LoadedSegments> {
  const { recover, recoveryPoint = 0 } = options;
  const loaded: LoadedSegments = { kept: [], cutBytes: 0, changes: [] };
  let progress: VerifyProgress | undefined;
  let cut = false;
  for (const [i, segment] of segments.entries()) {
    const following = segments[i + 1]?.baseOffset;
    const mustVerify = recover && (following === undefined || following > recoveryPoint);
    // A hole between segments is where the end of the earlier one did not reach the device.
    cut ||= progress !== undefined && progress.nextOffset !== segment.baseOffset;
    if (cut) {
      loaded.cutBytes += segment.size;
      segment.remove();
      continue;
    }
    loaded.kept.push(segment);
    if (!mustVerify && segment.openIndexes()) {
      progress = undefined;
    } else {
      progress = await verifySegment(segment, progress, loaded.changes);
      const torn = segment.size - progress.validBytes;
      if (torn > 0) {
        cut = true;
        loaded.cutBytes += torn;
        segment.file.truncate(progress.validBytes);
      }
    }
    if (following !== undefined && segment.nextOffset > following) {
      progress = trimTo(following, segment, loaded);
    }
  }
  if (loaded.cutBytes > 0) reportCut(options, loaded);
  return loaded;
}

/**
 * The next segment begins inside this one: it was made after a truncation of this one, which did not reach the
 * device. What is behind its beginning is of the older history.
 */
function trimTo(offset: number, segment: Segment, loaded: LoadedSegments): VerifyProgress {
  const before = segment.size;
  const first = segment.findBatch(offset);
  if (first) segment.truncate(first.position, first.header.baseOffset);
  segment.seal();
  loaded.cutBytes += before - segment.size;
  loaded.changes = loaded.changes.filter((change) => change.startOffset < segment.nextOffset);
  return {
    validBytes: segment.size,
    nextOffset: segment.nextOffset,
    latestEpoch: loaded.changes.at(-1)?.epoch ?? -1,
  };
}

function loadEpochs(
  disk: Disk,
  directory: string,
  segments: SegmentList,
  changes: readonly EpochEntry[],
): LeaderEpochCache {
  const stored = readEpochs(disk, `${directory}/${EPOCH_FILE}`);
  const epochs = stored ?? new LeaderEpochCache();
  epochs.reconcile(stored ? changes : scanEpochs(segments));
  // An epoch that begins right at the end was recorded by a leader that had not written yet (KAFKA-7415).
  epochs.cutFrom(segments.active.nextOffset + 1);
  epochs.cutBefore(segments.first.baseOffset);
  return epochs;
}

/** undefined: missing or damaged; the batches tell the same, but for empty epochs. */
function readEpochs(disk: Disk, path: string): LeaderEpochCache | undefined {
  const text = readTextFile(disk, path);
  if (text === undefined) return undefined;
  try {
    return LeaderEpochCache.parse(text, path);
  } catch (error) {
    if (hasCode(error, 'CORRUPT_LOG')) return undefined;
    throw error;
  }
}

function scanEpochs(segments: SegmentList): EpochEntry[] {
  const changes: EpochEntry[] = [];
  let latest = -1;
  for (const segment of segments.all) {
    for (const { header } of segment.scan()) {
      if (header.leaderEpoch <= latest) continue;
      latest = header.leaderEpoch;
      changes.push({ epoch: latest, startOffset: header.baseOffset });
    }
  }
  return changes;
}

function leftovers(names: readonly string[]): string[] {
  return names.filter((name) => name.endsWith('.tmp'));
}

function reportCut({ logger, topic, partition }: LogOptions, loaded: LoadedSegments): void {
  logger.warn('log recovery cut off bytes that do not check', {
    topic,
    partition,
    bytes: loaded.cutBytes,
    logEndOffset: loaded.kept.at(-1)?.nextOffset,
  });
}
