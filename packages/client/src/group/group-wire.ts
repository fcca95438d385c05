/**
 * The messages of group.proto as the GroupStore port says them. An absent partition or an empty text is what
 * proto3 makes of a missing one. Called by the remote group store alone.
 */
import { TributaryError } from '@tributary/common';
import type {
  CommittedOffset,
  GroupPartition,
  GroupView,
  MemberAssignment,
  PartitionOwnership,
} from '@tributary/coordination';
import {
  fromWireError,
  type AssignedPartition,
  type Claimed,
  type CommitResult,
  type CommittedOffset as WireCommittedOffset,
  type GroupView as WireGroupView,
  type MemberAssignment as WireMemberAssignment,
} from '@tributary/protocol';

export function viewFromWire(view: WireGroupView): GroupView {
  return {
    members: view.members.map(({ memberId, clientId, host, topics, assignors }) => ({
      memberId,
      clientId,
      host,
      topics,
      assignors,
    })),
    generation: view.generation,
    assignment: view.assignment.map(assignmentFromWire),
    assignedBy: view.assignedBy === '' ? undefined : view.assignedBy,
  };
}

export function assignmentToWire({ memberId, partitions }: MemberAssignment): WireMemberAssignment {
  return { memberId, partitions: partitions.map(partitionToWire) };
}

export function partitionToWire({ topic, topicId, partition }: GroupPartition): AssignedPartition {
  return { topic, topicId, partition };
}

export function ownershipFromWire(partition: GroupPartition, claimed: Claimed): PartitionOwnership {
  const { ownerEpoch, offset, leaderEpoch, metadata, committedAt } = claimed;
  if (offset < 0) return { ownerEpoch, committed: undefined };
  return { ownerEpoch, committed: { partition, offset, leaderEpoch, metadata, committedAt } };
}

/** undefined: it has no offset (only an owner). */
export function committedFromWire(committed: WireCommittedOffset): CommittedOffset | undefined {
  const { offset, leaderEpoch, metadata, committedAt } = committed;
  if (offset < 0) return undefined;
  const partition = partitionFromWire(committed.partition);
  return { partition, offset, leaderEpoch, metadata, committedAt };
}

export function partitionFromWire(partition: AssignedPartition | null): GroupPartition {
  if (!partition) throw new TributaryError('INTERNAL', 'the broker answered without a partition');
  return partition;
}

/** One outcome for each commit, in the order of the commits: the broker keeps it. */
export function commitErrors(
  count: number,
  results: readonly CommitResult[],
): (TributaryError | undefined)[] {
  if (results.length !== count) {
    throw new TributaryError(
      'INTERNAL',
      `the broker answered ${results.length} of ${count} commits`,
    );
  }
  return results.map(({ error }) =>
    error && error.code !== 'NONE' ? fromWireError(error) : undefined,
  );
}

function assignmentFromWire({ memberId, partitions }: WireMemberAssignment): MemberAssignment {
  return { memberId, partitions };
}
