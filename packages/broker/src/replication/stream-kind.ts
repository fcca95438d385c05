/**
 * The two streams that a follower may have to one leader, and which of them a partition belongs on. Invariants: whom the HW
 * waits for is never throttled; between the two limits a partition stays where it is, so it cannot go to and fro.
 * Called by the leader's side of the streams, which decides; the follower does as it is told.
 */
import { methods, type ConnectionPurpose } from '@tributary/protocol';
import { isInMaximalIsr } from '../partition/in-sync-replicas';
import type { PartitionState } from '../partition/partition-state';
import type { DataLimits } from './data-limits';

/** Each is a connection of its own. */
export type StreamKind = Extract<ConnectionPurpose, 'replication' | 'catch-up'>;

export const streamMethods = {
  replication: methods.replication.follow,
  'catch-up': methods.replication.catchUp,
} as const;

export interface FollowerDistance {
  readonly brokerId: number;
  readonly bytesBehind: number;
}

export function streamFor(
  state: PartitionState,
  { brokerId, bytesBehind }: FollowerDistance,
  now: StreamKind,
  limits: Pick<DataLimits, 'catchUpFromBytes' | 'catchUpUntilBytes'>,
): StreamKind {
  if (state.role === 'leader' && isInMaximalIsr(state, brokerId)) return 'replication';
  const { catchUpFromBytes, catchUpUntilBytes } = limits;
  if (now === 'replication') return bytesBehind > catchUpFromBytes ? 'catch-up' : now;
  return bytesBehind <= Math.min(catchUpUntilBytes, catchUpFromBytes) ? 'replication' : now;
}
