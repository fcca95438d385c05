/**
 * Appends of both kinds, and the roll that one may need first. Synchronous and all-or-nothing. Called by Log.
 */
import { assert, hasCode, TributaryError } from '@tributary/common';
import { assignOffsetAndEpoch, readBatchHeader, type BatchHeader } from '@tributary/record';
import { checkReplicated, type BatchGroup } from './follower-append';
import { LeaderEpochCache } from './leader-epoch-cache';
import { mustRoll, rollFor } from './log-roll';
import { fillOf } from './segment-room';
import type { LogState } from './log-state';
import { truncateLog } from './log-truncation';
import type { LeaderAppend, LeaderAppendOptions } from './partition-log';

export function appendAsLeader(
  log: LogState,
  batch: Buffer,
  options: LeaderAppendOptions,
): LeaderAppend {
  const header = readBatchHeader(batch);
  assert(header.sizeInBytes === batch.length, 'exactly one batch is appended');
  const { leaderEpoch, expectedOffset } = options;
  const now = log.options.clock.wallTime();
  const first = header.producerId >= 0 ? log.producers.states.check(header, now) : undefined;
  if (first) {
    return { baseOffset: first.baseOffset, lastOffset: first.lastOffset, duplicate: true };
  }
  const baseOffset = log.endOffset;
  if (expectedOffset !== undefined && expectedOffset !== baseOffset) {
    throw new TributaryError(
      'UNEXPECTED_OFFSET',
      `${log.name}: offset ${expectedOffset} was expected, the next one is ${baseOffset}`,
      { outcome: 'not written', details: { expectedOffset, logEndOffset: baseOffset } },
    );
  }
  assert(leaderEpoch >= log.epochs.latestEpoch, `${log.name}: leader epoch went back`);
  assignOffsetAndEpoch(batch, baseOffset, leaderEpoch);
  const lastOffset = baseOffset + header.lastOffsetDelta;
  const written = { ...header, baseOffset, lastOffset, leaderEpoch };
  write(log, { beginsSegment: mustRoll(log, written), bytes: batch, headers: [written] });
  return { baseOffset, lastOffset, duplicate: false };
}

export function appendAsFollower(log: LogState, batches: Buffer): void {
  const groups = checkReplicated(batches, {
    name: log.name,
    logEndOffset: log.endOffset,
    lastBatchEpoch: log.lastBatchEpoch,
    limits: log.config,
    active: fillOf(log.segments.active),
    activeIsOver: log.activeAge.isOver(log.segments.active, log.config),
  });
  const before = log.endOffset;
  const firstEpoch = groups[0]?.headers[0]?.leaderEpoch ?? log.epochs.latestEpoch;
  if (firstEpoch < log.epochs.latestEpoch) forgetEmptyEpoch(log);
  const epochs = log.epochs.entries;
  for (const group of groups) {
    try {
      write(log, group);
    } catch (error) {
      // All or nothing: the groups before this one go again, and so do their epochs.
      if (!log.health.failure && log.endOffset > before) {
        truncateLog(log, before);
        log.epochs.replace(epochs);
        log.epochFileStrays();
      }
      throw error;
    }
  }
}

function write(log: LogState, { beginsSegment, bytes, headers }: BatchGroup): void {
  const first = headers[0] as BatchHeader;
  try {
    log.health.guard('append', () => {
      if (beginsSegment) rollFor(log, first);
      writeNewEpochs(log, headers);
      const { active } = log.segments;
      const isFirst = active.size === 0;
      active.append(bytes, headers);
      if (isFirst) log.activeAge.started(active);
    });
  } catch (error) {
    const outcome = hasCode(error, 'DISK_FULL') ? 'not written' : 'maybe written';
    throw TributaryError.from(error).withOutcome(outcome);
  }
  log.bytes += bytes.length;
  const now = log.options.clock.wallTime();
  for (const header of headers) {
    if (header.leaderEpoch > log.epochs.latestEpoch) {
      log.epochs.assign(header.leaderEpoch, header.baseOffset);
    }
    log.producers.states.record(header, now);
  }
  if (log.epochFileStrayed) log.epochFileReturned();
}

/** It was led here, and nobody followed: what comes is older, and would seem to be of that epoch. */
function forgetEmptyEpoch(log: LogState): void {
  const kept = new LeaderEpochCache(log.epochs.entries);
  kept.cutFrom(log.endOffset);
  log.health.guard('append', () => log.epochFile.writeNow(kept.format()));
  log.epochs.replace(kept.entries);
}

/**
 * Before the batches: recovery holds each batch against the epoch file, and takes one whose epoch that does not know for
 * a damaged header. A leader's epoch stands there since it became leader; this is for followers.
 */
function writeNewEpochs(log: LogState, headers: readonly BatchHeader[]): void {
  const last = headers.at(-1) as BatchHeader;
  if (last.leaderEpoch <= log.epochs.latestEpoch && !log.epochFileStrayed) return;
  const known = new LeaderEpochCache(log.epochs.entries);
  for (const { leaderEpoch, baseOffset } of headers) {
    if (leaderEpoch > known.latestEpoch) known.assign(leaderEpoch, baseOffset);
  }
  log.epochFileStrays();
  log.epochFile.writeNow(known.format());
}
