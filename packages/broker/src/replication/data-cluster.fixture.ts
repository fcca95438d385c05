/**
 * A few data planes joined by a network, and an obvious controller: for component tests of replication, produce and
 * fetch. The controller stub keeps Kafka's order of checks for ISR changes and nothing else; tests elect
 * leaders by hand. Called by *.test.ts of this package, which hand in the simulated world.
 */
import {
  partitionKey,
  TributaryError,
  type Clock,
  type Logger,
  type Random,
} from '@tributary/common';
import type { LogStore } from '@tributary/log';
import {
  methods,
  type BrokerInfo,
  type Connection,
  type OfflineReplica,
  type PartitionState,
  type ProducePartitionInput,
  type ProduceResponse,
  type ProduceResult,
  type TopicInfo,
  type Transport,
} from '@tributary/protocol';
import { BatchBuilder, type ProducerStamp } from '@tributary/record';
import { ClusterImage } from '../metadata/cluster-image';
import type { Partition } from '../partition/partition';
import { dataHandlers } from '../rpc/data-handlers';
import type { IsrChange, PartitionAlterer } from '../seams';
import type { DataLimits } from './data-limits';
import { ReplicaManager } from './replica-manager';

export interface DataWorld {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  transport(machine: string): Transport;
  crash(machine: string): void;
  store(brokerId: number): LogStore;
}

export const TOPIC = 'orders';
export const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ';
export const CLUSTER_ID = 'cluster';
const PORT = 9292;

interface LiveBroker {
  readonly manager: ReplicaManager;
  readonly transport: Transport;
}

export class DataCluster {
  /** What each broker asked of the controller, in order. */
  readonly asked: IsrChange[] = [];
  /** What the controller was told of failed disks, in order. */
  readonly failed: string[] = [];
  readonly restored: string[] = [];
  /** The controller acts on what it is told of replicas that are offline or restored; otherwise tests do. */
  actsOnOutages = false;
  private readonly outages = new Map<string, Map<number, { incident: number; reason: string }>>();
  /** The controller does not answer while set. */
  controllerDown = false;
  private readonly live = new Map<number, LiveBroker>();
  private readonly brokerEpochs = new Map<number, number>();
  private readonly states = new Map<string, PartitionState>();
  private readonly topics = new Map<string, TopicInfo>();
  private readonly ineligible = new Set<number>();
  private readonly cutOff = new Set<number>();
  private readonly mayAsk = new Set<number>();
  private sequence = 0;
  private lives = 100;
  private readonly client: Transport;
  private readonly connections = new Map<number, Connection>();

  constructor(
    readonly world: DataWorld,
    private readonly limits: Partial<DataLimits> = {},
  ) {
    this.client = world.transport('client');
  }

  async startBroker(id: number): Promise<void> {
    const { clock, random, logger } = this.world;
    const transport = this.world.transport(`b${id}`);
    const manager = new ReplicaManager({
      brokerId: id,
      logStore: this.world.store(id),
      transport,
      clock,
      random,
      logger,
      alterer: this.alterer(id),
      clusterId: () => CLUSTER_ID,
      limits: this.limits,
    });
    manager.start();
    const handlers = dataHandlers(manager);
    await transport.listen({ host: `b${id}`, port: PORT, listener: 'inside', handlers });
    this.live.set(id, { manager, transport });
    this.lives += 1;
    this.brokerEpochs.set(id, this.lives);
    this.ineligible.delete(id);
    manager.setBrokerEpoch(this.lives);
    await this.publish([...this.states.values()]);
  }

  /** kill -9: the machine goes, the logs stay. */
  crash(id: number): void {
    // First the machine: it says goodbye to nobody.
    this.world.crash(`b${id}`);
    this.live.get(id)?.manager.kill();
    this.live.delete(id);
    this.ineligible.add(id);
  }

  manager(id: number): ReplicaManager {
    const broker = this.live.get(id);
    if (!broker) throw new Error(`broker ${id} does not run`);
    return broker.manager;
  }

  partition(id: number, number = 0, topicId = TOPIC_ID): Partition {
    return this.manager(id).find({ topic: TOPIC, topicId, partition: number }, 'inside');
  }

  state(number = 0, topicId = TOPIC_ID): PartitionState {
    const state = this.states.get(partitionKey(topicId, number));
    if (!state) throw new Error(`no partition ${number}`);
    return state;
  }

  /** @param partitions replicas of each; the first leads, all are in sync. */
  createTopic(
    partitions: readonly (readonly number[])[],
    configs: Record<string, string> = {},
    topicId = TOPIC_ID,
  ): Promise<void> {
    this.topics.set(topicId, { topic: TOPIC, topicId, configs, deleting: false });
    const states = partitions.map((replicas, partition) => ({
      topic: TOPIC,
      topicId,
      partition,
      leader: replicas[0] ?? -1,
      leaderEpoch: 0,
      partitionEpoch: 0,
      controllerEpoch: 1,
      isr: [...replicas],
      replicas: [...replicas],
      eligibleLeaders: [],
      offlineReplicas: [],
      addingReplicas: [],
      removingReplicas: [],
    }));
    return this.change(states);
  }

