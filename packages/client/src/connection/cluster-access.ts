/**
 * How a client reaches its cluster: through any broker, or through the coordinator. Makes transport and
 * coordinator when they are first needed; closes only what it made. Called by the client alone.
 */
import { assert } from '@tributary/common';
import { ZooKeeperCoordinator, type Coordinator, type GroupStore } from '@tributary/coordination';
import { GrpcTransport, type Transport } from '@tributary/protocol';
import type { ClientConfig, ClientOptions } from '../client-config';
import { RemoteGroupStore } from '../group';
import { BrokerSource } from '../metadata/broker-source';
import { CoordinatorSource } from '../metadata/coordinator-source';
import type { BrokerConnections, ClientContext, MetadataSource } from '../seams';
import { TransportConnections } from './broker-connections';
import { LazyCoordinator, type CoordinatorWorld } from './lazy-coordinator';

/** Clients usually stand outside the brokers' own network. */
export const DEFAULT_LISTENER = 'outside';

export class ClusterAccess {
  readonly connections: BrokerConnections;
  readonly source: MetadataSource;
  private readonly transport: Transport;
  private readonly ownsTransport: boolean;
  private readonly coordinator: LazyCoordinator | undefined;
  private readonly ownsCoordinator: boolean;
  private remoteGroups: GroupStore | undefined;

  constructor(world: CoordinatorWorld, config: ClientConfig, options: ClientOptions) {
    const { bootstrap, listener } = config;
    this.ownsTransport = options.transport === undefined;
    this.ownsCoordinator = options.coordinator === undefined;
    // Neither dials before it is used.
    this.transport = options.transport ?? new GrpcTransport({ logger: world.logger });
    this.connections = new TransportConnections(this.transport, listener);
    if (bootstrap) {
      const sourceOptions = { bootstrap, listener };
      this.source = new BrokerSource(world.clock, world.random, this.connections, sourceOptions);
      return;
    }
    const given = options.coordinator;
    const coordinator = new LazyCoordinator(world, () => given ?? connect(world, config));
    this.coordinator = coordinator;
    this.source = new CoordinatorSource(world.clock, (deadline) => coordinator.nouns(deadline), {
      listener: listener ?? DEFAULT_LISTENER,
    });
  }

  /** On the coordinator, or held by a broker. */
  groups(context: ClientContext): GroupStore {
    if (this.coordinator) return this.coordinator.groups();
    this.remoteGroups ??= new RemoteGroupStore(context);
    return this.remoteGroups;
  }

  async close(timeoutMs: number): Promise<void> {
    await this.source.close();
    this.connections.closeAll();
    if (this.ownsTransport) await this.transport.close();
    if (this.ownsCoordinator) await this.coordinator?.close(timeoutMs);
  }
}

function connect(world: CoordinatorWorld, config: ClientConfig): Coordinator {
  const { zookeeper, sessionTimeoutMs } = config;
  assert(zookeeper !== undefined, 'the configuration was checked');
  return ZooKeeperCoordinator.connect({ ...world, connectString: zookeeper, sessionTimeoutMs });
}
