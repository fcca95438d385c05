/**
 * A cluster as a client sees it, with brokers that do what a test's script says: for tests of the SDK alone. It runs
 * on the simulated network, so that messages are encoded, ordered and lost as in the real one. It has no
 * replication and no control plane: the test moves leaders.
 */
import { assert, seededRandom, TributaryError, type Clock } from '@tributary/common';
import type {
  Address,
  DescribeClusterResponseInput,
  Handler,
  InitProducerRequest,
  InitProducerResponseInput,
  DeleteRecordsRequest,
  DeleteRecordsResponseInput,
  ListOffsetsRequest,
  ListOffsetsResponseInput,
  MetadataRequest,
  MetadataResponseInput,
  ProducePartition,
  TopicMetadataInput,
  Transport,
} from '@tributary/protocol';
import { toWireError } from '@tributary/protocol';
import { SimulatedNetwork } from '../simulation/simulated-network';
import type { ProduceAttempt, ScriptStep } from './produce-script';
import { ScriptedBroker, type AdminScript, type ScriptedHost } from './scripted-broker';
import { ScriptedPartition } from './scripted-partition';

export interface ScriptedClusterOptions {
  /** Default 3, with the ids 1, 2, 3. */
  readonly brokers?: number;
  readonly creditBytes?: number;
  /** This broker takes streams and says nothing. */
  readonly silentHello?: number;
  /** Where the brokers are said to be. Default: on the simulated network, by name. */
  readonly addressOf?: (brokerId: number) => Address;
}

interface ScriptedTopic {
  readonly topicId: string;
  readonly partitions: readonly ScriptedPartition[];
  readonly configs: Readonly<Record<string, string>>;
}

export class ScriptedCluster implements ScriptedHost {
  readonly clusterId = 'scripted';
  readonly network: SimulatedNetwork;
  readonly attempts: ProduceAttempt[] = [];
  /** Decides about each batch that arrives; undefined: append. */
  script: (attempt: ProduceAttempt) => ScriptStep | undefined = () => undefined;
  /** What the controller would answer to a broker that passes on a person's wish; default: it refuses. */
  adminScript: AdminScript = () => {
    throw new TributaryError('INVALID_ARGUMENT', 'the script knows no such command');
  };
  /** Answers of Metadata so far. */
  metadataReads = 0;
  initProducers = 0;
  private readonly topics = new Map<string, ScriptedTopic>();
  private topicsMade = 0;

  constructor(
    readonly clock: Clock,
    readonly options: ScriptedClusterOptions = {},
  ) {
    this.network = new SimulatedNetwork({ clock, random: seededRandom(7) });
  }

  async start(): Promise<Transport> {
    for (const brokerId of this.brokerIds()) await this.startBroker(brokerId);
    return this.network.transport('client');
  }

  handlersOf(brokerId: number): Handler[] {
    return new ScriptedBroker(this, brokerId).handlers();
  }

  async startBroker(brokerId: number): Promise<void> {
    const handlers = this.handlersOf(brokerId);
    const address = this.addressOf(brokerId);
    await this.network
      .transport(`broker-${brokerId}`)
      .listen({ ...address, listener: 'outside', handlers });
  }

  crash(brokerId: number): void {
    this.network.crash(`broker-${brokerId}`);
  }

  get bootstrap(): string[] {
    return this.brokerIds().map((brokerId) => {
      const { host, port } = this.addressOf(brokerId);
      return `${host}:${port}`;
    });
  }

  /** Partition p is led by broker p % brokers + 1, in epoch 1. */
  createTopic(
    topic: string,
    partitions: number,
    configs: Readonly<Record<string, string>> = {},
  ): void {
    const brokers = this.brokerIds().length;
    const limit = Number(configs['max.message.bytes'] ?? 1024 * 1024 + 12);
    this.topics.set(topic, {
      topicId: `${topic}-id-${++this.topicsMade}`,
      partitions: Array.from(
        { length: partitions },
        (_, partition) => new ScriptedPartition(partition, (partition % brokers) + 1, 1, limit),
      ),
      configs,
    });
  }

  /** As an alteration would: one more, led by broker 1. */
  addPartition(topic: string): void {
    const before = this.topics.get(topic);
    assert(before, `no topic ${topic}`);
    const added = new ScriptedPartition(before.partitions.length, 1, 1, 1024 * 1024 + 12);
    this.topics.set(topic, { ...before, partitions: [...before.partitions, added] });
  }

  deleteTopic(topic: string): void {
    this.topics.delete(topic);
  }

  partition(topic: string, partition: number): ScriptedPartition {
    const found = this.topics.get(topic)?.partitions[partition];
    assert(found, `no partition ${partition} of ${topic}`);
    return found;
  }

  /** -1: none. */
  moveLeader(topic: string, partition: number, to: number): void {
    const moved = this.partition(topic, partition);
    moved.leader = to;
    moved.leaderEpoch += 1;
  }