  /** Other settings for a topic that is there. */
  configure(configs: Record<string, string>, topicId = TOPIC_ID): Promise<void> {
    this.topics.set(topicId, { topic: TOPIC, topicId, configs, deleting: false });
    return this.publish([]);
  }

  forgetTopic(topicId: string): void {
    this.topics.delete(topicId);
    for (const [key, state] of this.states) if (state.topicId === topicId) this.states.delete(key);
  }

  elect(leader: number, options: { isr?: number[]; number?: number } = {}): Promise<void> {
    const before = this.state(options.number);
    const isr = options.isr ?? before.isr;
    const { leaderEpoch, partitionEpoch } = before;
    return this.change([
      { ...before, leader, isr, leaderEpoch: leaderEpoch + 1, partitionEpoch: partitionEpoch + 1 },
    ]);
  }

  setEligible(id: number, eligible: boolean): Promise<void> {
    if (eligible) this.ineligible.delete(id);
    else this.ineligible.add(id);
    return this.publish([]);
  }

  /** Its session is over: the others hear so, it does not. */
  unregister(id: number): Promise<void> {
    this.cutOff.add(id);
    this.brokerEpochs.delete(id);
    return this.publish([]);
  }

  /** The broker hears nothing of the controller any more: a zombie in the making. */
  cutOffFromController(id: number): void {
    this.cutOff.add(id);
  }

  /** It may ask the controller again, but no news comes to it. */
  letAsk(id: number): void {
    this.mayAsk.add(id);
  }

  reconnectToController(id: number): Promise<void> {
    this.cutOff.delete(id);
    return this.publish([...this.states.values()]);
  }

  image(): ClusterImage {
    const brokers: BrokerInfo[] = [...this.brokerEpochs].map(([brokerId, brokerEpoch]) => ({
      brokerId,
      brokerEpoch,
      endpoints: [{ listener: 'inside', host: `b${brokerId}`, port: PORT }],
      rack: '',
      eligible: !this.ineligible.has(brokerId),
      duty: 'BROKER_DUTY_IN_SERVICE' as const,
      configs: {},
    }));
    this.sequence += 1;
    return ClusterImage.from({
      controllerId: 0,
      controllerEpoch: 1,
      sequence: this.sequence,
      brokers,
      topics: [...this.topics.values()],
      partitions: [...this.states.values()],
    });
  }

  async change(states: readonly PartitionState[]): Promise<void> {
    for (const state of states) {
      this.states.set(partitionKey(state.topicId, state.partition), state);
    }
    await this.publish(states);
  }

  async publish(changed: readonly PartitionState[]): Promise<void> {
    const image = this.image();
    const hearing = [...this.live].filter(([id]) => !this.cutOff.has(id));
    await Promise.all(hearing.map(([, { manager }]) => manager.apply(changed, image)));
  }

  private alterer(id: number): PartitionAlterer {
    return {
      alterPartition: async (change) => {
        this.asked.push(change);
        if (this.controllerDown || (this.cutOff.has(id) && !this.mayAsk.has(id))) {
          throw new TributaryError('UNAVAILABLE', 'no control stream');
        }
        return this.alter(change, id);
      },
      replicaFailed: (replica) => {
        this.failed.push(`${id}: ${partitionKey(replica.topicId, replica.partition)}`);
        if (this.actsOnOutages && !this.controllerDown) this.noteOutage(id, replica);
      },
      replicaRestored: ({ topicId, partition }) => {
        this.restored.push(`${id}: ${partitionKey(topicId, partition)}`);
        if (this.actsOnOutages && !this.controllerDown) this.endOutage(id, topicId, partition);
      },
    };
  }

  /** A new controller: it knows the states, and hears from each broker what is offline. */
  failOver(): void {
    this.outages.clear();
    for (const [id, { manager }] of this.live) {
      for (const replica of manager.offlineReplicas()) this.noteOutage(id, replica);
    }
  }

  private noteOutage(id: number, replica: OfflineReplica): void {
    const { topicId, partition, incident, reason } = replica;
    const key = partitionKey(topicId, partition);
    const known = this.outages.get(key) ?? new Map<number, { incident: number; reason: string }>();
    this.outages.set(key, known.set(id, { incident, reason }));
    const state = this.states.get(key);
    if (state) void this.change([this.without(state)]);
  }

  private endOutage(id: number, topicId: string, partition: number): void {
    const key = partitionKey(topicId, partition);
    this.outages.get(key)?.delete(id);
    const state = this.states.get(key);
    if (state) void this.change([this.without(state)]);
  }

