/**
 * One broker of a scripted cluster: the handlers of the Broker service that a producer needs, each step of a
 * produce request in the hands of the test's script. Called by ScriptedCluster.
 */
import { TributaryError, type Clock } from '@tributary/common';
import {
  answerHello,
  bidiHandler,
  methods,
  toWireError,
  unaryHandler,
  type DescribeClusterResponseInput,
  type Handler,
  type InitProducerRequest,
  type InitProducerResponseInput,
  type DeleteRecordsRequest,
  type DeleteRecordsResponseInput,
  type ListOffsetsRequest,
  type ListOffsetsResponseInput,
  type MessageStream,
  type MetadataRequest,
  type MetadataResponseInput,
  type ProduceDownInput,
  type ProducePartition,
  type ProduceRequest,
  type ProduceUp,
} from '@tributary/protocol';
import { decodeBatch, readBatchHeader } from '@tributary/record';
import type { ProduceAttempt, ScriptStep } from './produce-script';
import type { ScriptedPartition } from './scripted-partition';

const scriptedAdminMethods = [
  methods.admin.alterTopic,
  methods.admin.reassignPartitions,
  methods.admin.electLeaders,
  methods.admin.alterBroker,
  methods.admin.describeBrokers,
  methods.admin.describeReplicas,
  methods.admin.listDecisions,
] as const;

export interface AdminCall {
  readonly broker: number;
  /** As in the proto: `AlterTopic`. */
  readonly method: string;
  readonly request: object;
}

/** Answers in the form of the method's response, or throws; a promise that never settles is a broker that hangs. */
export type AdminScript = (call: AdminCall) => object | Promise<object>;

/** The cluster, as its brokers see it. */
export interface ScriptedHost {
  readonly clock: Clock;
  readonly clusterId: string;
  readonly options: { readonly creditBytes?: number; readonly silentHello?: number };
  readonly attempts: ProduceAttempt[];
  readonly script: (attempt: ProduceAttempt) => ScriptStep | undefined;
  readonly adminScript: AdminScript;
  ledPartition(brokerId: number, entry: ProducePartition): ScriptedPartition;
  metadata(request: MetadataRequest): MetadataResponseInput;
  initProducer(request: InitProducerRequest): InitProducerResponseInput;
  listOffsets(brokerId: number, request: ListOffsetsRequest): ListOffsetsResponseInput;
  deleteRecords(brokerId: number, request: DeleteRecordsRequest): DeleteRecordsResponseInput;
  describeCluster(): DescribeClusterResponseInput;
  hasTopic(topic: string): boolean;
  topicIdOf(topic: string): string;
  createTopic(topic: string, partitions: number, configs: Record<string, string>): void;
  deleteTopic(topic: string): void;
}

type ProduceSide = MessageStream<ProduceDownInput, ProduceUp>;

export class ScriptedBroker {
  constructor(
    private readonly cluster: ScriptedHost,
    readonly brokerId: number,
  ) {}

  handlers(): Handler[] {
    const { cluster } = this;
    return [
      bidiHandler(methods.broker.produce, (stream) => this.serve(stream)),
      unaryHandler(methods.broker.metadata, async (request) => cluster.metadata(request)),
      unaryHandler(methods.broker.initProducer, async (request) => cluster.initProducer(request)),
      unaryHandler(methods.admin.createTopic, async (request) => {
        const { topic, partitions, configs } = request;
        if (cluster.hasTopic(topic)) throw new TributaryError('TOPIC_EXISTS', `${topic} exists`);
        cluster.createTopic(topic, partitions, configs);
        const topicId = cluster.topicIdOf(topic);
        return { topic, topicId, partitions, replicationFactor: 3 };
      }),
      unaryHandler(methods.admin.deleteTopic, async ({ topic }) => {
        if (!cluster.hasTopic(topic)) throw new TributaryError('UNKNOWN_TOPIC', `no ${topic}`);
        cluster.deleteTopic(topic);
        return { topic };
      }),
      unaryHandler(methods.admin.describeCluster, async () => cluster.describeCluster()),
      unaryHandler(methods.broker.listOffsets, async (request) =>
        cluster.listOffsets(this.brokerId, request),
      ),
      unaryHandler(methods.admin.deleteRecords, async (request) =>
        cluster.deleteRecords(this.brokerId, request),
      ),
      ...scriptedAdminMethods.map(({ path, ...method }) => ({
        method: { ...method, path },
        unary: async (request: unknown) => {
          const name = path.slice(path.lastIndexOf('/') + 1);
          return cluster.adminScript({
            broker: this.brokerId,
            method: name,
            request: request as object,
          });
        },
      })),
    ];
  }

