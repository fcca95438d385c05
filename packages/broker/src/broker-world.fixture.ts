/**
 * Whole brokers, logs and replication included, in a simulated world: clock, network, disks, coordinator. Called by the tests of
 * whole brokers in this folder.
 */
import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import { EmbeddedEnsemble, type EmbeddedCoordinator } from '@tributary/coordination';
import { LogDirectory } from '@tributary/log';
import { methods, type Connection } from '@tributary/protocol';
import { SimulatedClock, SimulatedDisk, SimulatedNetwork } from '@tributary/testkit';
import { Broker } from './broker';

export interface Node {
  readonly broker: Broker;
  readonly coordinator: EmbeddedCoordinator;
}

export class World {
  readonly clock = new SimulatedClock();
  readonly random = seededRandom(11);
  readonly network = new SimulatedNetwork({ clock: this.clock, random: this.random });
  readonly ensemble = new EmbeddedEnsemble({ clock: this.clock, random: this.random });
  readonly disks = new Map<number, SimulatedDisk>();
  readonly nodes = new Map<number, Node>();
  private readonly client = this.network.transport('client');

  async start(...brokerIds: number[]): Promise<void> {
    const starts = brokerIds.map((brokerId) => this.startOne(brokerId));
    await this.clock.settleWithin(Promise.all(starts), 20_000);
    await this.until(() => brokerIds.every((id) => this.ready(id)));
  }

  ready(brokerId: number): boolean {
    return this.nodes.get(brokerId)?.broker.status().notReadyReasons.length === 0;
  }

  async until(condition: () => boolean, withinMs = 20_000): Promise<void> {
    if (await this.clock.runUntil(condition, withinMs)) return;
    throw new Error(`not within ${withinMs} ms`);
  }

  crash(brokerId: number): void {
    const node = this.nodes.get(brokerId)!;
    this.network.crash(`host-${brokerId}`);
    this.ensemble.abandon(node.coordinator);
    this.disks.get(brokerId)!.crash({ loseUnsynced: false, random: this.random });
    node.broker.kill();
    this.nodes.delete(brokerId);
  }

  call<T>(brokerId: number, make: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = this.client.connect({ host: `host-${brokerId}`, port: 9292 }, 'client');
    return this.clock.settleWithin(make(connection), 20_000);
  }

  async createTopic(topic: string, partitions: number): Promise<string> {
    const request = { topic, partitions, replicationFactor: 3, timeoutMs: 5_000 };
    const through = [...this.nodes.keys()][0]!;
    const created = await this.call(through, (connection) =>
      connection.call(methods.admin.createTopic, request, { timeoutMs: 6_000 }),
    );
    return created.topicId;
  }

  async deleteTopic(topic: string): Promise<void> {
    const through = [...this.nodes.keys()][0]!;
    const request = { topic, timeoutMs: 15_000 };
    await this.call(through, (connection) =>
      connection.call(methods.admin.deleteTopic, request, { timeoutMs: 16_000 }),
    );
  }

  replicasOn(...brokerIds: number[]): number {
    return brokerIds.reduce((sum, id) => sum + this.topicIdsOn(id).length, 0);
  }

  /** One per replica. */
  topicIdsOn(brokerId: number): string[] {
    const partitions = this.nodes.get(brokerId)?.broker.status().partitions ?? [];
    return partitions.map(({ topicId }) => topicId);
  }

  leaders(): Map<number, number[]> {
    const leaders = new Map<number, number[]>();
    for (const [brokerId, { broker }] of this.nodes) {
      for (const { partition, role } of broker.status().partitions) {
        if (role === 'leader')
          leaders.set(partition, [...(leaders.get(partition) ?? []), brokerId]);
      }
    }
    return leaders;
  }

  /** To whoever leads; answers the offset. */
  async produce(topicId: string, partition: number, value: string): Promise<number> {
    await this.until(() => this.leaders().get(partition)?.length === 1);
    const leader = this.leaders().get(partition)![0]!;
    const response = await this.call(leader, (connection) =>
      connection.call(
        methods.broker.produceOnce,
        {
          correlationId: 1,
          timeoutMs: 10_000,
          acks: -1,
          partitions: [
            {
              topic: 'orders',
              topicId,
              partition,
              leaderEpoch: -1,
              records: { records: [{ value: Buffer.from(value) }] },
              payload: 'records',
            },
          ],
        },
        { timeoutMs: 12_000 },
      ),
    );
    const [result] = response.results;
    if (result?.error) throw new Error(`${result.error.code}: ${result.error.message}`);
    return result!.baseOffset;
  }

  async fetch(topicId: string, partition: number): Promise<string[]> {
    await this.until(() => this.leaders().get(partition)?.length === 1);
    const leader = this.leaders().get(partition)![0]!;
    const asked = { topic: 'orders', topicId, partition, leaderEpoch: -1, offset: 0 };
    const response = await this.call(leader, (connection) =>
      connection.call(
        methods.broker.fetchOnce,
        {
          correlationId: 1,
          maxWaitMs: 500,
          minBytes: 1,
          maxBytes: 100_000,
          structured: true,
          partitions: [{ ...asked, maxBytes: 100_000 }],
        },
        { timeoutMs: 2_000 },
      ),
    );
    const [result] = response.results;
    if (result?.error) throw new Error(`${result.error.code}: ${result.error.message}`);
    return result!.records.map(({ value }) => Buffer.from(value ?? '').toString());
  }

  private async startOne(brokerId: number): Promise<void> {
    const { clock, random } = this;
    const disk = this.disks.get(brokerId) ?? new SimulatedDisk();
    this.disks.set(brokerId, disk);
    const logStore = await LogDirectory.open({
      disk: disk.mount(),
      directory: '/data',
      brokerId,
      clock,
      random,
      logger: silentLogger,
      configFor: () => ({
        ...defaultTopicConfig,
        segmentBytes: 1_000_000,
        maxMessageBytes: 100_000,
      }),
    });
    const coordinator = this.ensemble.connect({ sessionTimeoutMs: 6_000 });
    const address = { host: `host-${brokerId}`, port: 9292 };
    const broker = new Broker({
      brokerId,
      listeners: [{ name: 'inside', bind: address, advertised: address }],
      interBrokerListener: 'inside',
      hostname: `host-${brokerId}`,
      clock,
      random,
      logger: silentLogger,
      transport: this.network.transport(`host-${brokerId}`),
      coordinator,
      logStore,
    });
    this.nodes.set(brokerId, { broker, coordinator });
    await broker.start();
  }
}
