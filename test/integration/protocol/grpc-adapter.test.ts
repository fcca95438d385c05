/** What only the gRPC adapter has: windows, limits, keepalive, separate sockets, standard services. */
import { once } from 'node:events';
import http2 from 'node:http2';
import net from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { TributaryError, silentLogger } from '@tributary/common';
import {
  bidiHandler,
  defaultGrpcLimits,
  GrpcTransport,
  methods,
  unaryHandler,
  type GrpcLimits,
  type Handler,
} from '@tributary/protocol';
import { recordStream } from '@tributary/testkit';

const { produce, metadata } = methods.broker;
const transports: GrpcTransport[] = [];
const sockets = new Set<{ destroy(): void }>();

function transport(limits: Partial<GrpcLimits> = {}): GrpcTransport {
  const made = new GrpcTransport({ logger: silentLogger, limits });
  transports.push(made);
  return made;
}

async function until(condition: () => boolean): Promise<void> {
  for (let waited = 0; !condition(); waited += 5) {
    if (waited > 20_000) throw new Error('not within 20 s');
    await wait(5);
  }
}

const listen = (handlers: Handler[], limits?: Partial<GrpcLimits>) =>
  transport(limits).listen({ listener: 'inside', host: '127.0.0.1', port: 0, handlers });

/** A TCP server on a free port; `onSocket` gets each connection. */
async function tcpServer(onSocket: (socket: net.Socket) => void): Promise<number> {
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined);
    onSocket(socket);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  sockets.add({ destroy: () => server.close() });
  return (server.address() as net.AddressInfo).port;
}

afterEach(async () => {
  await Promise.all(transports.splice(0).map((one) => one.close()));
  for (const socket of sockets) socket.destroy();
  sockets.clear();
});

describe('HTTP/2 windows', () => {
  it('of the listener are 8 MiB, for each stream and for the connection', async () => {
    const { address } = await listen([]);
    const session = http2.connect(`http://127.0.0.1:${address.port}`);
    sockets.add(session);
    await once(session, 'remoteSettings');
    await until(() => session.state.remoteWindowSize === defaultGrpcLimits.windowBytes);
    expect(session.remoteSettings.initialWindowSize).toBe(8_388_608);
  });

  it('of a connection are 8 MiB too', async () => {
    const server = http2.createServer();
    const session = once(server, 'session') as Promise<[http2.ServerHttp2Session]>;
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    sockets.add({ destroy: () => server.close() });
    const { port } = server.address() as net.AddressInfo;
    recordStream(transport().connect({ host: '127.0.0.1', port }, 'client').open(produce));
    const [dialed] = await session;
    sockets.add(dialed);
    await until(() => dialed.state.remoteWindowSize === defaultGrpcLimits.windowBytes);
    expect(dialed.remoteSettings.initialWindowSize).toBe(8_388_608);
  });
});

describe('limits', () => {
  it('a message over maxMessageBytes costs its stream, with INVALID_ARGUMENT', async () => {
    const limits = { maxMessageBytes: 100_000 };
    const { address } = await listen(
      [bidiHandler(produce, (stream) => recordStream(stream))],
      limits,
    );
    const side = recordStream(transport().connect(address, 'client').open(produce));
    side.stream.send({ request: { partitions: [{ batch: Buffer.alloc(100_000) }] } });
    await until(() => side.closes.length === 1);
    expect(side.closes[0]?.code).toBe('INVALID_ARGUMENT');
  });

  it('a sender that ignores back-pressure is cut with OVERLOADED at queueLimitBytes', async () => {
    const { address } = await listen([
      bidiHandler(produce, (stream) => recordStream(stream).stream.pause()),
    ]);
    const limits = { writeLimitBytes: 50_000, queueLimitBytes: 20_000_000, windowBytes: 100_000 };
    const side = recordStream(transport(limits).connect(address, 'client').open(produce));
    const message = { request: { partitions: [{ batch: Buffer.alloc(1_000_000) }] } };
    for (let sent = 0; !side.stream.closed && sent < 100; sent += 1) side.stream.send(message);
    await until(() => side.closes.length === 1);
    expect(side.closes[0]?.code).toBe('OVERLOADED');
  });

  it('a cut does not wait for ever for a dialer that does not read', async () => {
    const limits = { windowBytes: 100_000, cutFlushMs: 100 };
    let signal: AbortSignal | undefined;
    const { address } = await listen(
      [
        bidiHandler(produce, (stream, context) => {
          signal = context.signal;
          const { stream: same } = recordStream(stream);
          const large = { response: { results: [{ topic: 'x'.repeat(1_000_000) }] } };
          for (let sent = 0; sent < 20; sent += 1) same.send(large);
          same.cut(new TributaryError('OVERLOADED', 'too slow'));
        }),
      ],
      limits,
    );
    const side = recordStream(transport(limits).connect(address, 'client').open(produce));
    side.stream.pause();
    await until(() => signal?.aborted === true && side.closes.length === 1);
  });
});