  /** As the controller decides: those offline leave the ISR, and another member leads; the last member stays. */
  private without(state: PartitionState): PartitionState {
    const offline =
      this.outages.get(partitionKey(state.topicId, state.partition)) ??
      new Map<number, { incident: number; reason: string }>();
    const well = state.isr.filter((id) => !offline.has(id) && !this.ineligible.has(id));
    const isr = well.length > 0 ? well : state.isr;
    const leader = well.includes(state.leader) ? state.leader : (well[0] ?? -1);
    const moved = leader !== state.leader;
    const changed = moved || isr.length !== state.isr.length;
    return {
      ...state,
      isr,
      leader,
      leaderEpoch: state.leaderEpoch + (moved ? 1 : 0),
      partitionEpoch: state.partitionEpoch + (changed ? 1 : 0),
      offlineReplicas: [...offline].map(([brokerId, outage]) => ({ brokerId, ...outage })),
      addingReplicas: [],
      removingReplicas: [],
    };
  }

  private acceptLoss(state: PartitionState, id: number): PartitionState {
    const next = {
      ...state,
      leader: -1,
      isr: [id],
      leaderEpoch: state.leaderEpoch + 1,
      partitionEpoch: state.partitionEpoch + 1,
    };
    void this.change([next]);
    return next;
  }

  private alter(change: IsrChange, asker: number): PartitionState {
    const state = this.state(change.partition, change.topicId);
    if (change.acceptLoss) return this.acceptLoss(state, asker);
    if (change.leaderEpoch < state.leaderEpoch) {
      throw new TributaryError('FENCED_LEADER_EPOCH', `epoch ${state.leaderEpoch} is now`);
    }
    const isr = change.isr.map(({ brokerId }) => brokerId);
    if (isr.length === state.isr.length && isr.every((id) => state.isr.includes(id))) return state;
    if (change.partitionEpoch !== state.partitionEpoch) {
      throw new TributaryError('INVALID_PARTITION_EPOCH', `${state.partitionEpoch} is now`);
    }
    const added = change.isr.filter(({ brokerId }) => !state.isr.includes(brokerId));
    const offline = this.outages.get(partitionKey(state.topicId, state.partition));
    for (const { brokerId, brokerEpoch } of added) {
      if (offline?.has(brokerId)) throw new TributaryError('INELIGIBLE_REPLICA', 'it is offline');
      if (this.ineligible.has(brokerId) || this.brokerEpochs.get(brokerId) !== brokerEpoch) {
        throw new TributaryError('INELIGIBLE_REPLICA', `broker ${brokerId} may not join`);
      }
    }
    const next = { ...state, isr, partitionEpoch: state.partitionEpoch + 1 };
    void this.change([next]);
    return next;
  }

  // ---- as a client ----

  connection(id: number): Connection {
    let connection = this.connections.get(id);
    if (!connection) {
      connection = this.client.connect({ host: `b${id}`, port: PORT }, 'client');
      this.connections.set(id, connection);
    }
    return connection;
  }

  /** One batch of these values to partition 0. */
  async produce(
    id: number,
    values: readonly string[],
    options: ProduceOptions = {},
  ): Promise<ProduceResult> {
    const { results } = await this.produceOnce(id, values, options);
    const result = results[0];
    if (!result) throw new Error('no result');
    return result;
  }

  /** With acks 0. */
  async produceWithoutAnswer(id: number, values: readonly string[]): Promise<void> {
    await this.produceOnce(id, values, { acks: 0 });
  }

  private produceOnce(
    id: number,
    values: readonly string[],
    options: ProduceOptions,
  ): Promise<ProduceResponse> {
    const { acks = -1, timeoutMs = 5_000, producer, ...entry } = options;
    const asked = { topic: TOPIC, topicId: TOPIC_ID, partition: 0, leaderEpoch: -1 };
    const batch = batchOf(values, producer);
    return this.connection(id).call(
      methods.broker.produceOnce,
      { acks, timeoutMs, partitions: [{ ...asked, batch, ...entry }] },
      { timeoutMs: 60_000 },
    );
  }

  async close(): Promise<void> {
    await Promise.all([...this.live.values()].map(({ manager }) => manager.close()));
    await Promise.all([...this.live.values()].map(({ transport }) => transport.close()));
    await this.client.close();
  }
}

export interface ProduceOptions extends ProducePartitionInput {
  readonly acks?: number;
  readonly timeoutMs?: number;
  readonly producer?: ProducerStamp;
}

export function batchOf(values: readonly string[], producer?: ProducerStamp): Buffer {
  const builder = new BatchBuilder({ codec: 'none' });
  for (const value of values) {
    const timestamp = 1_700_000_000_000;
    builder.append({ key: null, value: Buffer.from(value), headers: [], timestamp });
  }
  return builder.build(producer);
}
