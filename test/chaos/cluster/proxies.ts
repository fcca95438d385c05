/**
 * A network without root: brokers reach each other, and ZooKeeper, through proxies of the runner, which hold back what
 * is cut; clients use another listener. What differs from namespaces: a connection that is opened while the link
 * is cut is accepted, and silent. Linux: only there it can be told which broker a connection comes from.
 */
import { PortReservation, type BrokerPlace } from '@tributary/testkit';
import { LinkProxy } from './link-proxy';
import type { Link, Network } from './network';
import { socketOwner } from './socket-owner';

const MAX_ZOOKEEPER_NODES = 3;

export class ProxyNetwork implements Network {
  readonly kind = 'proxies';
  readonly zookeeperHost = undefined;
  private readonly cuts = new Set<string>();
  private readonly proxies: LinkProxy[] = [];
  /** By broker: what its peers connect to, and what it takes for ZooKeeper's nodes. */
  private readonly inside = new Map<number, LinkProxy>();
  private readonly zookeeper = new Map<number, LinkProxy[]>();
  private readonly insidePort = new Map<number, number>();
  private zookeeperPorts: number[] = [];

  private constructor(
    private readonly ports: PortReservation,
    private readonly pidOf: (brokerId: number) => number | undefined,
  ) {}

  static get possible(): boolean {
    return process.platform === 'linux';
  }

  static async open(
    brokerIds: readonly number[],
    pidOf: (brokerId: number) => number | undefined,
  ): Promise<ProxyNetwork> {
    const ports = await PortReservation.take(brokerIds.length);
    const network = new ProxyNetwork(ports, pidOf);
    for (const [index, id] of brokerIds.entries()) {
      await network.addBroker(id, ports.ports[index]!, brokerIds);
    }
    return network;
  }

  place(): BrokerPlace {
    return {};
  }

  flags(brokerId: number, given: { port: number; zookeeper: string }): string[] {
    this.zookeeperPorts = given.zookeeper
      .split(',')
      .map((address) => Number(address.split(':')[1]));
    const servers = this.zookeeperPorts.map((_, node) => this.zookeeper.get(brokerId)![node]!.port);
    const outside = `outside://127.0.0.1:${given.port}`;
    const bound = this.insidePort.get(brokerId)!;
    return [
      ...['--zookeeper', servers.map((port) => `127.0.0.1:${port}`).join(',')],
      ...['--listeners', `${outside},inside://127.0.0.1:${bound}`],
      '--advertised-listeners',
      `${outside},inside://127.0.0.1:${this.inside.get(brokerId)!.port}`,
    ];
  }

  async cut(links: readonly Link[]): Promise<void> {
    for (const link of links) this.cuts.add(nameOf(link));
    this.refresh();
  }

  async heal(): Promise<void> {
    this.cuts.clear();
    this.refresh();
  }

  async close(): Promise<void> {
    await Promise.all(this.proxies.map((proxy) => proxy.stop()));
    this.ports.release();
  }

  private async addBroker(id: number, port: number, all: readonly number[]): Promise<void> {
    const isCut = (link: Link): boolean => this.cuts.has(nameOf(link));
    this.insidePort.set(id, port);
    const caller = (remote: number): number | undefined => socketOwner(remote, this.pids(all));
    this.inside.set(id, await this.start({ host: id, port: () => port, caller, isCut }));
    const nodes: LinkProxy[] = [];
    for (let node = 0; node < MAX_ZOOKEEPER_NODES; node += 1) {
      const target = (): number => this.zookeeperPorts[node] ?? 0;
      nodes.push(await this.start({ host: 'zookeeper', port: target, caller: () => id, isCut }));
    }
    this.zookeeper.set(id, nodes);
  }

  private async start(options: Parameters<typeof LinkProxy.start>[0]): Promise<LinkProxy> {
    const proxy = await LinkProxy.start(options);
    this.proxies.push(proxy);
    return proxy;
  }

  private pids(all: readonly number[]): Map<number, number> {
    const pids = new Map<number, number>();
    for (const id of all) {
      const pid = this.pidOf(id);
      if (pid !== undefined) pids.set(id, pid);
    }
    return pids;
  }

  private refresh(): void {
    for (const proxy of this.proxies) proxy.refresh();
  }
}

function nameOf({ from, to }: Link): string {
  return `${from}->${to}`;
}
