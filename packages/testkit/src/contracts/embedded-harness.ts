/**
 * An embedded ensemble on a simulated clock, as a harness for the contract suites.
 */
import { seededRandom } from '@tributary/common';
import {
  EmbeddedEnsemble,
  type EmbeddedConnectOptions,
  type EmbeddedCoordinator,
} from '@tributary/coordination';
import { SimulatedClock } from '../simulation/simulated-clock';
import type { ClusterNounsHarness } from './cluster-nouns-contract';

const PATIENCE_MS = 60_000;

export class EmbeddedHarness implements ClusterNounsHarness {
  readonly clock = new SimulatedClock();
  readonly random = seededRandom(1);
  readonly ensemble = new EmbeddedEnsemble({ clock: this.clock, random: this.random });
  private readonly clients: EmbeddedCoordinator[] = [];

  async connect(options: EmbeddedConnectOptions = {}): Promise<EmbeddedCoordinator> {
    const client = this.ensemble.connect({ sessionTimeoutMs: 2_000, ...options });
    this.clients.push(client);
    await client.ready(1_000);
    return client;
  }

  async until(condition: () => boolean): Promise<void> {
    if (!(await this.clock.runUntil(condition, PATIENCE_MS))) {
      throw new Error(`did not come true within ${PATIENCE_MS} simulated ms`);
    }
  }

  settle<T>(work: Promise<T>): Promise<T> {
    return this.clock.settleWithin(work, PATIENCE_MS);
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
  }
}
