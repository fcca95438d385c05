/**
 * Paths and payloads of consumer groups under `/consumers`, in the shape of Kafka's old consumer, with what fencing
 * needs beside it. Owner and offset nodes carry the topic id: another incarnation's counts as none.
 */
import { assert, TributaryError } from '@tributary/common';
import type {
  CommittedOffset,
  GroupMember,
  GroupPartition,
  MemberAssignment,
  MemberDescription,
  OffsetCommit,
} from '../group-store';
import { JsonPayload } from '../json-payload';
import { encodeJson } from '../layout';

export const groupPaths = {
  root: '/consumers',
  members: (group: string) => `/consumers/${group}/ids`,
  member: (group: string, memberId: string) => `/consumers/${group}/ids/${memberNode(memberId)}`,
  /** The server appends the counter, the coordinator's client a one-time token in front. */
  newMember: (group: string) => `/consumers/${group}/ids/member-`,
  assignment: (group: string) => `/consumers/${group}/assignment`,
  owners: (group: string) => `/consumers/${group}/owners`,
  ownersOf: (group: string, topic: string) => `/consumers/${group}/owners/${topic}`,
  owner: (group: string, { topic, partition }: GroupPartition) =>
    `/consumers/${group}/owners/${topic}/${partition}`,
  offsets: (group: string) => `/consumers/${group}/offsets`,
  offsetsOf: (group: string, topic: string) => `/consumers/${group}/offsets/${topic}`,
  offset: (group: string, { topic, partition }: GroupPartition) =>
    `/consumers/${group}/offsets/${topic}/${partition}`,
} as const;

export function validateGroupName(group: string): void {
  if (/^[a-zA-Z0-9._-]{1,249}$/.test(group) && group !== '.' && group !== '..') return;
  throw new TributaryError(
    'INVALID_ARGUMENT',
    `group name ${JSON.stringify(group.slice(0, 60))} is not 1 to 249 of a-z A-Z 0-9 . _ -`,
  );
}

/** `0000000007-<token>` for the node `<token>-member-0000000007`: ids sort in the order of joining. */
export function memberIdOf(nodeName: string): string | undefined {
  const match = /^([0-9a-f]{32})-member-([0-9]{10})$/.exec(nodeName);
  return match ? `${match[2]}-${match[1]}` : undefined;
}

function memberNode(memberId: string): string {
  const [counter, token] = memberId.split('-');
  return `${token}-member-${counter}`;
}

/** `/consumers/G/ids/M`, version 1. */
export function encodeMember(member: MemberDescription, wallTimeMs: number): Buffer {
  return encodeJson({
    version: 1,
    subscription: Object.fromEntries(member.topics.map((topic) => [topic, 1])),
    pattern: 'static',
    timestamp: String(wallTimeMs),
    topics: member.topics,
    client_id: member.clientId,
    host: member.host,
    assignors: member.assignors,
  });
}

export function decodeMember(path: string, memberId: string, data: Buffer): GroupMember {
  const payload = JsonPayload.parse(path, data, 1);
  return {
    memberId,
    clientId: payload.string('client_id'),
    host: payload.string('host'),
    topics: payload.strings('topics'),
    assignors: payload.strings('assignors'),
  };
}

export interface AssignmentNode {
  readonly assignedBy: string;
  readonly assignment: readonly MemberAssignment[];
}

/** `/consumers/G/assignment`, version 1; partitions are grouped by topic to keep large ones small. */
export function encodeAssignment(node: AssignmentNode): Buffer {
  return encodeJson({
    version: 1,
    assigned_by: node.assignedBy,
    members: node.assignment.map(({ memberId, partitions }) => ({
      member: memberId,
      topics: byTopic(partitions),
    })),
  });
}

export function decodeAssignment(path: string, data: Buffer): AssignmentNode {
  const payload = JsonPayload.parse(path, data, 1);
  const assignment = payload.objects('members').map((member) => ({
    memberId: member.string('member'),
    partitions: member.objects('topics').flatMap((entry) =>
      entry.integers('partitions').map((partition) => ({
        topic: entry.string('topic'),
        topicId: entry.string('topic_id'),
        partition,
      })),
    ),
  }));
  return { assignedBy: payload.string('assigned_by'), assignment };
}

function byTopic(partitions: readonly GroupPartition[]): unknown[] {
  const topics = new Map<string, { topic: string; topic_id: string; partitions: number[] }>();
  for (const { topic, topicId, partition } of partitions) {
    const key = `${topic} ${topicId}`;
    const entry = topics.get(key) ?? { topic, topic_id: topicId, partitions: [] };
    entry.partitions.push(partition);
    topics.set(key, entry);
  }
  return [...topics.values()];
}

export interface OwnerNode {
  readonly topicId: string;
  /** undefined: released. */
  readonly memberId: string | undefined;
  /** One of a kind, so that a claim whose reply was lost knows its own success. */
  readonly claim: string;
}

/** `/consumers/G/owners/T/P`, version 1. Persistent: the node's version is the owner epoch. */
export function encodeOwner(node: OwnerNode): Buffer {
  const { topicId, memberId, claim } = node;
  return encodeJson({ version: 1, owner: memberId ?? null, topic_id: topicId, claim });
}

export function decodeOwner(path: string, data: Buffer): OwnerNode {
  const payload = JsonPayload.parse(path, data, 1);
  return {
    topicId: payload.string('topic_id'),
    memberId: payload.optionalString('owner'),
    claim: payload.string('claim'),
  };
}

/** `/consumers/G/offsets/T/P`, version 1. */
export function encodeOffset(commit: OffsetCommit, wallTimeMs: number): Buffer {
  return encodeJson({
    version: 1,
    topic_id: commit.partition.topicId,
    offset: commit.offset,
    leader_epoch: commit.leaderEpoch,
    metadata: commit.metadata,
    timestamp: wallTimeMs,
  });
}

export function decodeOffset(
  path: string,
  where: { readonly topic: string; readonly partition: number },
  data: Buffer,
): CommittedOffset {
  const payload = JsonPayload.parse(path, data, 1);
  return {
    partition: { ...where, topicId: payload.string('topic_id') },
    offset: payload.integer('offset'),
    leaderEpoch: payload.integer('leader_epoch'),
    metadata: payload.string('metadata'),
    committedAt: payload.integer('timestamp'),
  };
}

export function assertGroupPartition({ topic, partition }: GroupPartition): void {
  assert(!topic.includes('/') && topic !== '', 'a topic name without slashes');
  assert(Number.isSafeInteger(partition) && partition >= 0, 'a partition number');
}
