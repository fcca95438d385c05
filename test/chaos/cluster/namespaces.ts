/**
 * Every broker in a network namespace of its own, all of them routed through a hub namespace whose routing rules drop
 * what is cut: silently, one way, and without touching the machine's own tables but for one link and one route.
 * Invariant: all of it is gone after `close` and when this process ends; what a killed runner left behind goes at the
 * next start.
 */
import { existsSync } from 'node:fs';
import type { BrokerPlace } from '@tributary/testkit';
import type { Host, Link, Network } from './network';
import { runCommand, runNow } from './run-command';

const IP = ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip'].find((path) => existsSync(path));
const PREFIX = /^tbx([0-9a-z]+)-/;
/** 10.NET.0.0/16; the first that no route of this machine uses. */
const FIRST_NET = 180;
const LAST_NET = 240;

export class NamespaceNetwork implements Network {
  readonly kind = 'namespaces';
  private readonly cuts = new Set<string>();
  private readonly onExit = (): void => this.spaces.forEach((space) => removeNow(space));

  private constructor(
    private readonly name: string,
    private readonly net: number,
    private readonly brokerIds: readonly number[],
  ) {}

  /** Root on Linux, with iproute2. */
  static get possible(): boolean {
    return process.platform === 'linux' && process.getuid?.() === 0 && IP !== undefined;
  }

  /** Throws UNAVAILABLE where the system does not allow it after all. */
  static async open(brokerIds: readonly number[]): Promise<NamespaceNetwork> {
    await sweep();
    const net = await freeNet();
    const network = new NamespaceNetwork(`tbx${process.pid.toString(36)}`, net, brokerIds);
    process.once('exit', network.onExit);
    try {
      await network.build();
    } catch (error) {
      await network.close();
      throw error;
    }
    return network;
  }

  get zookeeperHost(): string {
    return `10.${this.net}.0.3`;
  }

  place(brokerId: number): BrokerPlace {
    const within = ['nsenter', `--net=/run/netns/${this.name}-${brokerId}`, '--'];
    return { host: this.address(brokerId), within };
  }

  flags(): string[] {
    return [];
  }

  async cut(links: readonly Link[]): Promise<void> {
    const fresh = links.map((link) => this.rule(link)).filter((rule) => !this.cuts.has(rule));
    await this.hub(fresh.map((rule) => `rule add ${rule}`));
    for (const rule of fresh) this.cuts.add(rule);
  }

  async heal(): Promise<void> {
    await this.hub([...this.cuts].map((rule) => `rule del ${rule}`));
    this.cuts.clear();
  }

  async close(): Promise<void> {
    for (const space of this.spaces) await ip(['netns', 'del', space]).catch(() => ''); // never made
    process.off('exit', this.onExit);
  }

  private get spaces(): string[] {
    return ['hub', ...this.brokerIds].map((part) => `${this.name}-${part}`);
  }

  private address(host: Host): string {
    return host === 'zookeeper' ? this.zookeeperHost : `10.${this.net}.${host}.2`;
  }

  private rule({ from, to }: Link): string {
    return `from ${this.address(from)} to ${this.address(to)} blackhole`;
  }

  private async hub(commands: readonly string[]): Promise<void> {
    if (commands.length > 0) await batch(commands, `${this.name}-hub`);
  }

  private async build(): Promise<void> {
    const { name, net, brokerIds } = this;
    const hub = `${name}-hub`;
    await batch(this.spaces.map((space) => `netns add ${space}`));
    // The runner's link: clients from .2, ZooKeeper at .3.
    await batch([
      `link add ${name} type veth peer name h0`,
      `link set h0 netns ${hub}`,
      `addr add 10.${net}.0.2/24 dev ${name}`,
      `addr add 10.${net}.0.3/24 dev ${name}`,
      `link set ${name} up`,
    ]);
    await batch([`addr add 10.${net}.0.1/24 dev h0`, 'link set h0 up', 'link set lo up'], hub);
    await ip(['route', 'add', `10.${net}.0.0/16`, 'via', `10.${net}.0.1`, 'src', `10.${net}.0.2`]);
    await runCommand('nsenter', [
      ...[`--net=/run/netns/${hub}`, '--', 'sh', '-c'],
      'echo 1 > /proc/sys/net/ipv4/ip_forward',
    ]);
    for (const id of brokerIds) {
      const space = `${name}-${id}`;
      await batch(
        [`link add h${id} type veth peer name eth0 netns ${space}`, `addr add 10.${net}.${id}.1/24 dev h${id}`, `link set h${id} up`], // prettier-ignore
        hub,
      );
      await batch(
        [`addr add 10.${net}.${id}.2/24 dev eth0`, 'link set eth0 up', 'link set lo up', `route add default via 10.${net}.${id}.1`], // prettier-ignore
        space,
      );
    }
  }
}

function ip(args: readonly string[], input?: string): Promise<string> {
  return runCommand(IP ?? 'ip', args, input);
}

async function batch(commands: readonly string[], space?: string): Promise<void> {
  const within = space === undefined ? [] : ['-n', space];
  await ip([...within, '-batch', '-'], `${commands.join('\n')}\n`);
}

function removeNow(space: string): void {
  runNow(IP ?? 'ip', ['netns', 'del', space]);
}

/** Removes the namespaces of runners that are gone. */
async function sweep(): Promise<void> {
  for (const line of (await ip(['netns', 'list'])).split('\n')) {
    const space = line.split(' ')[0]!;
    const owner = PREFIX.exec(space)?.[1];
    if (owner !== undefined && !existsSync(`/proc/${parseInt(owner, 36)}`)) {
      await ip(['netns', 'del', space]).catch(() => ''); // another runner was faster
    }
  }
}

async function freeNet(): Promise<number> {
  const routes = await ip(['route', 'show', 'table', 'all']);
  for (let net = FIRST_NET; net < LAST_NET; net += 1) {
    if (!routes.includes(`10.${net}.`)) return net;
  }
  return LAST_NET;
}
