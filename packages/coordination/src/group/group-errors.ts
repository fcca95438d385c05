/**
 * The refusals of the group store.
 */
import { partitionName, TributaryError } from '@tributary/common';
import type { GroupPartition } from '../group-store';

export function fencedOwner(partition: GroupPartition, owner: string | undefined): TributaryError {
  const name = partitionName(partition.topic, partition.partition);
  const who = owner === undefined ? 'has another owner epoch now' : `is owned by member ${owner}`;
  return new TributaryError('FENCED_OWNER', `partition ${name} ${who}`, {
    outcome: 'not written',
    details: {
      topic: partition.topic,
      partition: partition.partition,
      ...(owner === undefined ? {} : { owner }),
    },
  });
}

export function staleGeneration(group: string, generation: number): TributaryError {
  return new TributaryError(
    'STALE_GENERATION',
    `generation ${generation} of group ${group} is not the current one`,
    { outcome: 'not written', details: { group, generation } },
  );
}

export function unknownMember(group: string, memberId: string): TributaryError {
  return new TributaryError('UNKNOWN_MEMBER', `${memberId} is not a member of group ${group}`, {
    outcome: 'not written',
    details: { group, memberId },
  });
}
