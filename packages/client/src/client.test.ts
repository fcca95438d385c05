import { seededRandom, silentLogger, systemClock, TributaryError } from '@tributary/common';
import { GrpcTransport, type Address } from '@tributary/protocol';
import { ScriptedCluster, SimulatedClock } from '@tributary/testkit';
import { createClient, string } from '.';

describe('a client', () => {
  test('dials nothing until it is used, and nothing after it is closed', async () => {
    const clock = new SimulatedClock();
    const cluster = new ScriptedCluster(clock);
    const transport = await cluster.start();
    cluster.createTopic('orders', 1);
    const client = createClient({ brokers: cluster.bootstrap, transport, clock });
    const producer = client.producer({ value: string() });
    await clock.advance(1_000);
    expect(cluster.metadataReads).toBe(0);
    await clock.settleWithin(client.ready(), 1_000);
    expect(cluster.metadataReads).toBe(1);
    await clock.settleWithin(Promise.all([client.close(), client.close()]), 1_000);
    await expect(producer.send('orders', { value: 'x' })).rejects.toMatchObject({ code: 'CLOSED' });
    expect(() => client.admin()).toThrow(TributaryError);
    await expect(client.ready()).rejects.toMatchObject({ code: 'CLOSED' });
    await clock.advance(10);
    expect(clock.pendingTimers).toBe(0);
  });

  test('a close with a cluster that is gone is bounded', async () => {
    const clock = new SimulatedClock();
    const cluster = new ScriptedCluster(clock);
    const transport = await cluster.start();
    cluster.createTopic('orders', 1);
    const client = createClient({
      brokers: cluster.bootstrap,
      transport,
      clock,
      random: seededRandom(1),
    });
    const producer = client.producer({ value: string() });
    await clock.settleWithin(producer.send('orders', { value: 'x' }), 1_000);
    for (const broker of [1, 2, 3]) cluster.crash(broker);
    const send = producer.send('orders', { value: 'y' });
    const fate = expect(send).rejects.toMatchObject({
      code: 'CLOSED',
      outcome: expect.any(String),
    });
    await clock.settleWithin(client.close({ timeoutMs: 1_000 }), 1_600);
    await fate;
    await clock.advance(10_000); // what the network still reports
    expect(clock.pendingTimers).toBe(0);
  });

  test('await using closes it', async () => {
    const clock = new SimulatedClock();
    const cluster = new ScriptedCluster(clock);
    const transport = await cluster.start();
    const client = createClient({ brokers: cluster.bootstrap, transport, clock });
    await clock.settleWithin(client[Symbol.asyncDispose](), 1_000);
    expect(() => client.producer()).toThrow('the client is closed');
  });
});

describe('over real gRPC', () => {
  /** Handles that would keep a process alive. */
  function handles(): string[] {
    const kinds = process.getActiveResourcesInfo();
    return kinds.filter((kind) => /TCP|Timeout|DNS|GetAddrInfo/.test(kind)).sort();
  }

  test('a record gets there, and closing leaves no handle open', async () => {
    const before = handles();
    let address: Address = { host: '127.0.0.1', port: 1 };
    const cluster = new ScriptedCluster(systemClock, { brokers: 1, addressOf: () => address });
    const server = new GrpcTransport({ logger: silentLogger });
    const handlers = cluster.handlersOf(1);
    const listener = await server.listen({
      host: '127.0.0.1',
      port: 0,
      listener: 'outside',
      handlers,
    });
    address = { host: '127.0.0.1', port: listener.address.port };
    cluster.createTopic('orders', 1);

    const client = createClient({ brokers: [`127.0.0.1:${address.port}`], logger: silentLogger });
    const producer = client.producer({ value: string() });
    const sends = ['a', 'b', 'c'].map((value) => producer.send('orders', { value }));
    expect((await Promise.all(sends)).map(({ offset }) => offset)).toEqual([0n, 1n, 2n]);
    const described = await client.admin().describeTopic('orders');
    expect(described.partitions[0]?.endOffset).toBe(3n);
    expect(cluster.partition('orders', 0).values).toEqual(['a', 'b', 'c']);

    await client.close();
    await server.close();
    // Sockets close in the turn after.
    await new Promise((resolve) => setImmediate(resolve));
    await new Promise((resolve) => setImmediate(resolve));
    expect(handles()).toEqual(before);
  });
});
