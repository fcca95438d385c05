/**
 * Does this leader know where the committed end of its partition is? A new one does once its HW has reached the start
 * of its epoch; before that an older end, or "out of range", would look to a client like lost records.
 * Called by fetch and list offsets.
 */
import { TributaryError } from '@tributary/common';
import type { Partition } from '../partition/partition';
import type { LeaderState } from '../partition/partition-state';

/** Throws OFFSET_NOT_AVAILABLE. */
export function requireKnownEnd(partition: Partition, leader: LeaderState): void {
  if (leader.highWatermark >= leader.epochStartOffset) return;
  const why = partition.frozenNote || 'its followers have not confirmed their logs yet';
  throw new TributaryError(
    'OFFSET_NOT_AVAILABLE',
    `${partition.name}: the leader of epoch ${leader.leaderEpoch} does not know the committed end yet: ${why}`,
  );
}
