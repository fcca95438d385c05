/**
 * A relay in front of one listener that holds back what is cut, each way by itself, and lets it go when that is healed:
 * as packets do that are lost and sent again. Made by `ProxyNetwork`.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import type { Host, Link } from './network';

const loopback = '127.0.0.1';

interface Pair {
  readonly remotePort: number;
  from: Host | undefined;
  readonly client: Socket;
  readonly server: Socket;
}

export interface LinkProxyOptions {
  /** Who stands behind it. */
  readonly host: Host;
  port(): number;
  /** Who has connected, from this port of his. */
  caller(remotePort: number): Host | undefined;
  isCut(link: Link): boolean;
}

export class LinkProxy {
  private readonly pairs = new Set<Pair>();
  private readonly server: Server;

  private constructor(private readonly options: LinkProxyOptions) {
    // Nothing is read of a connection before it is known whose it is.
    this.server = createServer({ pauseOnConnect: true }, (socket) => this.accept(socket));
  }

  static async start(options: LinkProxyOptions): Promise<LinkProxy> {
    const proxy = new LinkProxy(options);
    await new Promise<void>((resolve) => proxy.server.listen(0, loopback, resolve));
    return proxy;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** The cuts have changed. */
  refresh(): void {
    for (const pair of this.pairs) this.direct(pair);
  }

  async stop(): Promise<void> {
    for (const { client } of this.pairs) client.destroy();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private accept(client: Socket): void {
    client.on('error', () => undefined); // 'close' follows
    const server = connect(this.options.port(), loopback);
    server.on('error', () => undefined);
    const pair: Pair = { remotePort: client.remotePort ?? 0, from: undefined, client, server };
    this.pairs.add(pair);
    server.on('close', () => client.destroy());
    client.on('close', () => {
      this.pairs.delete(pair);
      server.destroy();
    });
    relay(client, server);
    relay(server, client);
    this.direct(pair);
  }

  private direct(pair: Pair): void {
    const { host, isCut, caller } = this.options;
    // At the start of the cluster nobody is known yet.
    const from = (pair.from ??= caller(pair.remotePort));
    const { client, server } = pair;
    hold(client, from !== undefined && isCut({ from, to: host }));
    hold(server, from !== undefined && isCut({ from: host, to: from }));
  }
}

function relay(source: Socket, target: Socket): void {
  source.on('data', (chunk: Buffer) => void target.write(chunk));
}

function hold(source: Socket, held: boolean): void {
  if (held) source.pause();
  else source.resume();
}