  /** Throws what a broker answers when it must not append. */
  ledPartition(brokerId: number, entry: ProducePartition): ScriptedPartition {
    const topic = this.topics.get(entry.topic);
    const outcome = 'not written' as const;
    if (!topic) throw new TributaryError('UNKNOWN_TOPIC', entry.topic, { outcome });
    if (topic.topicId !== entry.topicId) {
      throw new TributaryError('TOPIC_ID_MISMATCH', entry.topic, { outcome });
    }
    const found = this.partition(entry.topic, entry.partition);
    const { leader, leaderEpoch } = found;
    if (leader !== brokerId) throw this.notLeader(leader, leaderEpoch);
    if (entry.leaderEpoch < leaderEpoch) {
      const hint = { leaderId: leader, leaderEpoch };
      throw new TributaryError('FENCED_LEADER_EPOCH', 'stale', { outcome, leader: hint });
    }
    return found;
  }

  metadata(request: MetadataRequest): MetadataResponseInput {
    this.metadataReads += 1;
    const names = request.allTopics ? [...this.topics.keys()] : request.topics;
    const brokers = this.brokerIds().map((brokerId) => ({
      brokerId,
      brokerEpoch: 1,
      ...this.addressOf(brokerId),
    }));
    const topics = names.map((topic) => this.topicMetadata(topic));
    return { clusterId: this.clusterId, controllerId: 1, brokers, topics };
  }

  initProducer(request: InitProducerRequest): InitProducerResponseInput {
    this.initProducers += 1;
    const { producerId, producerEpoch } = request;
    if (producerId !== undefined) return { producerId, producerEpoch: producerEpoch + 1 };
    return { producerId: 1_000 + this.initProducers, producerEpoch: 0 };
  }

  listOffsets(brokerId: number, request: ListOffsetsRequest): ListOffsetsResponseInput {
    const results = request.partitions.map(({ topic, topicId, partition, spec }) => {
      const found = this.partition(topic, partition);
      const { leader, leaderEpoch, records, logStartOffset } = found;
      const error = leader === brokerId ? null : toWireError(this.notLeader(leader, leaderEpoch));
      const newest = Math.max(...records.map((record) => record.timestamp));
      const first = records.findIndex((record) => record.timestamp === newest);
      const offsets = { EARLIEST: logStartOffset, LATEST: records.length, MAX_TIMESTAMP: first };
      const offset = spec in offsets ? offsets[spec as keyof typeof offsets] : -1;
      const timestamp = spec === 'MAX_TIMESTAMP' ? newest : -1;
      return { topic, topicId, partition, offset, timestamp, leaderEpoch, error };
    });
    return { results };
  }

  deleteRecords(brokerId: number, request: DeleteRecordsRequest): DeleteRecordsResponseInput {
    const results = request.partitions.map(({ topic, topicId, partition, beforeOffset }) => {
      const found = this.partition(topic, partition);
      const { leader, leaderEpoch, records } = found;
      const named = { topic, topicId, partition, logStartOffset: -1 };
      if (leader !== brokerId) {
        return { ...named, error: toWireError(this.notLeader(leader, leaderEpoch)) };
      }
      if (beforeOffset > records.length) {
        const error = new TributaryError('OFFSET_OUT_OF_RANGE', `${records.length} is committed`);
        return { ...named, error: toWireError(error) };
      }
      found.logStartOffset = Math.max(found.logStartOffset, beforeOffset);
      return { ...named, logStartOffset: found.logStartOffset };
    });
    return { results };
  }

  describeCluster(): DescribeClusterResponseInput {
    const brokers = this.brokerIds().map((brokerId) => ({
      brokerId,
      ...this.addressOf(brokerId),
      eligible: true,
    }));
    const { clusterId } = this;
    return { clusterId, controllerId: -1, controllerEpoch: 3, brokers, topics: this.topics.size };
  }

  hasTopic(topic: string): boolean {
    return this.topics.has(topic);
  }

  topicIdOf(topic: string): string {
    const found = this.topics.get(topic);
    assert(found, `no topic ${topic}`);
    return found.topicId;
  }

  private topicMetadata(topic: string): TopicMetadataInput {
    const found = this.topics.get(topic);
    if (!found) return { topic, error: { code: 'UNKNOWN_TOPIC', message: 'unknown' } };
    const { topicId, configs } = found;
    const replicas = this.brokerIds();
    const partitions = found.partitions.map(({ partition, leader, leaderEpoch, moved }) => ({
      partition,
      leader,
      leaderEpoch,
      replicas,
      isr: replicas,
      ...moved,
    }));
    return { topic, topicId, configs, partitions };
  }

  private notLeader(leaderId: number, leaderEpoch: number): TributaryError {
    const address = leaderId < 0 ? {} : this.addressOf(leaderId);
    return new TributaryError('NOT_LEADER', `the leader is broker ${leaderId}`, {
      outcome: 'not written',
      leader: { leaderId, leaderEpoch, ...address },
    });
  }

  private addressOf(brokerId: number): { host: string; port: number } {
    const { addressOf } = this.options;
    return addressOf?.(brokerId) ?? { host: `broker-${brokerId}`, port: 9292 };
  }

  private brokerIds(): number[] {
    return Array.from({ length: this.options.brokers ?? 3 }, (_, index) => index + 1);
  }
}
