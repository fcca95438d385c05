/**
 * Real ZooKeeper for tests: one ensemble per test file, a tree of its own for each test, and real time.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { locateZooKeeper, ZooKeeperEnsemble } from '@tributary/cli';
import { silentLogger, systemClock, systemRandom } from '@tributary/common';
import { ZooKeeperCoordinator, type ZooKeeperOptions } from '@tributary/coordination';
import type { ClusterNounsHarness } from '../contracts/cluster-nouns-contract';

const POLL_MS = 5;
const PATIENCE_MS = 20_000;
const cacheDirectory = resolve(__dirname, '../../../../.cache/zookeeper');

export interface TestEnsembleOptions {
  /** Default 1. */
  readonly nodes?: 1 | 3;
  /** Default 500; session timeouts are at least twice as long. */
  readonly tickTimeMs?: number;
  readonly syncLimit?: number;
}

export class TestEnsemble {
  private trees = 0;

  private constructor(
    readonly zooKeeper: ZooKeeperEnsemble,
    private readonly directory: string,
  ) {}

  static async start(options: TestEnsembleOptions = {}): Promise<TestEnsemble> {
    const installation = await locateZooKeeper({ cacheDirectory });
    if ('unavailable' in installation) throw new Error(installation.unavailable);
    const directory = mkdtempSync(join(tmpdir(), 'tributary-zookeeper-'));
    const { nodes = 1, ...rest } = options;
    const zooKeeper = await ZooKeeperEnsemble.start({ installation, nodes, directory, ...rest });
    return new TestEnsemble(zooKeeper, directory);
  }

  async stop(): Promise<void> {
    await this.zooKeeper.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** Every node is stopped and comes back without any data. */
  async wipe(): Promise<void> {
    await Promise.all(this.zooKeeper.nodes.map((node) => node.kill('SIGKILL')));
    for (const node of this.zooKeeper.nodes) {
      rmSync(join(this.directory, `node-${node.id}`, 'data'), { recursive: true });
      node.start();
    }
    await this.zooKeeper.waitReady();
  }

  /** A chroot that nobody else has. */
  newChroot(): string {
    this.trees += 1;
    return `/test-${process.pid}-${this.trees}`;
  }

  harness(): ZooKeeperHarness {
    return new ZooKeeperHarness(this.zooKeeper.connectString, this.newChroot());
  }
}

export type ConnectOverrides = Partial<ZooKeeperOptions> & {
  /** Instead of the ensemble's own addresses, e.g. a proxy's. */
  readonly servers?: string;
};

export class ZooKeeperHarness implements ClusterNounsHarness {
  readonly clock = systemClock;
  private readonly clients: ZooKeeperCoordinator[] = [];

  constructor(
    private readonly servers: string,
    readonly chroot: string,
  ) {}

  async connect(overrides: ConnectOverrides = {}): Promise<ZooKeeperCoordinator> {
    const client = this.open(overrides);
    await client.ready(10_000);
    return client;
  }

  /** Without waiting for the connection. */
  open({ servers, ...overrides }: ConnectOverrides = {}): ZooKeeperCoordinator {
    const client = ZooKeeperCoordinator.connect({
      connectString: (servers ?? this.servers) + this.chroot,
      sessionTimeoutMs: 4_000,
      clock: systemClock,
      random: systemRandom,
      logger: silentLogger,
      ...overrides,
    });
    this.clients.push(client);
    return client;
  }

  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    const deadline = performance.now() + PATIENCE_MS;
    while (!(await condition())) {
      if (performance.now() > deadline) throw new Error(`not so within ${PATIENCE_MS} ms`);
      await pause(POLL_MS);
    }
  }

  settle<T>(work: Promise<T>): Promise<T> {
    return work;
  }

  async close(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.close()));
  }
}
