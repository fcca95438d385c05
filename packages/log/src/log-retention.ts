/**
 * Carries out what retention decides, in steps that may be torn apart by a crash at any point:
 *
 *   1. roll     the active segment, when all of it goes                  (a crash: it is rolled, or is not)
 *   2. raise    the log start in memory; readers see it                  (a crash: the old start, nothing is lost)
 *   3. flush    up to the first segment that stays, its snapshot too     (a crash: as before)
 *   4. store    the log start in the checkpoint of the directory         (a crash: the loader drops what is below)
 *   5. remove   the files, oldest first                                  (a crash: the loader drops the rest)
 *
 * Step 3 keeps what is known of producers whose batches go: the snapshot at the first segment that stays has it, and is made
 * anew where compaction took it away. Where steps
 * 3 and 4 fail because the disk is full, removing is what helps: then each removal is synced before the next, so that what a
 * power failure leaves has no hole. Called by log maintenance.
 */
import { hasCode } from '@tributary/common';
import { rollIfOld, roll } from './log-roll';
import { raiseLogStart } from './log-start';
import type { LogState } from './log-state';
import { snapshotPath } from './producer-snapshot';
import { segmentsToDelete, type RetainedSegment, type RetentionDecision } from './retention';

/** Steps 1 and 2. Without effect until the settings of the topic are known. */
export function retain(log: LogState): RetentionDecision | undefined {
  if (!log.configIsKnown) return undefined;
  rollIfOld(log);
  const decision = segmentsToDelete(viewOf(log), log.options.clock.wallTime());
  if (decision.rollActive) log.health.guard('roll', () => roll(log));
  raiseLogStart(log, decision.logStartOffset);
  return decision;
}

export function hasObsoleteSegments(log: LogState): boolean {
  const following = log.segments.all[1];
  return following !== undefined && following.baseOffset <= log.startOffset;
}

/** Step 3. Resolves to false when the disk is full. */
export async function flushWhatStays(log: LogState): Promise<boolean> {
  const { baseOffset } = log.segments.containing(log.startOffset);
  try {
    await log.health.guardAsync('read', () => log.producers.ensureSnapshotAt(baseOffset));
    log.health.check();
    // A recovery may have made it anew, when the segments around it were on the device.
    await log.files.syncSideFile(snapshotPath(log.directory, baseOffset));
    log.flusher.directoryChanged();
    await log.flushTo(baseOffset);
    return true;
  } catch (error) {
    if (hasCode(error, 'DISK_FULL')) return false;
    throw error;
  }
}

/** Step 5, one segment; false: there is none. Readers that are about to read it start again, and find the new log start. */
export function removeObsoleteSegment(log: LogState): boolean {
  const segment = log.segments.removeFirstBelow(log.startOffset);
  if (!segment) return false;
  log.health.guard('delete a segment', () => {
    log.bytes -= segment.size;
    segment.remove();
    // Not before: with the old checkpoint the records that they tell of are there again.
    log.epochs.cutBefore(log.segments.first.baseOffset);
    log.disk.remove(snapshotPath(log.directory, segment.baseOffset));
    log.flusher.directoryChanged();
  });
  return true;
}

/** After step 5: where the disk had been too full for a snapshot there is none that covers what went. */
export function ensureSnapshot(log: LogState): void {
  log.health.guard('write a producer snapshot', () => {
    if (!log.producers.hasSnapshotFrom(log.segments.first.baseOffset)) {
      log.producers.snapshot(log.endOffset);
    }
  });
}

function viewOf(log: LogState): Parameters<typeof segmentsToDelete>[0] {
  const { all } = log.segments;
  const segments = all.map((segment, i): RetainedSegment => {
    const latest = segment.maxTimestamp?.timestamp ?? -1;
    return {
      baseOffset: segment.baseOffset,
      endOffset: all[i + 1]?.baseOffset ?? log.endOffset,
      sizeBytes: segment.size,
      maxTimestamp: latest < 0 ? undefined : latest,
      sealedAt: log.sealTimes.of(segment),
    };
  });
  const { startOffset: logStartOffset, highWatermark, config } = log;
  return { segments, logStartOffset, highWatermark, config };
}
