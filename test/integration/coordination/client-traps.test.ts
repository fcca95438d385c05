import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom, systemClock, type TributaryError } from '@tributary/common';
import { createControllerElection, type SessionEvent } from '@tributary/coordination';
import { FaultProxy, TestEnsemble, type ZooKeeperHarness } from '@tributary/testkit';

/**
 * The traps of the ZooKeeper client library that can hit us, each sprung on purpose between a client and a real server,
 * and what must be seen instead: the session is kept, every call ends, nothing is done twice.
 */
const sessionTimeoutMs = 3_000;

describe('traps of the ZooKeeper client', () => {
  let ensemble: TestEnsemble;
  let harness: ZooKeeperHarness;
  let proxy: FaultProxy;

  beforeAll(async () => {
    ensemble = await TestEnsemble.start();
  });
  afterAll(() => ensemble.stop());
  beforeEach(async () => {
    harness = ensemble.harness();
    proxy = await FaultProxy.start(ensemble.zooKeeper.nodes[0]!.port);
  });
  afterEach(async () => {
    proxy.mode = 'pass';
    await harness.close();
    await proxy.stop();
  });

  const connect = () => harness.connect({ servers: proxy.address, sessionTimeoutMs });
  const bytes = (text: string) => Buffer.from(text);
  const failure = async (work: Promise<unknown>): Promise<TributaryError> => {
    try {
      await work;
    } catch (error) {
      return error as TributaryError;
    }
    throw new Error('did not fail');
  };
  /** With an ephemeral that tells whether the session was kept. */
  const connectWithEphemeral = async () => {
    const client = await connect();
    const events: SessionEvent['type'][] = [];
    client.onSession((event) => events.push(event.type));
    await client.create('/ephemeral', bytes(''), { ephemeral: true });
    return { client, events, sessionId: client.sessionId };
  };
  /** Requests that went up before, answered from now on into nowhere; then the connection breaks and is back. */
  const loseReplyOf = async (send: () => Promise<unknown>): Promise<unknown> => {
    proxy.mode = 'swallow';
    const work = send().catch((error: unknown) => error);
    await pause(60);
    proxy.mode = 'pass';
    proxy.cut();
    return work;
  };

  test('a silent connection is noticed by the heartbeat; the same session goes on over another one', async () => {
    const { client, events, sessionId } = await connectWithEphemeral();
    proxy.mode = 'drop';
    await harness.until(() => client.status === 'suspended');
    expect(client.silentForMs).toBeGreaterThan(sessionTimeoutMs / 4);
    proxy.mode = 'pass';
    await harness.until(() => client.status === 'connected');
    expect(events).toEqual(['suspended', 'resumed']);
    expect(client.sessionId).toBe(sessionId);
    expect((await client.get('/ephemeral'))?.stat.ephemeralOwner).toBe(sessionId);
  });

  test('a server that accepts connections and says nothing does not hold the client', async () => {
    const { client, sessionId } = await connectWithEphemeral();
    proxy.mode = 'mute';
    proxy.cut();
    const before = proxy.accepted;
    await harness.until(() => proxy.accepted > before + 1);
    proxy.mode = 'pass';
    await harness.until(() => client.status === 'connected');
    expect(client.sessionId).toBe(sessionId);
  });

  test('a connection cut in the middle of a frame does not garble the next one', async () => {
    const { client, events, sessionId } = await connectWithEphemeral();
    await client.create('/data', Buffer.alloc(5_000, 'x'));
    proxy.cutNextReplyAfter(1_000);
    const node = await client.get('/data');
    expect(node?.data).toEqual(Buffer.alloc(5_000, 'x'));
    expect(events).toEqual(['suspended', 'resumed']);
    expect(client.sessionId).toBe(sessionId);
  });

  test('an error code that the library does not know ends that call only', async () => {
    const { client, sessionId } = await connectWithEphemeral();
    const replaceError = (code: number) => {
      proxy.onReply = (chunk) => {
        // length, request number, transaction id, error
        if (chunk.length < 20 || chunk.readInt32BE(4) <= 0) return chunk;
        proxy.onReply = undefined;
        const header = Buffer.alloc(20);
        chunk.copy(header, 0, 0, 20);
        header.writeInt32BE(16, 0);
        header.writeInt32BE(code, 16);
        return Buffer.concat([header, chunk.subarray(4 + chunk.readInt32BE(0))]);
      };
    };
    replaceError(-125);
    expect(await failure(client.create('/over-quota', bytes('')))).toMatchObject({
      code: 'INTERNAL',
      message: expect.stringContaining('QUOTA_EXCEEDED'),
    });
    // Refused for the moment only: sent again.
    replaceError(-127);
    expect(await client.get('/none')).toBeUndefined();
    expect(client.sessionId).toBe(sessionId);
    expect(client.status).toBe('connected');
  });

  test('calls that wait for the connection all end when the session expires meanwhile', async () => {
    const { client, events } = await connectWithEphemeral();
    const other = await harness.connect();
    proxy.mode = 'drop';
    await harness.until(() => client.status === 'suspended');
    const write = failure(client.create('/late', bytes('')));
    const read = client.get('/');
    await other.endSession(client.sessionTicket!);
    proxy.mode = 'pass';
    proxy.cut();
    expect(await write).toMatchObject({ code: 'SESSION_EXPIRED', outcome: 'not written' });
    expect(await read).toBeDefined();
    expect(events).toEqual(['suspended', 'expired', 'opened']);
    expect(await other.get('/late')).toBeUndefined();
    expect(await other.get('/ephemeral')).toBeUndefined();
  });

  test('silence alone never expires a session: away for longer than its timeout, it is asked for again', async () => {
    const { client, events, sessionId } = await connectWithEphemeral();
    proxy.mode = 'refuse';
    proxy.cut();
    const other = await harness.connect();
    await harness.until(async () => (await other.get('/ephemeral')) === undefined);
    // Gone at the server; but we have not been told.
    expect(client.status).toBe('suspended');
    expect(events).toEqual(['suspended']);
    expect(client.sessionId).toBe(sessionId);
    proxy.mode = 'pass';
    await harness.until(() => client.status === 'connected');
    expect(events).toEqual(['suspended', 'expired', 'opened']);
  });

  test('a client that only receives notifications keeps its session', async () => {
    const shortMs = 1_000;
    const client = await harness.connect({ sessionTimeoutMs: shortMs });
    const { sessionId } = client;
    const events: SessionEvent['type'][] = [];
    client.onSession((event) => events.push(event.type));
    const other = await harness.connect();
    await other.create('/busy', bytes(''));
    let seen = 0;
    client.watchData('/busy', () => (seen += 1));
    const until = performance.now() + shortMs * 2;
    while (performance.now() < until) {
      await other.set('/busy', bytes(''), undefined);
      await pause(10);
    }
    expect(seen).toBeGreaterThan(10);
    expect(events).not.toContain('expired');
    expect(client.sessionId).toBe(sessionId);
  });

  test('failed reconnects do not pile up packets: watches are set again once', async () => {
    const { client } = await connectWithEphemeral();
    let armed = 0;
    for (let i = 0; i < 20; i += 1) client.watchData(`/watched-${i}`, () => (armed += 1));
    await harness.until(() => armed === 20);
    proxy.mode = 'mute';
    proxy.cut();
    const before = proxy.accepted;
    await harness.until(() => proxy.accepted >= before + 2);
    const setWatches = 101;
    const setWatchesFrames: number[] = [];
    proxy.onRequest = (chunk) => {
      // length, request number, operation
      for (let at = 0; at + 12 <= chunk.length; at += 4 + chunk.readInt32BE(at)) {
        if (chunk.readInt32BE(at + 8) === setWatches) setWatchesFrames.push(at);
      }
    };
    proxy.mode = 'pass';
    await harness.until(() => client.status === 'connected');
    await client.barrier();
    expect(setWatchesFrames).toHaveLength(1);
  });

  test('watches that come and go leave nothing behind in the client', async () => {
    const { client } = await connectWithEphemeral();
    const warnings: string[] = [];
    const onWarning = (warning: Error) => warnings.push(warning.name);
    process.on('warning', onWarning);
    for (let i = 0; i < 200; i += 1) {
      let called = false;
      const watch = client.watchData('/ephemeral', () => (called = true));
      await harness.until(() => called);
      watch.stop();
    }
    await client.barrier();
    const inside = client as unknown as {
      sessions: { current: { connection: { watcherManager: Record<string, object> } } };
    };
    const { watcherManager } = inside.sessions.current.connection;
    expect(Object.values(watcherManager).flatMap((paths) => Object.keys(paths))).toEqual([]);
    process.off('warning', onWarning);
    expect(warnings).toEqual([]);
  });

  test('the numbers of requests never run out: the connection is renewed in time', async () => {
    const { client, events, sessionId } = await connectWithEphemeral();
    const inside = client as unknown as { sessions: { current: { connection: { xid: number } } } };
    const { connection } = inside.sessions.current;
    connection.xid = 2 ** 31 - 500_000;
    await harness.until(() => events.includes('resumed'));
    expect(connection.xid).toBeLessThan(1_000);
    expect(client.sessionId).toBe(sessionId);
  });

  describe('a reply that was lost', () => {
    test('create: the node is there once, and the call succeeds', async () => {
      const { client } = await connectWithEphemeral();
      await client.ensurePath('/sequence');
      expect(await loseReplyOf(() => client.create('/plain', bytes('mine')))).toMatchObject({
        path: '/plain',
      });
      const ephemeral = () => client.create('/held', bytes(''), { ephemeral: true });
      expect(await loseReplyOf(ephemeral)).toMatchObject({
        stat: { ephemeralOwner: client.sessionId },
      });
      const sequential = () => client.create('/sequence/n-', bytes(''), { sequential: true });
      await loseReplyOf(sequential);
      expect(await client.children('/sequence')).toHaveLength(1);
    });

    test('create: somebody else’s node is still a refusal', async () => {
      const { client } = await connectWithEphemeral();
      const other = await harness.connect();
      await other.create('/taken', bytes('theirs'));
      const answer = await loseReplyOf(() => client.create('/taken', bytes('mine')));
      expect(answer).toMatchObject({ code: 'NODE_EXISTS' });
    });

    test('compare-and-set: once applied, and reported as such; a stale one stays refused', async () => {
      const { client } = await connectWithEphemeral();
      await client.create('/v', bytes('0'));
      expect(await loseReplyOf(() => client.set('/v', bytes('1'), 0))).toMatchObject({
        version: 1,
      });
      expect(await loseReplyOf(() => client.set('/v', bytes('x'), 0))).toMatchObject({
        code: 'BAD_VERSION',
      });
      expect((await client.get('/v'))?.data.toString()).toBe('1');
      expect(await loseReplyOf(() => client.remove('/v', 1))).toBeUndefined();
      expect(await client.get('/v')).toBeUndefined();
    });

    test('multi: sent once, and its outcome is called unknown', async () => {
      const { client } = await connectWithEphemeral();
      await client.create('/v', bytes('0'));
      const multi = () =>
        client.multi([{ type: 'set', path: '/v', data: bytes('1'), version: undefined }]);
      expect(await loseReplyOf(multi)).toMatchObject({
        code: 'COORDINATOR_UNAVAILABLE',
        outcome: 'maybe written',
      });
      expect((await client.get('/v'))?.stat.version).toBe(1);
    });

    test('election: the controller that never heard of its success finds it, and nobody is elected twice', async () => {
      const { client } = await connectWithEphemeral();
      const other = await harness.connect();
      const election = createControllerElection(client, systemClock, seededRandom(1));
      const rival = createControllerElection(other, systemClock, seededRandom(2));
      // The readings before the multi must get through: make the epoch, then lose the reply of the multi alone.
      const first = await election.elect(1);
      await election.resign(
        (first as { fence: { controllerEpoch: number; epochVersion: number } }).fence,
      );
      proxy.onRequest = (chunk) => {
        if (!chunk.includes('/controller') || !chunk.includes('claim')) return;
        proxy.onRequest = undefined;
        proxy.mode = 'swallow';
        setTimeout(() => {
          proxy.mode = 'pass';
          proxy.cut();
        }, 60);
      };
      expect(await election.elect(1)).toEqual({
        won: true,
        fence: { controllerEpoch: 2, epochVersion: 2 },
      });
      expect(await rival.elect(2)).toEqual({
        won: false,
        current: { brokerId: 1, controllerEpoch: 2 },
      });
      expect((await client.get('/controller_epoch'))?.data.toString()).toBe('2');
    });
  });

  describe('close', () => {
    const timeLimitMs = 2_500;
    const closed = async (client: { close(timeoutMs?: number): Promise<void>; status: string }) => {
      const started = performance.now();
      await client.close(500);
      await client.close(500);
      expect(performance.now() - started).toBeLessThan(timeLimitMs);
      expect(client.status).toBe('closed');
    };

    test('before any server was reached', async () => {
      proxy.mode = 'refuse';
      const client = harness.open({ servers: proxy.address });
      await closed(client);
      expect(await failure(client.get('/'))).toMatchObject({ code: 'CLOSED' });
    });

    test('right after connecting was begun, and between the TCP connection and the session', async () => {
      await closed(harness.open({ servers: proxy.address }));
      proxy.mode = 'mute';
      const client = harness.open({ servers: proxy.address });
      await harness.until(() => proxy.accepted >= 2);
      await closed(client);
    });

    test('with a server that hangs, calls in flight included', async () => {
      const { client } = await connectWithEphemeral();
      proxy.mode = 'drop';
      const pending = failure(client.get('/'));
      await closed(client);
      expect(await pending).toMatchObject({ code: 'CLOSED' });
    });

    test('while suspended: the session is ended as soon as the connection is back', async () => {
      const { client } = await connectWithEphemeral();
      const other = await harness.connect();
      proxy.mode = 'refuse';
      proxy.cut();
      await harness.until(() => client.status === 'suspended');
      const closing = client.close(1_500);
      proxy.mode = 'pass';
      await closing;
      await other.barrier();
      expect(await other.get('/ephemeral')).toBeUndefined();
    });
  });

  test('an address where nobody is: not ready in time, with the address in the message', async () => {
    const client = harness.open({ servers: 'localhost:1' });
    const error = await failure(client.ready(200));
    expect(error).toMatchObject({ code: 'COORDINATOR_UNAVAILABLE' });
    expect(error.message).toContain('localhost:1');
  });
});
