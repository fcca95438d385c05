/**
 * The one implementation of MetadataImage: immutable, made from a whole image once and from deltas after
 * that. A delta copies only the maps that it touches, and of partitions only the topics that it names.
 *
 * Invariants: every partition's topic is in the image; partitions of a topic are sorted by number; a
 * partition state is replaced only by a newer one (leader epoch, then partition epoch).
 * Called by the receiver of the control stream; the controller renders the messages that it is made from.
 */
import { assert } from '@tributary/common';
import type { BrokerInfo, Delta, PartitionState, TopicInfo } from '@tributary/protocol';
import type { MetadataImage } from './metadata-image';

interface Parts {
  readonly controllerId: number;
  readonly controllerEpoch: number;
  readonly sequence: number;
  readonly brokersById: ReadonlyMap<number, BrokerInfo>;
  readonly topicsById: ReadonlyMap<string, TopicInfo>;
  readonly idByName: ReadonlyMap<string, string>;
  readonly partitionsById: ReadonlyMap<string, readonly PartitionState[]>;
}

/** What the chunks of one image amount to. */
export interface ImageContent {
  readonly controllerId: number;
  readonly controllerEpoch: number;
  readonly sequence: number;
  readonly brokers: readonly BrokerInfo[];
  readonly topics: readonly TopicInfo[];
  readonly partitions: readonly PartitionState[];
}

export class ClusterImage implements MetadataImage {
  private constructor(private readonly parts: Parts) {}

  /** Before any controller has spoken. */
  static readonly empty = new ClusterImage({
    controllerId: -1,
    controllerEpoch: -1,
    sequence: -1,
    brokersById: new Map(),
    topicsById: new Map(),
    idByName: new Map(),
    partitionsById: new Map(),
  });

  static from(content: ImageContent): ClusterImage {
    const { controllerId, controllerEpoch, sequence } = content;
    const topicsById = new Map(content.topics.map((topic) => [topic.topicId, topic]));
    return new ClusterImage({
      controllerId,
      controllerEpoch,
      sequence,
      brokersById: new Map(content.brokers.map((broker) => [broker.brokerId, broker])),
      topicsById,
      idByName: new Map(content.topics.map((topic) => [topic.topic, topic.topicId])),
      partitionsById: withPartitions(new Map(), content.partitions, topicsById),
    });
  }

  /** The next image. The caller has checked that the delta's sequence follows this one. */
  apply(delta: Delta): ClusterImage {
    assert(delta.sequence === this.sequence + 1, `delta ${delta.sequence} after ${this.sequence}`);
    const { parts } = this;
    const topics = this.topicsAfter(delta);
    const removed = new Set(delta.removedTopicIds);
    const kept =
      removed.size === 0
        ? parts.partitionsById
        : new Map([...parts.partitionsById].filter(([topicId]) => !removed.has(topicId)));
    return new ClusterImage({
      ...parts,
      ...topics,
      sequence: delta.sequence,
      brokersById: this.brokersAfter(delta),
      partitionsById: withPartitions(kept, delta.partitions, topics.topicsById),
    });
  }

  get controllerId(): number {
    return this.parts.controllerId;
  }

  get controllerEpoch(): number {
    return this.parts.controllerEpoch;
  }

  get sequence(): number {
    return this.parts.sequence;
  }

  broker(brokerId: number): BrokerInfo | undefined {
    return this.parts.brokersById.get(brokerId);
  }

  brokers(): readonly BrokerInfo[] {
    return [...this.parts.brokersById.values()];
  }

  topicByName(topic: string): TopicInfo | undefined {
    const topicId = this.parts.idByName.get(topic);
    return topicId === undefined ? undefined : this.parts.topicsById.get(topicId);
  }

  topicById(topicId: string): TopicInfo | undefined {
    return this.parts.topicsById.get(topicId);
  }

  topics(): readonly TopicInfo[] {
    return [...this.parts.topicsById.values()];
  }

  partition(topicId: string, partition: number): PartitionState | undefined {
    const states = this.parts.partitionsById.get(topicId);
    const direct = states?.[partition];
    if (direct?.partition === partition) return direct;
    return states?.find((state) => state.partition === partition);
  }

  partitions(topicId: string): readonly PartitionState[] {
    return this.parts.partitionsById.get(topicId) ?? [];
  }

  private brokersAfter(delta: Delta): ReadonlyMap<number, BrokerInfo> {
    if (delta.brokers.length === 0 && delta.removedBrokers.length === 0) {
      return this.parts.brokersById;
    }
    const brokers = new Map(this.parts.brokersById);
    for (const brokerId of delta.removedBrokers) brokers.delete(brokerId);
    for (const broker of delta.brokers) brokers.set(broker.brokerId, broker);
    return new Map([...brokers].sort(([a], [b]) => a - b));
  }

  private topicsAfter(delta: Delta): Pick<Parts, 'topicsById' | 'idByName'> {
    const { topicsById, idByName } = this.parts;
    if (delta.topics.length === 0 && delta.removedTopicIds.length === 0) {
      return { topicsById, idByName };
    }
    const topics = new Map(topicsById);
    const names = new Map(idByName);
    for (const topicId of delta.removedTopicIds) {
      const topic = topics.get(topicId);
      topics.delete(topicId);
      if (topic && names.get(topic.topic) === topicId) names.delete(topic.topic);
    }
    for (const topic of delta.topics) {
      topics.set(topic.topicId, topic);
      names.set(topic.topic, topic.topicId);
    }
    return { topicsById: topics, idByName: names };
  }
}

function withPartitions(
  before: ReadonlyMap<string, readonly PartitionState[]>,
  changed: readonly PartitionState[],
  topics: ReadonlyMap<string, TopicInfo>,
): ReadonlyMap<string, readonly PartitionState[]> {
  if (changed.length === 0) return before;
  const after = new Map(before);
  for (const [topicId, states] of groupByTopic(changed)) {
    // A state of a topic that is not (or no longer) in the image must not bring it back.
    if (!topics.has(topicId)) continue;
    after.set(topicId, withStates(after.get(topicId) ?? [], states));
  }
  return after;
}

/** Without another sort of very many where only some that are there change. */
function withStates(
  before: readonly PartitionState[],
  changed: readonly PartitionState[],
): readonly PartitionState[] {
  const after = [...before];
  const others: PartitionState[] = [];
  for (const state of changed) {
    const old = after[state.partition];
    if (old?.partition !== state.partition) others.push(state);
    // Of the same epochs, too: which replicas are offline is no part of what they number.
    else if (!isNewer(old, state)) after[state.partition] = state;
  }
  if (others.length === 0) return after;
  const byNumber = new Map(after.map((state) => [state.partition, state]));
  for (const state of others) {
    const old = byNumber.get(state.partition);
    if (!old || !isNewer(old, state)) byNumber.set(state.partition, state);
  }
  return [...byNumber.values()].sort((a, b) => a.partition - b.partition);
}

function groupByTopic(states: readonly PartitionState[]): Map<string, PartitionState[]> {
  const groups = new Map<string, PartitionState[]>();
  for (const state of states) {
    const group = groups.get(state.topicId);
    if (group) group.push(state);
    else groups.set(state.topicId, [state]);
  }
  return groups;
}

/** Is `state` newer than `old` of the same partition and topic id? */
export function isNewer(state: PartitionState, old: PartitionState): boolean {
  if (state.leaderEpoch !== old.leaderEpoch) return state.leaderEpoch > old.leaderEpoch;
  return state.partitionEpoch > old.partitionEpoch;
}
