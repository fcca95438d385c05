/**
 * Rolls, retention and the expiry of producers, over all logs of a directory. The order of steps that makes it safe is
 * in log-retention; here one checkpoint serves all logs. Called by log maintenance.
 */
import { hasCode, partitionName, type Logger } from '@tributary/common';
import type { Log } from './log';
import type { MaintenanceDuty, MaintenancePace } from './log-maintenance';

export interface RetentionDutyOptions {
  readonly logger: Logger;
  /** The log starts that are true at the call are on the device when it resolves. */
  readonly checkpoint: () => Promise<void>;
}

export function retentionDuty(options: RetentionDutyOptions): MaintenanceDuty {
  return { name: 'retention', run: (logs, pace) => runRetention(options, logs, pace) };
}

async function runRetention(
  options: RetentionDutyOptions,
  logs: readonly Log[],
  pace: MaintenancePace,
): Promise<void> {
  const shorter: Log[] = [];
  let mayBeAhead = true;
  for (const log of logs) {
    await pace.pause();
    if (pace.stopping) return;
    await attempt(options, log, async () => {
      log.upkeep.forgetExpiredProducers();
      log.upkeep.retain();
      if (!log.upkeep.hasObsoleteSegments) return;
      mayBeAhead = (await log.upkeep.flushWhatStays()) && mayBeAhead;
      shorter.push(log);
    });
  }
  if (shorter.length === 0) return;
  const stored = mayBeAhead && (await isCheckpointed(options));
  for (const log of shorter) {
    await attempt(options, log, () => removeSegments(options, log, { stored, pace }));
  }
}

/** False: the disk is full. Throws what else keeps the checkpoint from the device; nothing is removed then. */
async function isCheckpointed({ checkpoint }: RetentionDutyOptions): Promise<boolean> {
  try {
    await checkpoint();
    return true;
  } catch (error) {
    if (hasCode(error, 'DISK_FULL')) return false;
    throw error;
  }
}

async function removeSegments(
  { logger }: RetentionDutyOptions,
  log: Log,
  { stored, pace }: { readonly stored: boolean; readonly pace: MaintenancePace },
): Promise<void> {
  const before = log.sizeBytes;
  let segments = 0;
  while (!pace.stopping && log.upkeep.removeObsoleteSegment()) {
    segments += 1;
    if (!stored) await log.upkeep.syncDirectory();
    await pace.pause();
  }
  if (segments === 0) return;
  log.upkeep.ensureSnapshot();
  logger.info('old segments were deleted', {
    partition: partitionName(log.topic, log.partition),
    segments,
    bytes: before - log.sizeBytes,
    logStartOffset: log.logStartOffset,
  });
}

/** A log that fails has said so itself; one that is closed meanwhile needs nothing any more. */
async function attempt(
  { logger }: RetentionDutyOptions,
  log: Log,
  work: () => Promise<void>,
): Promise<void> {
  if (log.failure) return;
  try {
    await work();
  } catch (error) {
    if (hasCode(error, 'CLOSED')) return;
    const partition = partitionName(log.topic, log.partition);
    logger.warn('retention of a log failed, the next round tries again', { partition, error });
  }
}
