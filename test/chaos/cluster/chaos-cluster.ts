/**
 * The cluster of one chaos run and all that can be done to it. Invariant: `heal` undoes every fault that is still on,
 * and after `close` nothing of it is left but, where wanted, its directory.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TributaryError } from '@tributary/common';
import { DevCluster, type BrokerPlace } from '@tributary/testkit';
import { FAULTS_FILE, noFaults, writeFaults, type BrokerFaults } from './faults';
import { NamespaceNetwork } from './namespaces';
import { between, type Link, type Network, type NetworkKind } from './network';
import { ProxyNetwork } from './proxies';
import { SmallDisk } from './small-disk';

/** Parts that cost something, so that a cluster has them only where a scenario needs them. */
export type Need = 'network' | 'small-disk' | 'faulty-brokers' | 'fourth-broker';

export interface ChaosClusterOptions {
  readonly needs: readonly Need[];
  readonly zookeeperNodes: 1 | 3;
  readonly sessionTimeoutMs: number;
  /** Quick, so that compaction meets the faults. */
  readonly logMaintenanceMs: number;
  /** Where a scenario needs one. Default: namespaces where they are possible. */
  readonly network?: NetworkKind;
  readonly onEvent?: (line: string) => void;
}

/** The one whose disk can be filled where a mount is allowed. */
export const SMALL_DISK_BROKER = 2;

const BROKERS: readonly number[] = [1, 2, 3];
const FOURTH_BROKER = 4;
const STARTED_WITHIN_MS = 90_000;
const ZOOKEEPER_STARTS_WITHIN_MS = 30_000;

export class ChaosCluster {
  readonly brokerIds: readonly number[];
  private readonly faults = new Map<number, BrokerFaults>();
  private network: Network | undefined;
  private smallDisk: SmallDisk | undefined;
  private dev!: DevCluster;

  private constructor(
    readonly directory: string,
    readonly options: ChaosClusterOptions,
  ) {
    const isWide = options.needs.includes('fourth-broker');
    this.brokerIds = isWide ? [...BROKERS, FOURTH_BROKER] : BROKERS;
  }

  static async start(options: ChaosClusterOptions): Promise<ChaosCluster> {
    const directory = mkdtempSync(join(tmpdir(), 'tributary-chaos-'));
    const cluster = new ChaosCluster(directory, options);
    try {
      await cluster.build();
      return cluster;
    } catch (error) {
      await cluster.close({ keep: true });
      throw error;
    }
  }

  get addresses(): string[] {
    return this.dev.addresses;
  }

  get zookeeper(): string {
    return this.dev.zookeeper ?? '';
  }

  get networkKind(): string {
    return this.network?.kind ?? 'loopback';
  }

  /** Of a broker that can be full. */
  get smallDiskBroker(): number {
    return SMALL_DISK_BROKER;
  }

  kill(id: number, signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    return this.dev.kill(id, signal);
  }

  startBroker(id: number): Promise<void> {
    return this.dev.startBroker(id, STARTED_WITHIN_MS);
  }

  pause(id: number): Promise<void> {
    return this.dev.pause(id);
  }

  resume(id: number): Promise<void> {
    return this.dev.resume(id);
  }

  async cut(links: readonly Link[]): Promise<void> {
    await this.network?.cut(links);
  }

  async healNetwork(): Promise<void> {
    await this.network?.heal();
  }

  /** Links of a broker with all the others. */
  peersOf(id: number): Link[] {
    return this.brokerIds.filter((other) => other !== id).flatMap((other) => between(id, other));
  }

  /** Takes effect at once, or at the broker's next start. */
  inject(id: number, faults: Partial<BrokerFaults>): void {
    const all = { ...(this.faults.get(id) ?? noFaults), ...faults };
    this.faults.set(id, all);
    writeFaults(this.faultsFile(id), all);
    const { pid } = this.dev.broker(id);
    if (pid !== undefined) process.kill(pid, 'SIGUSR2');
  }

  fillDisk(): void {
    if (this.smallDisk) this.smallDisk.fill();
    else this.inject(this.smallDiskBroker, { diskFull: true });
  }

