/**
 * What an omniscient observer knows of the whole cluster: every topic that ever was, by its id, and who is registered.
 * Fed by MetadataAudit and the observers of brokers; asked by all checkers.
 */
import { parseTopicConfig } from '@tributary/common';
import { PartitionModel, type CommittedRecord } from './partition-model';
import type { TopicModel } from './topic-model';
import type { Violations } from './violations';

export interface RegisteredBroker {
  brokerEpoch: number;
  registered: boolean;
  /** Of the last change. */
  sinceMs: number;
}

export class ClusterModel {
  readonly topics = new Map<string, TopicModel>();
  readonly brokers = new Map<number, RegisteredBroker>();
  private readonly byName = new Map<string, TopicModel[]>();
  private readonly partitions = new Map<string, PartitionModel>();

  constructor(
    private readonly violations: Violations,
    private readonly onCommitted: (record: CommittedRecord) => void,
  ) {}

  topic(topic: string, topicId: string): TopicModel {
    const known = this.topics.get(topicId);
    if (known) return known;
    const config = parseTopicConfig({}, 1);
    const moves = { adding: {}, removing: {}, owed: {} };
    const model = { topic, topicId, config, assignment: [], ...moves, dying: false, gone: false };
    this.topics.set(topicId, model);
    this.byName.set(topic, [...(this.byName.get(topic) ?? []), model]);
    return model;
  }

  /** All topics that had this name, oldest first. */
  incarnations(topic: string): readonly TopicModel[] {
    return this.byName.get(topic) ?? [];
  }

  /** The one that has it now. */
  current(topic: string): TopicModel | undefined {
    return this.byName.get(topic)?.findLast(({ gone }) => !gone);
  }

  partition(topic: string, topicId: string, partition: number): PartitionModel {
    const known = this.find(topicId, partition);
    if (known) return known;
    const model = this.topic(topic, topicId);
    const fresh = new PartitionModel(model, partition, this.violations, this.onCommitted);
    this.partitions.set(`${topicId}/${partition}`, fresh);
    return fresh;
  }

  find(topicId: string, partition: number): PartitionModel | undefined {
    return this.partitions.get(`${topicId}/${partition}`);
  }

  all(): Iterable<PartitionModel> {
    return this.partitions.values();
  }

  /** Of all topics that are there and not about to go. */
  living(): PartitionModel[] {
    return [...this.partitions.values()].filter(({ topic }) => !topic.dying);
  }
}
