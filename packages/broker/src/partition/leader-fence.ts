/**
 * May a request be served by this replica? Only by the leader, and only in the leader epoch that the request means.
 * Called by `Partition` for everything that clients and followers ask of a leader.
 */
import { TributaryError, type LeaderHint } from '@tributary/common';
import type { LeaderState, PartitionState } from './partition-state';

export interface AskedReplica {
  readonly name: string;
  readonly brokerId: number;
  /** Who leads instead, for the error. */
  readonly leader: () => LeaderHint | undefined;
}

/** @param leaderEpoch as the request names it; -1: not checked. Throws NOT_LEADER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH. */
export function requireLeading(
  state: PartitionState,
  leaderEpoch: number,
  { name, brokerId, leader }: AskedReplica,
): LeaderState {
  if (state.role !== 'leader') {
    // Who asks may have heard of our leadership before it began here.
    if (state.role === 'follower' && leaderEpoch > state.leaderEpoch)
      throw unknownEpoch(name, leaderEpoch, state.leaderEpoch);
    const message = `broker ${brokerId} does not lead ${name}`;
    throw new TributaryError('NOT_LEADER', message, { leader: leader() });
  }
  const { leaderEpoch: own } = state;
  if (leaderEpoch >= 0 && leaderEpoch < own) {
    const message = `leader epoch ${leaderEpoch} of ${name} is over, ${own} is now`;
    throw new TributaryError('FENCED_LEADER_EPOCH', message, { leader: leader() });
  }
  if (leaderEpoch > own) throw unknownEpoch(name, leaderEpoch, own);
  return state;
}

function unknownEpoch(name: string, leaderEpoch: number, own: number): TributaryError {
  const message = `leader epoch ${leaderEpoch} of ${name} is not known here, ${own} is`;
  return new TributaryError('UNKNOWN_LEADER_EPOCH', message);
}
