/**
 * Between the messages of group.proto and the words of the GroupStore port. What a client sends is checked
 * here: names become parts of paths further down. Called by the group handlers and the member sessions.
 */
import { TributaryError, validateTopicName } from '@tributary/common';
import type {
  CommittedOffset,
  GroupDescription,
  GroupPartition,
  GroupView,
  MemberDescription,
  PartitionOwnership,
} from '@tributary/coordination';
import {
  toWireError,
  type AssignedPartition,
  type ClaimedInput,
  type CommitResultInput,
  type CommittedOffsetInput,
  type GroupViewInput,
  type Join,
} from '@tributary/protocol';

const GROUP_NAME_MAX_LENGTH = 249;
/** base64url of 16 bytes, with room for other forms of an id. */
const TOPIC_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** Throws INVALID_ARGUMENT. */
export function checkedGroup(group: string): string {
  if (!/^[a-zA-Z0-9._-]+$/.test(group) || /^\.+$/.test(group)) {
    throw invalid(
      `group name ${JSON.stringify(group.slice(0, 60))} has a character other than a-z A-Z 0-9 . _ -`,
    );
  }
  if (group.length > GROUP_NAME_MAX_LENGTH) {
    throw invalid(`group name is longer than ${GROUP_NAME_MAX_LENGTH} characters`);
  }
  return group;
}

/** Throws INVALID_ARGUMENT, INVALID_TOPIC. */
export function checkedPartition(named: AssignedPartition | null | undefined): GroupPartition {
  if (!named) throw invalid('the partition is missing');
  const { topic, topicId, partition } = named;
  validateTopicName(topic);
  if (!TOPIC_ID.test(topicId)) throw invalid(`topic ${topic} comes without its topic id`);
  if (partition < 0) throw invalid(`${partition} is not a partition of topic ${topic}`);
  return { topic, topicId, partition };
}

/** Throws INVALID_ARGUMENT: an offset is 0 or more. */
export function checkedOffset(offset: number): number {
  if (!Number.isSafeInteger(offset) || offset < 0) throw invalid(`${offset} is not an offset`);
  return offset;
}

export function memberOf(join: Join, peer: string): MemberDescription {
  const { clientId, host, topics, assignors } = join;
  for (const topic of topics) validateTopicName(topic);
  return { clientId, host: host === '' ? peer : host, topics, assignors };
}

export function viewToWire(view: GroupView): GroupViewInput {
  return {
    members: view.members.map(({ memberId, clientId, host, topics, assignors }) => ({
      memberId,
      clientId,
      host,
      topics: [...topics],
      assignors: [...assignors],
    })),
    generation: view.generation,
    assignment: view.assignment.map(({ memberId, partitions }) => ({
      memberId,
      partitions: [...partitions],
    })),
    assignedBy: view.assignedBy ?? '',
  };
}

export function claimedToWire({ ownerEpoch, committed }: PartitionOwnership): ClaimedInput {
  return {
    ownerEpoch,
    offset: committed?.offset ?? -1,
    leaderEpoch: committed?.leaderEpoch ?? -1,
    metadata: committed?.metadata ?? '',
    committedAt: committed?.committedAt ?? 0,
  };
}

export function committedToWire(committed: CommittedOffset): CommittedOffsetInput {
  return { ...committed, owner: '', ownerEpoch: -1 };
}

/** Every partition that has an offset or an owner, once. */
export function describedOffsets({ offsets, owners }: GroupDescription): CommittedOffsetInput[] {
  const keyOf = (p: GroupPartition): string => `${p.topicId}/${p.partition}`;
  const byKey = new Map(
    offsets.map((offset) => [keyOf(offset.partition), committedToWire(offset)]),
  );
  for (const { partition, memberId, ownerEpoch } of owners) {
    const none = { partition, offset: -1, leaderEpoch: -1, metadata: '', committedAt: 0 };
    const entry = byKey.get(keyOf(partition)) ?? none;
    byKey.set(keyOf(partition), { ...entry, owner: memberId, ownerEpoch });
  }
  return [...byKey.values()];
}

export function commitResults(
  partitions: readonly GroupPartition[],
  errors: readonly (Error | undefined)[],
): CommitResultInput[] {
  return partitions.map((partition, i) => {
    const error = errors[i];
    return { partition, error: error ? toWireError(error) : null };
  });
}

function invalid(message: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message);
}
