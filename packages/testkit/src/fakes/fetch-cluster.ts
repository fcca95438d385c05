/**
 * A cluster as a consumer sees it: brokers on the simulated network that answer Metadata, ListOffsets and Fetch
 * (long poll included) from batches in memory. For tests of the consumer alone: no produce, no replication, no
 * control plane; the test appends, moves leaders, cuts the log and scripts refusals.
 */
import { assert, seededRandom, TributaryError, type Clock } from '@tributary/common';
import {
  answerHello,
  bidiHandler,
  methods,
  toWireError,
  unaryHandler,
  type Acceptor,
  type FetchPartition,
  type Handler,
  type ListOffsetsRequest,
  type ListOffsetsResponseInput,
  type MetadataRequest,
  type MetadataResponseInput,
  type Transport,
} from '@tributary/protocol';
import type { RecordInput } from '@tributary/record';
import { SimulatedNetwork } from '../simulation/simulated-network';
import { FetchServer, type FetchAttempt, type FetchHost } from './fetch-server';
import { FetchedLog } from './fetched-log';

interface FakeTopic {
  readonly topicId: string;
  readonly partitions: readonly FetchedLog[];
}

export class FetchCluster implements FetchHost {
  readonly network: SimulatedNetwork;
  readonly attempts: FetchAttempt[] = [];
  /** Refuses what it answers an error for; undefined: serve. */
  refuse: (attempt: FetchAttempt) => TributaryError | undefined = () => undefined;
  /** These brokers take fetches and never answer. */
  readonly silent = new Set<number>();
  private readonly topics = new Map<string, FakeTopic>();
  private topicsMade = 0;

  constructor(
    readonly clock: Clock,
    private readonly brokers = 2,
    /** Beside the fake's own. */
    private readonly moreHandlers: (acceptor: () => Acceptor) => readonly Handler[] = () => [],
  ) {
    this.network = new SimulatedNetwork({ clock, random: seededRandom(5) });
  }

  async start(): Promise<void> {
    for (const brokerId of this.brokerIds()) await this.startBroker(brokerId);
  }

  async startBroker(brokerId: number): Promise<void> {
    const acceptor = (): Acceptor => this.acceptor(brokerId);
    await this.network.transport(`broker-${brokerId}`).listen({
      ...addressOf(brokerId),
      listener: 'outside',
      handlers: [...this.handlers(brokerId), ...this.moreHandlers(acceptor)],
    });
  }

  client(name = 'client'): Transport {
    return this.network.transport(name);
  }

  get bootstrap(): string[] {
    return this.brokerIds().map((id) => `${addressOf(id).host}:${addressOf(id).port}`);
  }

  /** Partition p is led by broker p % brokers + 1, in epoch 1. Again: another topic of the same name. */
  createTopic(topic: string, partitions: number): void {
    const topicId = `id-of-${topic}-${++this.topicsMade}`;
    const logs = Array.from(
      { length: partitions },
      (_, partition) => new FetchedLog(topic, topicId, partition, (partition % this.brokers) + 1),
    );
    this.topics.set(topic, { topicId, partitions: logs });
  }

  deleteTopic(topic: string): void {
    this.topics.delete(topic);
  }

  log(topic: string, partition: number): FetchedLog {
    const found = this.topics.get(topic)?.partitions[partition];
    assert(found, `no partition ${partition} of ${topic}`);
    return found;
  }

  /** One batch. */
  append(topic: string, partition: number, ...values: readonly (string | RecordInput)[]): void {
    this.log(topic, partition).append(values);
  }

  /** -1: none. */
  moveLeader(topic: string, partition: number, to: number): void {
    this.log(topic, partition).moveTo(to);
  }

  /** The log that this broker leads and the request means. Throws what a broker answers. */
  ledLog(brokerId: number, asked: FetchPartition): FetchedLog {
    const topic = this.topics.get(asked.topic);
    if (topic?.topicId !== asked.topicId) {
      throw new TributaryError('TOPIC_ID_MISMATCH', `${asked.topic} has another id`);
    }
    const log = this.log(asked.topic, asked.partition);
    const { leader, leaderEpoch } = log;
    const hint = { leaderId: leader, leaderEpoch, ...addressOf(leader) };
    if (leader !== brokerId) {
      throw new TributaryError('NOT_LEADER', `broker ${leader} leads`, { leader: hint });
    }
    if (asked.leaderEpoch < leaderEpoch) {
      throw new TributaryError('FENCED_LEADER_EPOCH', 'a newer epoch exists', { leader: hint });
    }
    return log;
  }

  acceptor(brokerId: number): Acceptor {
    return {
      clusterId: 'fetch-cluster',
      brokerId,
      brokerEpoch: 1,
      features: [],
      creditBytes: 0,
      maxInFlightRequests: 0,
      maxRequestBytes: 0,
    };
  }

  private handlers(brokerId: number): Handler[] {
    return [
      bidiHandler(methods.broker.fetch, (stream) => {
        const server = new FetchServer(this, brokerId, stream);
        stream.handle({
          onMessage: (message) => {
            if (message.hello) {
              const hello = answerHello(message.hello, this.acceptor(brokerId));
              stream.send({ body: 'hello', hello });
            } else if (message.request) server.fetch(message.request);
          },
          onEnd: () => stream.end(),
          onClose: () => server.close(),
        });
      }),
      unaryHandler(methods.broker.metadata, async (request) => this.metadata(request)),
      unaryHandler(methods.broker.listOffsets, async (request) =>
        this.listOffsets(brokerId, request),
      ),
    ];
  }

  private metadata({ topics, allTopics }: MetadataRequest): MetadataResponseInput {
    const names = allTopics ? [...this.topics.keys()] : topics;
    return {
      clusterId: 'fetch-cluster',
      controllerId: 1,
      brokers: this.brokerIds().map((brokerId) => ({
        brokerId,
        brokerEpoch: 1,
        ...addressOf(brokerId),
      })),
      topics: names.map((topic) => {
        const found = this.topics.get(topic);
        if (!found) return { topic, error: { code: 'UNKNOWN_TOPIC', message: 'unknown' } };
        const partitions = found.partitions.map(({ partition, leader, leaderEpoch }) => ({
          partition,
          leader,
          leaderEpoch,
          replicas: this.brokerIds(),
          isr: this.brokerIds(),
        }));
        return { topic, topicId: found.topicId, configs: {}, partitions };
      }),
    };
  }

  private listOffsets(brokerId: number, request: ListOffsetsRequest): ListOffsetsResponseInput {
    const results = request.partitions.map((asked) => {
      const { topic, topicId, partition, spec } = asked;
      const answer = { topic, topicId, partition, timestamp: -1 };
      try {
        const log = this.ledLog(brokerId, { ...asked, offset: 0, maxBytes: 0 });
        const offset = spec === 'EARLIEST' ? log.start : log.end;
        return { ...answer, offset, leaderEpoch: log.leaderEpoch };
      } catch (thrown) {
        return { ...answer, offset: -1, error: toWireError(thrown) };
      }
    });
    return { results };
  }

  private brokerIds(): number[] {
    return Array.from({ length: this.brokers }, (_, index) => index + 1);
  }
}

function addressOf(brokerId: number): { host: string; port: number } {
  return { host: `broker-${brokerId}`, port: 9292 };
}
