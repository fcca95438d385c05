/**
 * Three control planes and a data plane that only remembers what it was told, in a simulated world. Called by
 * broker.test.ts.
 */
import { seededRandom, silentLogger } from '@tributary/common';
import { EmbeddedEnsemble, type EmbeddedCoordinator } from '@tributary/coordination';
import {
  methods,
  type Address,
  type LocalReplica,
  type OfflineReplica,
  type PartitionState,
  type StopReplica,
  type StopResult,
} from '@tributary/protocol';
import { SimulatedClock, SimulatedNetwork } from '@tributary/testkit';
import { Broker } from './broker';
import type { DataPlane, DataPlaneContext } from './data-plane';
import type { MetadataImage } from './metadata/metadata-image';
import type { PartitionAlterer } from './seams';

/** The data plane of a test: remembers what it was told. */
export class RecordedReplicas implements DataPlane {
  image: MetadataImage | undefined;
  readonly stopped: string[] = [];
  readonly stoppedIds: string[] = [];
  readonly resigned: string[] = [];
  readonly epochs: (number | undefined)[] = [];
  offline: OfflineReplica[] = [];
  isolated = false;
  closed = false;

  constructor(readonly alterer: PartitionAlterer) {}

  readonly handlers = [];
  readonly status = (): [] => [];
  readonly host = {
    apply: async (_changed: readonly PartitionState[], image: MetadataImage): Promise<void> => {
      this.image = image;
    },
    stopReplicas: async (requests: readonly StopReplica[]): Promise<StopResult[]> =>
      requests.map(({ topic, topicId, partition }) => {
        this.stopped.push(`${topic}-${partition}`);
        this.stoppedIds.push(topicId);
        return { topicId, partition, dataDeleted: true, error: null };
      }),
    resignAll: (reason: string): void => void this.resigned.push(reason),
    leaderships: (): [] => [],
    endLeadership: () => undefined,
    localReplicas: (): LocalReplica[] => [],
    toldLives: () => ({ previousStop: 'NEVER_RAN' as const }),
    setCatchUpRate: () => undefined,
    offlineReplicas: (): OfflineReplica[] => this.offline,
    restoredReplicas: (): [] => [],
    setBrokerEpoch: (epoch: number | undefined): void => void this.epochs.push(epoch),
    setIsolated: (isolated: boolean): void => {
      this.isolated = isolated;
    },
  };

  async close(): Promise<void> {
    this.closed = true;
  }

  kill(): void {
    this.closed = true;
  }
}

interface Node {
  readonly broker: Broker;
  readonly coordinator: EmbeddedCoordinator;
  readonly replicas: () => RecordedReplicas;
}

export const sessionTimeoutMs = 6_000;

export class TestCluster {
  readonly clock = new SimulatedClock();
  readonly random = seededRandom(7);
  readonly network = new SimulatedNetwork({ clock: this.clock, random: this.random });
  readonly ensemble = new EmbeddedEnsemble({ clock: this.clock, random: this.random });
  readonly nodes = new Map<number, Node>();

  async start(...brokerIds: number[]): Promise<void> {
    for (const brokerId of brokerIds) {
      await this.register(brokerId);
      await this.until(() => this.ready(brokerId));
    }
    // One more delta may be on its way to the others.
    await this.clock.advance(10);
  }

  /** Started as far as it gets without a controller. */
  async register(brokerId: number): Promise<void> {
    const node = this.make(brokerId);
    this.nodes.set(brokerId, node);
    await this.clock.settleWithin(node.broker.start(), 10_000);
  }

  node(brokerId: number): Node {
    const node = this.nodes.get(brokerId);
    if (!node) throw new Error(`no broker ${brokerId}`);
    return node;
  }

  async until(condition: () => boolean, withinMs = 15_000): Promise<void> {
    if (await this.clock.runUntil(condition, withinMs)) return;
    const journals = [...this.nodes.values()].flatMap(({ broker }) => broker.decisions());
    throw new Error(`not within ${withinMs} ms: ${JSON.stringify(journals, undefined, 1)}`);
  }

  get controllerId(): number | undefined {
    return [...this.nodes.values()]
      .map(({ broker }) => broker.status())
      .find((status) => status.isController)?.brokerId;
  }

  ready(brokerId: number): boolean {
    return this.node(brokerId).broker.status().notReadyReasons.length === 0;
  }

  crash(brokerId: number): void {
    const { broker, coordinator } = this.node(brokerId);
    this.network.crash(`host-${brokerId}`);
    this.ensemble.abandon(coordinator);
    broker.kill();
    this.nodes.delete(brokerId);
  }

  /** As broker `of` shows it. */
  partition(of: number, topic: string, partition: number): PartitionState | undefined {
    const { image } = this.node(of).replicas();
    const topicId = image?.topicByName(topic)?.topicId;
    return topicId === undefined ? undefined : image?.partition(topicId, partition);
  }

  call<T>(
    through: number,
    make: (
      connection: ReturnType<ReturnType<SimulatedNetwork['transport']>['connect']>,
    ) => Promise<T>,
  ): Promise<T> {
    this.clients += 1;
    const transport = this.network.transport(`client-${this.clients}`);
    const connection = transport.connect(addressOf(through), 'client');
    return this.clock.settleWithin(make(connection), 20_000);
  }

  createTopic(through: number, topic: string, partitions: number, replicationFactor: number) {
    const request = { topic, partitions, replicationFactor, timeoutMs: 10_000 };
    return this.call(through, (connection) =>
      connection.call(methods.admin.createTopic, request, { timeoutMs: 11_000 }),
    );
  }

  deleteTopic(through: number, topic: string) {
    const request = { topic, timeoutMs: 10_000 };
    return this.call(through, (connection) =>
      connection.call(methods.admin.deleteTopic, request, { timeoutMs: 11_000 }),
    );
  }

  private clients = 0;

  private make(brokerId: number): Node {
    let replicas: RecordedReplicas | undefined;
    const coordinator = this.ensemble.connect({ sessionTimeoutMs });
    const address = addressOf(brokerId);
    const broker = new Broker({
      brokerId,
      listeners: [{ name: 'inside', bind: address, advertised: address }],
      interBrokerListener: 'inside',
      hostname: `host-${brokerId}`,
      clock: this.clock,
      random: this.random,
      logger: silentLogger,
      transport: this.network.transport(`host-${brokerId}`),
      coordinator,
      dataPlane: (context: DataPlaneContext) => {
        replicas = new RecordedReplicas(context.alterer);
        return replicas;
      },
    });
    const made = (): RecordedReplicas => {
      if (!replicas) throw new Error('not started');
      return replicas;
    };
    return { broker, coordinator, replicas: made };
  }
}

function addressOf(brokerId: number): Address {
  return { host: `host-${brokerId}`, port: 9292 };
}