describe('connections', () => {
  it('have a socket each, whatever the purpose, and streams of one share it', async () => {
    const peers: string[] = [];
    const { address } = await listen([
      unaryHandler(metadata, async (_request, { peer }) => {
        peers.push(peer);
        return {};
      }),
    ]);
    const dialer = transport();
    const control = dialer.connect(address, 'control');
    const others = [dialer.connect(address, 'replication'), dialer.connect(address, 'control')];
    for (const connection of [control, ...others, control]) {
      await connection.call(metadata, {}, { timeoutMs: 5_000 });
    }
    expect(new Set(peers).size).toBe(3);
    expect(peers[3]).toBe(peers[0]);
  });

  it('give up a dial that nobody answers, and dial anew for the next stream', async () => {
    const real = await listen([
      bidiHandler(produce, (stream) => void recordStream(stream).stream.send({ credit: {} })),
    ]);
    let silent = true;
    const port = await tcpServer((socket) => {
      if (silent) return;
      const through = net.connect(real.address.port, '127.0.0.1');
      sockets.add(through);
      socket.pipe(through).pipe(socket);
    });
    const dialTimeoutMs = { ...defaultGrpcLimits.dialTimeoutMs, control: 200 };
    const connection = transport({ dialTimeoutMs }).connect({ host: '127.0.0.1', port }, 'control');
    const first = recordStream(connection.open(produce));
    await until(() => first.closes.length === 1);
    expect(first.closes[0]).toMatchObject({ code: 'UNAVAILABLE', details: { refused: false } });
    silent = false;
    const second = recordStream(connection.open(produce));
    await until(() => second.messages.length === 1);
  });

  it('a call that gets no connection was not sent: it ends soon, and the next one dials anew', async () => {
    const answer = unaryHandler(metadata, async () => ({ clusterId: 'here' }));
    const real = await listen([answer]);
    let silent = true;
    const port = await tcpServer((socket) => {
      if (silent) return;
      const through = net.connect(real.address.port, '127.0.0.1');
      sockets.add(through);
      socket.pipe(through).pipe(socket);
    });
    const dialTimeoutMs = { ...defaultGrpcLimits.dialTimeoutMs, client: 200 };
    const connection = transport({ dialTimeoutMs }).connect({ host: '127.0.0.1', port }, 'client');
    const call = () => connection.call(metadata, {}, { timeoutMs: 60_000 });
    await expect(call()).rejects.toMatchObject({
      ...{ code: 'UNAVAILABLE', outcome: 'not written', details: { refused: false } },
    });
    silent = false;
    expect(await call()).toMatchObject({ clusterId: 'here' });
  });

  it('notice on both sides that the other one fell silent', async () => {
    const keepalive = {
      ...defaultGrpcLimits.keepalive,
      replication: { intervalMs: 100, timeoutMs: 200 },
      listener: { intervalMs: 100, timeoutMs: 200 },
    };
    const accepted: ReturnType<typeof recordStream>[] = [];
    const take = bidiHandler(produce, (stream) => {
      accepted.push(recordStream(stream) as ReturnType<typeof recordStream>);
    });
    const real = await listen([take], { keepalive });
    let frozen = false;
    const port = await tcpServer((socket) => {
      const through = net.connect(real.address.port, '127.0.0.1');
      sockets.add(through);
      socket.on('data', (bytes) => void (frozen || through.write(bytes)));
      through.on('data', (bytes) => void (frozen || socket.write(bytes)));
    });
    const address = { host: '127.0.0.1', port };
    const side = recordStream(
      transport({ keepalive }).connect(address, 'replication').open(produce),
    );
    await until(() => accepted.length === 1);
    expect(side.closes).toEqual([]);
    frozen = true;
    await until(() => side.closes.length + accepted[0]!.closes.length === 2);
    expect(side.closes[0]).toMatchObject({ code: 'UNAVAILABLE', details: { refused: false } });
    expect(accepted[0]!.closes[0]?.code).toBe('UNAVAILABLE');
  });
});

describe('closing', () => {
  const openSockets = () =>
    process.getActiveResourcesInfo().filter((kind) => kind.startsWith('TCP')).length;

  it('leaves no socket open, also with streams, calls and a dial in progress', async () => {
    await until(() => openSockets() === 0);
    const server = transport();
    const never = unaryHandler(metadata, () => new Promise(() => undefined));
    const hold = bidiHandler(produce, (stream) => void recordStream(stream).stream.pause());
    const options = { listener: 'inside', host: '127.0.0.1', port: 0, handlers: [never, hold] };
    const { address } = await server.listen(options);
    const client = transport();
    const connection = client.connect(address, 'client');
    const open = recordStream(connection.open(produce));
    const call = connection.call(metadata, {}, { timeoutMs: 60_000 });
    while (open.stream.send({ request: { partitions: [{ batch: Buffer.alloc(1_000_000) }] } }));
    const dialing = recordStream(client.connect(address, 'control').open(produce));
    await client.close();
    await expect(call).rejects.toMatchObject({ code: 'CLOSED' });
    await server.close();
    await until(() => open.closes.length + dialing.closes.length === 2);
    await until(() => openSockets() === 0);
  });

  it('names an address that cannot be bound', async () => {
    const options = { listener: 'inside', host: '203.0.113.1', port: 9_292, handlers: [] };
    await expect(transport().listen(options)).rejects.toMatchObject({
      code: 'INVALID_CONFIG',
      message: expect.stringContaining('203.0.113.1:9292') as string,
    });
  });
});