  private serve(stream: ProduceSide): void {
    stream.handle({
      onMessage: (message) => {
        if (message.hello) this.welcome(stream, message.hello);
        else if (message.request) this.produce(stream, message.request);
      },
      onEnd: () => stream.end(),
      onClose: () => undefined,
    });
  }

  private welcome(stream: ProduceSide, hello: NonNullable<ProduceUp['hello']>): void {
    if (this.cluster.options.silentHello === this.brokerId) return;
    const { clusterId } = this.cluster;
    const answer = answerHello(hello, {
      clusterId,
      brokerId: this.brokerId,
      brokerEpoch: 1,
      features: [],
      creditBytes: this.cluster.options.creditBytes ?? 16 * 1024 * 1024,
      maxInFlightRequests: 0,
      maxRequestBytes: 0,
    });
    stream.send({ body: 'hello', hello: answer });
  }

  private produce(stream: ProduceSide, request: ProduceRequest): void {
    const { correlationId, acks } = request;
    let open = request.partitions.length;
    const bytes = request.partitions.reduce((sum, { batch }) => sum + (batch?.length ?? 0), 0);
    const finish = (results: object[]): void => {
      open -= 1;
      const response = { correlationId, results, last: open === 0 };
      if (acks !== 0) stream.send({ body: 'response', response });
      if (open === 0) stream.send({ body: 'credit', credit: { bytes } });
    };
    for (const entry of request.partitions) this.produceEntry(stream, entry, acks, finish);
  }

  private produceEntry(
    stream: ProduceSide,
    entry: ProducePartition,
    acks: number,
    finish: (results: object[]) => void,
  ): void {
    const { topic, topicId, partition } = entry;
    const attempt = this.attemptOf(entry, acks);
    this.cluster.attempts.push(attempt);
    const step = this.cluster.script(attempt) ?? { do: 'append' };
    const answer = (
      error: TributaryError | undefined,
      baseOffset = -1,
      duplicate = false,
    ): void => {
      const wire = error ? toWireError(error) : null;
      finish([{ topic, topicId, partition, baseOffset, duplicate, error: wire }]);
    };
    const append = (): void => {
      try {
        const { baseOffset, duplicate } = this.cluster
          .ledPartition(this.brokerId, entry)
          .append(entry);
        answer(undefined, baseOffset, duplicate);
      } catch (thrown) {
        answer(TributaryError.from(thrown));
      }
    };
    const lost = new TributaryError('UNAVAILABLE', 'the broker died');
    switch (step.do) {
      case 'append':
        if (step.afterMs === undefined) return append();
        return void this.cluster.clock.setTimer(step.afterMs, append);
      case 'refuse':
        return answer(step.with);
      case 'cut':
        return stream.cut(lost);
      case 'append and cut':
        this.appendIfPossible(entry);
        return stream.cut(lost);
      case 'append in silence':
        return this.appendIfPossible(entry);
      case 'silence':
        return;
      default:
        throw new Error('not a step of a script');
    }
  }

  private appendIfPossible(entry: ProducePartition): void {
    try {
      this.cluster.ledPartition(this.brokerId, entry).append(entry);
    } catch {
      // Refused; but the answer does not get through.
    }
  }

  private attemptOf(entry: ProducePartition, acks: number): ProduceAttempt {
    const batch = entry.batch ?? Buffer.alloc(0);
    const { producerId, producerEpoch, baseSequence } = readBatchHeader(batch);
    return {
      number: this.cluster.attempts.length + 1,
      broker: this.brokerId,
      topic: entry.topic,
      topicId: entry.topicId,
      partition: entry.partition,
      leaderEpoch: entry.leaderEpoch,
      producerId,
      producerEpoch,
      baseSequence,
      acks,
      values: decodeBatch(batch).map(({ value }) => value?.toString() ?? '(tombstone)'),
    };
  }
}
