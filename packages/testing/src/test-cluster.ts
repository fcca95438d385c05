/**
 * A real cluster in memory for the tests of applications: brokers, replication, groups, gRPC on loopback, and a
 * coordinator in the same process. Nothing to install, nothing left behind after `close`.
 *
 * ```ts
 * const cluster = await startTestCluster({ brokers: 3 });
 * const client = cluster.client();
 * await client.admin().createTopic({ topic: 'orders', partitions: 3 });
 * await cluster.kill(1); // what does my application do?
 * await cluster.close();
 * ```
 */
import { createClient, type Client, type ClientOptions } from '@tributary/client';
import { silentLogger, sleep, systemClock, systemRandom, TributaryError } from '@tributary/common';
import type { Logger } from '@tributary/common';
import { NodeDisk } from '@tributary/log';
import { GrpcTransport } from '@tributary/protocol';
import { EmbeddedCluster } from '@tributary/server';

export interface TestClusterOptions {
  /** Default 3, at most 9. */
  readonly brokers?: number;
  /** Default: silent. */
  readonly logger?: Logger;
  /** How long `startTestCluster` and `start` wait until the brokers are ready. Default 10 000. */
  readonly readyTimeoutMs?: number;
  /** How long after the death of the controller another broker takes over. Default 10 000. */
  readonly sessionTimeoutMs?: number;
}

export interface TestCluster {
  /** `host:port` of every broker, also of those that are down. */
  readonly brokers: string[];
  /** A client of this cluster; closed by `close`. */
  client(options?: TestClientOptions): Client;
  /** As a crash of that broker: no goodbye to anybody. */
  kill(brokerId: number): Promise<void>;
  /** Starts it again on its data; resolves when it is ready. */
  start(brokerId: number): Promise<void>;
  close(): Promise<void>;
}

export type TestClientOptions = Omit<ClientOptions, 'brokers' | 'zookeeper'>;

const MAX_BROKERS = 9;
const READY_TIMEOUT_MS = 10_000;
const READY_POLL_MS = 10;

/** Brokers have the ids 1, 2, 3 ... */
export async function startTestCluster(options: TestClusterOptions = {}): Promise<TestCluster> {
  const { brokers: count = 3, logger = silentLogger, readyTimeoutMs = READY_TIMEOUT_MS } = options;
  if (!(Number.isInteger(count) && count >= 1 && count <= MAX_BROKERS)) {
    throw new TributaryError(
      'INVALID_ARGUMENT',
      `${count} brokers are not from 1 to ${MAX_BROKERS}`,
    );
  }
  const embedded = await EmbeddedCluster.start({
    brokers: Array.from({ length: count }, () => ({ port: 0, httpPort: 0 })),
    clock: systemClock,
    random: systemRandom,
    loggerOf: () => logger,
    transportOf: () => new GrpcTransport({ logger }),
    disk: new NodeDisk(),
    ...(options.sessionTimeoutMs === undefined
      ? {}
      : { sessionTimeoutMs: options.sessionTimeoutMs }),
  });
  try {
    await whenReady(embedded, readyTimeoutMs);
  } catch (error) {
    await embedded.close();
    throw error;
  }
  return new RunningTestCluster(embedded, readyTimeoutMs);
}

class RunningTestCluster implements TestCluster {
  private readonly clients: Client[] = [];

  constructor(
    private readonly embedded: EmbeddedCluster,
    private readonly readyTimeoutMs: number,
  ) {}

  get brokers(): string[] {
    return this.embedded.brokers.map(({ host, port }) => `${host}:${port}`);
  }

  client(options: TestClientOptions = {}): Client {
    const client = createClient({ ...options, brokers: this.brokers });
    this.clients.push(client);
    return client;
  }

  kill(brokerId: number): Promise<void> {
    return this.embedded.kill(brokerId);
  }

  async start(brokerId: number): Promise<void> {
    await this.embedded.start(brokerId);
    await whenReady(this.embedded, this.readyTimeoutMs);
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close({ timeoutMs: 2000 })));
    await this.embedded.close();
  }
}

async function whenReady(embedded: EmbeddedCluster, timeoutMs: number): Promise<void> {
  const until = systemClock.now() + timeoutMs;
  while (!embedded.ready) {
    if (systemClock.now() > until) {
      throw new TributaryError('TIMEOUT', `the brokers were not ready within ${timeoutMs} ms`);
    }
    await sleep(systemClock, READY_POLL_MS);
  }
}
