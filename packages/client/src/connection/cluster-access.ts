/**
 * How a client reaches its cluster: through any broker, or through the coordinator. Makes transport and
 * coordinator when they are first needed; closes only what it made. Called by the client alone.
 */
import { TributaryError } from '@tributary/common';
import type { Clock, Logger, Random } from '@tributary/common';
import type { Coordinator, GroupStore } from '@tributary/coordination';
import type { Transport } from '@tributary/protocol';
import type { ClientConfig, ClientOptions } from '../client-config';
import { BrokerSource } from '../metadata/broker-source';
import { CoordinatorSource } from '../metadata/coordinator-source';
import type { BrokerConnections, ClientContext, MetadataSource } from '../seams';
import { TransportConnections } from './broker-connections';

export const DEFAULT_LISTENER = 'outside';

interface World {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export class ClusterAccess {
  readonly connections: BrokerConnections;
  readonly source: MetadataSource;
  private readonly transport: Transport;

  constructor(world: World, config: ClientConfig, options: ClientOptions) {
    if (!options.transport) throw new TributaryError('INTERNAL', 'no transport yet');
    this.transport = options.transport;
    this.connections = new TransportConnections(this.transport, config.listener);
    const { bootstrap, listener } = config;
    this.source = bootstrap
      ? new BrokerSource(world.clock, world.random, this.connections, { bootstrap, listener })
      : new CoordinatorSource(
          () => Promise.reject(new TributaryError('INTERNAL', 'no coordinator yet')),
          { listener: listener ?? DEFAULT_LISTENER },
        );
  }

  groups(_context: ClientContext): GroupStore {
    throw new TributaryError('INTERNAL', 'no groups yet');
  }

  async close(_timeoutMs: number): Promise<void> {
    await this.source.close();
    this.connections.closeAll();
  }

  coordinator(): Coordinator {
    throw new TributaryError('INTERNAL', 'no coordinator yet');
  }
}
