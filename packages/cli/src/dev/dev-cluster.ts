/**
 * A whole cluster on this machine: ZooKeeper and brokers as processes of their own, or an embedded one. Used by
 * `trib dev`, the integration tests and the chaos runner.
 *
 * Invariant: what it started is gone after `stop`, and when this process ends, however it ends.
 */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { cancelled, TributaryError } from '@tributary/common';
import type { ClusterBroker } from './broker-process';
import { MAX_BROKERS, type DevClusterOptions } from './cluster-options';
import { choosePorts, embeddedCluster, processCluster, type ClusterParts } from './cluster-parts';
import type { ZooKeeperEnsemble, ZooKeeperNode } from './zookeeper';

export type { BrokerState, ClusterBroker } from './broker-process';
export type { DevClusterOptions } from './cluster-options';

const HEALTHY_TIMEOUT_MS = 60_000;
const HEALTH_POLL_MS = 50;
/** Brokers stop within this time or are killed; with ZooKeeper's time it stays below 5 s. */
const BROKER_STOP_MS = 3_500;
const ZOOKEEPER_STOP_MS = 1_000;

export class DevCluster {
  private stopping: Promise<void> | undefined;

  private constructor(
    readonly directory: string,
    private readonly parts: ClusterParts,
    private readonly release: () => void,
  ) {}

  /**
   * Resolves when every broker is ready. On failure nothing is left running, and the error says who failed why;
   * the logs are kept.
   */
  static async start(options: DevClusterOptions = {}): Promise<DevCluster> {
    const count = options.brokers ?? 3;
    if (!(count >= 1 && count <= MAX_BROKERS)) {
      throw new TributaryError(
        'INVALID_ARGUMENT',
        `${count} brokers are not from 1 to ${MAX_BROKERS}`,
      );
    }
    const temporary = options.directory === undefined;
    const directory = resolve(options.directory ?? mkdtempSync(join(tmpdir(), 'tributary-dev-')));
    mkdirSync(directory, { recursive: true });
    const ports = await choosePorts(options, count);
    let failed = true;
    const release = (): void => {
      ports.reservation.release();
      if (temporary && !failed) rmSync(directory, { recursive: true, force: true });
    };
    let cluster: DevCluster | undefined;
    try {
      const parts = options.embedded
        ? embeddedCluster(options, directory, ports)
        : await processCluster(options, directory, ports);
      cluster = new DevCluster(directory, parts, release);
      for (const broker of cluster.brokers) await broker.start();
      await waitReady(cluster.brokers, options.healthyTimeoutMs, options.signal);
      failed = false;
      return cluster;
    } catch (error) {
      if (cluster) await cluster.stop();
      else release();
      throw error;
    }
  }

  get brokers(): readonly ClusterBroker[] {
    return this.parts.brokers;
  }

  get ensemble(): ZooKeeperEnsemble | undefined {
    return this.parts.ensemble;
  }

  /** Connect string; undefined in an embedded cluster. */
  get zookeeper(): string | undefined {
    return this.parts.zookeeper;
  }

  /** host:port of every broker, for `brokers:` clients. */
  get addresses(): string[] {
    return this.brokers.map((broker) => `${broker.host}:${broker.port}`);
  }

  get zookeeperNodes(): readonly ZooKeeperNode[] {
    return this.ensemble?.nodes ?? [];
  }

  broker(id: number): ClusterBroker {
    const broker = this.brokers.find((candidate) => candidate.id === id);
    if (broker) return broker;
    const ids = this.brokers.map((candidate) => candidate.id).join(', ');
    throw new TributaryError('UNKNOWN_BROKER', `there is no broker ${id}`, {
      hint: `The brokers are ${ids}.`,
    });
  }

  /** SIGKILL and SIGTERM resolve when the broker has ended. */
  kill(id: number, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    return this.broker(id).kill(signal);
  }

  pause(id: number): Promise<void> {
    return this.kill(id, 'SIGSTOP');
  }

  resume(id: number): Promise<void> {
    return this.kill(id, 'SIGCONT');
  }

  /** Starts a broker again on its old data and ports; resolves when it is ready. */
  async startBroker(id: number, timeoutMs?: number): Promise<void> {
    const broker = this.broker(id);
    await broker.start();
    await waitReady([broker], timeoutMs);
  }

  /** Resolves when every broker that was not killed or paused is ready. */
  waitHealthy(timeoutMs?: number): Promise<void> {
    return waitReady(this.brokers, timeoutMs);
  }

  /** Brokers first, in order, then ZooKeeper; by force where it takes too long. Idempotent. */
  stop(): Promise<void> {
    this.stopping ??= this.stopAll();
    return this.stopping;
  }

  /** At once and without goodbye. */
  async killAll(): Promise<void> {
    await Promise.all(this.brokers.map((broker) => broker.kill('SIGKILL')));
    await this.ensemble?.stop(0);
  }

  private async stopAll(): Promise<void> {
    try {
      await Promise.all(this.brokers.map((broker) => broker.stop(BROKER_STOP_MS)));
      await this.ensemble?.stop(ZOOKEEPER_STOP_MS);
    } finally {
      this.release();
    }
  }
}

async function waitReady(
  brokers: readonly ClusterBroker[],
  timeoutMs = HEALTHY_TIMEOUT_MS,
  signal?: AbortSignal,
): Promise<void> {
  const until = performance.now() + timeoutMs;
  for (;;) {
    if (signal?.aborted) throw cancelled(signal);
    const states = await Promise.all(brokers.map((broker) => broker.state()));
    const failed = brokers.find((broker) => broker.failure);
    if (failed?.failure) throw failed.failure;
    const waiting = brokers.filter((_broker, index) => states[index] === 'starting');
    if (waiting.length === 0) return;
    if (performance.now() > until) {
      const ids = waiting.map((broker) => broker.id).join(', ');
      const logs = waiting.map((broker) => broker.logFile).join(' ');
      throw new TributaryError('TIMEOUT', `not ready within ${timeoutMs} ms: broker ${ids}`, {
        hint: `Look at ${logs}`,
      });
    }
    await pause(HEALTH_POLL_MS);
  }
}