  emptyDisk(): void {
    if (this.smallDisk) this.smallDisk.empty();
    else this.inject(this.smallDiskBroker, { diskFull: false });
  }

  zookeeperNodes(): DevCluster['zookeeperNodes'] {
    return this.dev.zookeeperNodes;
  }

  /** undefined: none leads now. */
  async zookeeperLeader(): Promise<number | undefined> {
    return (await this.dev.ensemble?.leader())?.id;
  }

  async killZooKeeper(id: number): Promise<void> {
    await this.dev.zookeeperNodes.find((node) => node.id === id)?.kill('SIGKILL');
  }

  async startZooKeeper(id: number): Promise<void> {
    const node = this.dev.zookeeperNodes.find((one) => one.id === id);
    node?.start();
    await node?.waitReady(ZOOKEEPER_STARTS_WITHIN_MS);
  }

  /** Everything runs again as it should. */
  async heal(): Promise<void> {
    await this.healNetwork();
    this.emptyDiskIfAny();
    for (const id of this.faults.keys()) this.inject(id, noFaults);
    await Promise.all(this.dev.zookeeperNodes.map(({ id }) => this.startZooKeeper(id)));
    for (const broker of this.dev.brokers) await broker.kill('SIGCONT');
    for (const id of this.brokerIds) await this.startBroker(id);
  }

  /** In order: what is acknowledged is in the files afterwards. */
  stop(): Promise<void> {
    return this.dev.stop();
  }

  async close(options: { readonly keep: boolean }): Promise<void> {
    await this.dev?.stop();
    await this.network?.close();
    await this.smallDisk?.close();
    if (!options.keep) rmSync(this.directory, { recursive: true, force: true });
  }

  private async build(): Promise<void> {
    const { needs, zookeeperNodes, sessionTimeoutMs, logMaintenanceMs, onEvent } = this.options;
    if (needs.includes('network')) this.network = await this.openNetwork();
    if (needs.includes('small-disk') && SmallDisk.possible) {
      const directory = join(this.directory, `broker-${this.smallDiskBroker}`);
      this.smallDisk = await SmallDisk.mount(directory).catch(() => undefined);
    }
    const { network } = this;
    this.dev = await DevCluster.start({
      ...{
        brokers: this.brokerIds.length,
        zookeeperNodes,
        sessionTimeoutMs,
        directory: this.directory,
      },
      flags: (id, given) => [
        ...['--log-maintenance-interval-ms', String(logMaintenanceMs)],
        ...(network?.flags(id, given) ?? []),
      ],
      place: (id) => this.placeOf(id),
      ...(network?.zookeeperHost ? { zookeeperHost: network.zookeeperHost } : {}),
      ...(onEvent ? { onEvent } : {}),
    });
  }

  /** Throws UNAVAILABLE. */
  private async openNetwork(): Promise<Network> {
    const wanted = this.options.network ?? (NamespaceNetwork.possible ? 'namespaces' : 'proxies');
    if (wanted === 'namespaces') return NamespaceNetwork.open(this.brokerIds);
    if (ProxyNetwork.possible) {
      return ProxyNetwork.open(this.brokerIds, (id) => this.dev?.broker(id).pid);
    }
    throw new TributaryError('UNAVAILABLE', 'the network cannot be cut on this system', {
      hint: 'Run it on Linux, for example in a container.',
    });
  }

  private placeOf(id: number): BrokerPlace {
    const place = this.network?.place(id) ?? {};
    const { needs } = this.options;
    const obeys =
      needs.includes('faulty-brokers') || (needs.includes('small-disk') && !this.smallDisk);
    if (!obeys) return place;
    const environment = { [FAULTS_FILE]: this.faultsFile(id) };
    return { ...place, environment, script: join(__dirname, 'faulty-broker.js') };
  }

  private faultsFile(id: number): string {
    return join(this.directory, `faults-${id}.json`);
  }

  private emptyDiskIfAny(): void {
    if (this.options.needs.includes('small-disk')) this.emptyDisk();
  }
}
