/**
 * Groups as the admin shows and moves them, through whichever GroupStore the client has. Called by the admin.
 */
import { Deadline, partitionKey, TributaryError } from '@tributary/common';
import type { GroupDescription, GroupPartition, OffsetCommit } from '@tributary/coordination';
import type { ClientContext } from '../seams';
import type {
  DescribedGroup,
  GroupPartitionDescription,
  NewGroupOffset,
  ResetTarget,
} from './admin-types';
import { requireAnswer } from './leader-calls';
import { lookUpOffsets } from './partition-offsets';
import { DESCRIBE_OFFSETS_MS, known } from './topic-description';

export class GroupAdmin {
  constructor(private readonly context: ClientContext) {}

  list(deadline: Deadline): Promise<string[]> {
    return deadline.race(this.context.groups().list(), 'listing groups');
  }

  async describe(group: string, deadline: Deadline): Promise<DescribedGroup> {
    const read = this.context.groups().describe(group);
    const description = await deadline.race(read, `describing group ${group}`);
    const partitions = partitionsOf(description);
    const ends = await this.ends([...partitions.values()], deadline);
    const { view } = description;
    const assigned = new Map(view.assignment.map((one) => [one.memberId, one.partitions]));
    return {
      group,
      generation: view.generation,
      members: view.members.map(({ memberId, clientId, host, topics }) => ({
        memberId,
        clientId,
        host,
        topics,
        assigned: (assigned.get(memberId) ?? []).map(({ topic, partition }) => ({
          topic,
          partition,
        })),
      })),
      partitions: [...partitions].map(([key, partition]) =>
        describePartition(description, partition, ends.get(key)),
      ),
    };
  }

  async commit(
    group: string,
    offsets: readonly NewGroupOffset[],
    deadline: Deadline,
  ): Promise<void> {
    const commits: OffsetCommit[] = [];
    for (const { topic, partition, offset, metadata = '' } of offsets) {
      const view = await this.context.metadata.topic(topic, deadline);
      if (!view.partitions[partition]) {
        throw new TributaryError(
          'UNKNOWN_PARTITION',
          `topic ${topic} has ${view.partitions.length} partitions, there is no partition ${partition}`,
        );
      }
      const target = { topic, topicId: view.topicId, partition };
      commits.push({ partition: target, offset: inside(offset), leaderEpoch: -1, metadata });
    }
    const write = this.context.groups().commitOffsets(group, commits);
    await deadline.race(write, `committing offsets of group ${group}`);
  }

  async targets(
    topic: string,
    partitions: readonly number[],
    to: ResetTarget,
    deadline: Deadline,
  ): Promise<NewGroupOffset[]> {
    if (typeof to === 'object' && 'offset' in to) {
      return partitions.map((partition) => ({ topic, partition, offset: to.offset }));
    }
    const found = await lookUpOffsets(this.context, { topic, partitions, query: to }, deadline);
    const open = partitions.filter((p) => requireAnswer(found.get(p)).offset < 0);
    // No record is that young: the group goes to the end.
    const ends = await lookUpOffsets(
      this.context,
      { topic, partitions: open, query: 'latest' },
      deadline,
    );
    return partitions.map((partition) => {
      const answer = ends.get(partition) ?? found.get(partition);
      return { topic, partition, offset: BigInt(requireAnswer(answer).offset) };
    });
  }

  /** By partition key; a partition of a topic that was deleted has none. */
  private async ends(
    partitions: readonly GroupPartition[],
    deadline: Deadline,
  ): Promise<Map<string, number>> {
    const ends = new Map<string, number>();
    const boundMs = Math.min(DESCRIBE_OFFSETS_MS, deadline.remainingMs);
    const bound = Deadline.after(this.context.clock, boundMs, deadline.signal);
    const topics = new Set(partitions.map(({ topic }) => topic));
    const looks = [...topics].map(async (topic) => {
      const wanted = partitions.filter((partition) => partition.topic === topic);
      const numbers = wanted.map(({ partition }) => partition);
      const request = { topic, partitions: numbers, query: 'latest' } as const;
      const answers = await lookUpOffsets(this.context, request, bound);
      const topicId = this.context.metadata.cached(topic)?.topicId;
      for (const partition of wanted) {
        const end = known(answers.get(partition.partition));
        if (!end || partition.topicId !== topicId) continue;
        ends.set(partitionKey(partition.topicId, partition.partition), end.offset);
      }
    });
    await Promise.all(looks);
    return ends;
  }
}

/** All that the group has assigned, owns or has committed, by topic and partition. */
function partitionsOf({ view, owners, offsets }: GroupDescription): Map<string, GroupPartition> {
  const all = [
    ...view.assignment.flatMap(({ partitions }) => partitions),
    ...owners.map(({ partition }) => partition),
    ...offsets.map(({ partition }) => partition),
  ];
  all.sort((a, b) =>
    a.topic === b.topic ? a.partition - b.partition : a.topic < b.topic ? -1 : 1,
  );
  return new Map(all.map((one) => [partitionKey(one.topicId, one.partition), one]));
}

function describePartition(
  { offsets, owners }: GroupDescription,
  { topic, topicId, partition }: GroupPartition,
  end: number | undefined,
): GroupPartitionDescription {
  const isIt = (one: { readonly partition: GroupPartition }): boolean =>
    one.partition.topicId === topicId && one.partition.partition === partition;
  const committed = offsets.find(isIt);
  const lag =
    committed && end !== undefined ? BigInt(Math.max(0, end - committed.offset)) : undefined;
  return {
    topic,
    partition,
    committedOffset: committed && BigInt(committed.offset),
    committedAt: committed?.committedAt,
    endOffset: end === undefined ? undefined : BigInt(end),
    lag,
    owner: owners.find(isIt)?.memberId,
  };
}

function inside(offset: bigint): number {
  const value = Number(offset);
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new TributaryError('INVALID_ARGUMENT', `${offset} is not an offset`);
}
