/**
 * Real ZooKeeper as child processes on loopback, one node or three: for `trib dev` and the tests. Unless told
 * otherwise the servers die with this process, also when it is killed (Linux).
 */
import { basename, resolve } from 'node:path';
import type { DockerInstallation, ZooKeeperInstallation } from './installation';
import { ZooKeeperNode } from './node';
import { freePorts, loopback } from './ports';
import { runCommand } from './run-command';

export interface EnsembleOptions {
  readonly installation: ZooKeeperInstallation;
  readonly nodes: 1 | 3;
  /** Holds configuration, data and log of each node; kept by `stop`. */
  readonly directory: string;
  /** Address to bind, of this machine. Default 127.0.0.1; not with Docker. */
  readonly host?: string;
  /** One per node. Default: free ones. */
  readonly clientPorts?: readonly number[];
  /** Session timeouts are held within 2 and 20 of these. Default 500. */
  readonly tickTimeMs?: number;
  /** Ticks after which a follower that hangs is left behind. Default 4. */
  readonly syncLimit?: number;
  readonly maxHeapMb?: number;
  /** Default true. False: the servers survive this process. */
  readonly dieWithParent?: boolean;
  /** Default 30 000. */
  readonly readyTimeoutMs?: number;
}

export class ZooKeeperEnsemble {
  private readonly onExit = (): void => this.nodes.forEach((node) => node.killNow());

  private constructor(
    readonly nodes: readonly ZooKeeperNode[],
    private readonly options: EnsembleOptions,
  ) {}

  /** Resolves when every node serves. On failure nothing is left running. */
  static async start(options: EnsembleOptions): Promise<ZooKeeperEnsemble> {
    const count = options.nodes;
    const ports = await freePorts(count * 3);
    const clientPorts = options.clientPorts ?? ports.slice(0, count);
    const peers = ports.slice(count);
    const nodes = clientPorts.map((port, index) => makeNode(options, index + 1, port, peers));
    if (options.installation.kind === 'docker') await makeNetwork(options, options.installation);
    const ensemble = new ZooKeeperEnsemble(nodes, options);
    if (options.dieWithParent ?? true) process.once('exit', ensemble.onExit);
    try {
      for (const node of nodes) node.start();
      await ensemble.waitReady();
    } catch (error) {
      await ensemble.stop();
      throw error;
    }
    return ensemble;
  }

  get connectString(): string {
    return this.nodes.map((node) => `${hostOf(this.options)}:${node.port}`).join(',');
  }

  async waitReady(): Promise<void> {
    const timeoutMs = this.options.readyTimeoutMs ?? 30_000;
    await Promise.all(this.nodes.map((node) => node.waitReady(timeoutMs)));
  }

  /** The node that leads (or stands alone); undefined while there is none. */
  async leader(): Promise<ZooKeeperNode | undefined> {
    for (const node of this.nodes) {
      const mode = node.running ? await node.mode() : undefined;
      if (mode === 'leader' || mode === 'standalone') return node;
    }
    return undefined;
  }

  async stop(graceMs?: number): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.stop(graceMs)));
    process.off('exit', this.onExit);
    const { installation } = this.options;
    if (installation.kind === 'docker') {
      await docker(installation, ['network', 'rm', networkName(this.options)]);
    }
  }
}

function makeNode(
  options: EnsembleOptions,
  id: number,
  port: number,
  peerPorts: readonly number[],
): ZooKeeperNode {
  const directory = resolve(options.directory, `node-${id}`);
  const network = networkName(options);
  return new ZooKeeperNode({
    id,
    host: hostOf(options),
    port,
    directory,
    installation: options.installation,
    configuration: configuration(options, id, port, peerPorts),
    dieWithParent: options.dieWithParent ?? true,
    maxHeapMb: options.maxHeapMb ?? 64,
    containerName: `${network}-${id}`,
    network,
  });
}

function configuration(
  options: EnsembleOptions,
  id: number,
  port: number,
  peerPorts: readonly number[],
): string {
  const inside = options.installation.kind === 'docker';
  const data = inside ? '/tributary/data' : resolve(options.directory, `node-${id}`, 'data');
  const lines = [
    `tickTime=${options.tickTimeMs ?? 500}`,
    `dataDir=${data}`,
    `clientPort=${port}`,
    ...(inside ? [] : [`clientPortAddress=${hostOf(options)}`]),
    'admin.enableServer=false',
    '4lw.commands.whitelist=ruok,srvr,mntr,cons,dump,wchs',
    'maxClientCnxns=0',
    'autopurge.snapRetainCount=3',
    'autopurge.purgeInterval=1',
    'preAllocSize=1024',
  ];
  if (options.nodes > 1) {
    lines.push('initLimit=20', `syncLimit=${options.syncLimit ?? 4}`, 'standaloneEnabled=false');
    for (let server = 1; server <= options.nodes; server += 1) {
      const host = inside ? `${networkName(options)}-${server}` : loopback;
      const [peer, election] = peerPorts.slice((server - 1) * 2);
      lines.push(`server.${server}=${host}:${peer}:${election}`);
    }
  }
  return `${lines.join('\n')}\n`;
}

function hostOf({ host, installation }: EnsembleOptions): string {
  return installation.kind === 'java' ? (host ?? loopback) : loopback;
}

function networkName(options: EnsembleOptions): string {
  if (options.installation.kind === 'java') return 'tributary-zookeeper';
  return `tributary-${basename(resolve(options.directory)).replace(/[^a-zA-Z0-9]/g, '-')}-${process.pid}`;
}

async function makeNetwork(
  options: EnsembleOptions,
  installation: DockerInstallation,
): Promise<void> {
  await docker(installation, ['network', 'create', networkName(options)]);
}

async function docker(installation: DockerInstallation, parameters: string[]): Promise<void> {
  await runCommand(installation.docker, parameters, { timeoutMs: 10_000 });
}
