/**
 * Where do the logs of leader and follower part? Pure questions on epochs and offsets, one for each side.
 *
 * The leader answers with the largest epoch at or below the follower's last one that it has itself, and where that epoch
 * ends in its log; the follower cuts to where the two can still agree, and asks again until the leader accepts. Truncating to the
 * HW instead would lose committed records (KIP-101); cutting by an epoch that the follower does not have would leave the logs
 * diverged (KIP-279).
 */
import type { PartitionLog } from '@tributary/log';

export type EpochLog = Pick<
  PartitionLog,
  'logStartOffset' | 'logEndOffset' | 'latestEpoch' | 'epochEnd'
>;

export type LeaderLog = EpochLog & Pick<PartitionLog, 'batchStart'>;

export interface FollowerEnd {
  readonly logEndOffset: number;
  /** Epoch of the last batch; -1: the log is empty. */
  readonly lastEpoch: number;
}

export interface TruncateTo {
  /** -1: the leader has no epoch so low. */
  readonly epoch: number;
  readonly endOffset: number;
  readonly restartAt?: number;
}

/** The leader's answer to an attach; undefined: the follower's log is a prefix of this one. Throws what reading throws. */
export function divergence(leader: LeaderLog, follower: FollowerEnd): TruncateTo | undefined {
  const { logEndOffset, lastEpoch } = follower;
  const start = leader.logStartOffset;
  if (lastEpoch < 0 || logEndOffset < start) return startingPoint(leader, follower);
  const known = leader.epochEnd(lastEpoch);
  if (!known) return logEndOffset === start ? undefined : { epoch: -1, endOffset: start };
  const agrees = known.epoch === lastEpoch && known.endOffset >= logEndOffset;
  return agrees ? undefined : { epoch: known.epoch, endOffset: known.endOffset };
}

/**
 * For one that has nothing of what this log holds. Records may be deleted up to the middle of a batch: then the log starts
 * there, and a copy begins with the whole batch.
 */
function startingPoint(
  leader: LeaderLog,
  { logEndOffset, lastEpoch }: FollowerEnd,
): TruncateTo | undefined {
  const { logStartOffset, logEndOffset: end } = leader;
  if (logEndOffset > end) return { epoch: -1, endOffset: end };
  const start = leader.batchStart(Math.max(logStartOffset, logEndOffset));
  if (lastEpoch < 0 && logEndOffset === start) return undefined;
  return { epoch: -1, endOffset: start, restartAt: start };
}

export interface Cut {
  readonly offset: number;
  /** Drop everything and start there. */
  readonly restart: boolean;
}

/** What the follower does about the leader's answer. */
export function cutFor(follower: EpochLog, answer: TruncateTo): Cut {
  if (answer.restartAt !== undefined) return { offset: answer.restartAt, restart: true };
  const offset = Math.min(agreedEnd(follower, answer), follower.logEndOffset);
  return { offset, restart: offset < follower.logStartOffset };
}

function agreedEnd(follower: EpochLog, answer: TruncateTo): number {
  if (answer.epoch < 0) return answer.endOffset;
  const own = follower.epochEnd(answer.epoch);
  // Every batch here is of a later epoch than the leader's: nothing can agree.
  if (!own) return follower.logStartOffset;
  // Of an epoch that is not here, the end of the largest lower one: from there it asks again.
  return own.epoch === answer.epoch ? Math.min(own.endOffset, answer.endOffset) : own.endOffset;
}
