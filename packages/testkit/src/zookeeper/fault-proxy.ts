/**
 * A TCP proxy between a client and one ZooKeeper node, whose behaviour changes while it runs: the network faults of
 * the coordination tests, without root.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/**
 * pass; drop: both directions vanish, connections stay up (a black hole); swallow: requests arrive, replies are lost;
 * mute: accepts and never answers; refuse: closes what comes.
 */
export type ProxyMode = 'pass' | 'drop' | 'swallow' | 'mute' | 'refuse';

interface Pair {
  readonly client: Socket;
  readonly server: Socket | undefined;
}

export class FaultProxy {
  mode: ProxyMode = 'pass';
  /** Of client connections, refused ones included. */
  accepted = 0;
  /** Sees, and may replace, each chunk on its way to the client. */
  onReply: ((chunk: Buffer) => Buffer) | undefined;
  /** Sees each chunk on its way to the server, before it is passed on. */
  onRequest: ((chunk: Buffer) => void) | undefined;
  private cutAfterBytes: number | undefined;
  private readonly pairs = new Set<Pair>();

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {}

  static async start(targetPort: number): Promise<FaultProxy> {
    const server = createServer();
    const proxy = new FaultProxy(server, targetPort);
    server.on('connection', (socket) => proxy.accept(socket));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get address(): string {
    return `127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** Breaks all connections. */
  cut(): void {
    for (const { client } of this.pairs) client.destroy();
  }

  /** The next chunk for a client ends after so many bytes, and the connection with it. */
  cutNextReplyAfter(bytes: number): void {
    this.cutAfterBytes = bytes;
  }

  async stop(): Promise<void> {
    this.cut();
    await new Promise<void>((resolve) => this.server.close(() => resolve()));
  }

  private accept(client: Socket): void {
    this.accepted += 1;
    client.on('error', () => undefined); // 'close' follows
    if (this.mode === 'refuse') return void client.destroy();
    if (this.mode === 'mute') return this.hold(client);
    const server = connect(this.targetPort, '127.0.0.1');
    const pair = { client, server };
    this.pairs.add(pair);
    server.on('error', () => undefined);
    server.on('close', () => client.destroy());
    client.on('close', () => {
      this.pairs.delete(pair);
      server.destroy();
    });
    client.on('data', (chunk: Buffer) => {
      if (this.mode === 'drop') return;
      this.onRequest?.(chunk);
      server.write(chunk);
    });
    server.on('data', (chunk: Buffer) => this.reply(client, chunk));
  }

  private hold(client: Socket): void {
    const pair = { client, server: undefined };
    this.pairs.add(pair);
    client.on('close', () => this.pairs.delete(pair));
    client.resume();
  }

  private reply(client: Socket, chunk: Buffer): void {
    if (this.mode === 'drop' || this.mode === 'swallow') return;
    const bytes = this.onReply?.(chunk) ?? chunk;
    if (this.cutAfterBytes === undefined) return void client.write(bytes);
    const part = bytes.subarray(0, this.cutAfterBytes);
    this.cutAfterBytes = undefined;
    client.write(part, () => client.destroy());
  }
}
