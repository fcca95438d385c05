/**
 * One broker: composes the control plane (registration, election, control stream, metadata, admin), the data
 * plane and the groups on the ports that it is given. The server, the embedded cluster and the simulation
 * make it; it reads no configuration.
 */
import type { BrokerOptions, BrokerStatus } from './broker-options';

export class Broker {
  constructor(private readonly options: BrokerOptions) {}

  /** Resolves once registered. Rejects with ADDRESS_IN_USE, CLUSTER_MISMATCH, BROKER_ID_IN_USE, COORDINATOR_UNAVAILABLE. */
  async start(): Promise<void> {
    throw new Error(`not built yet: broker ${this.options.brokerId}`);
  }

  /** Bounded: at most 4 s. Idempotent. */
  async stop(_options: { readonly graceful: boolean }): Promise<void> {
    throw new Error('not built yet');
  }

  /** As a crash: no goodbye to anybody, the session is left to expire. */
  kill(): void {
    throw new Error('not built yet');
  }

  status(): BrokerStatus {
    throw new Error('not built yet');
  }
}
