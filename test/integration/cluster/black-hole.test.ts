/**
 * Packets that vanish without a reset, between clients and one broker that is well otherwise: everybody notices, by
 * keepalive or deadline, and goes on elsewhere. Real connections, short limits.
 */
import { string, type Client } from '@tributary/client';
import { defaultGrpcLimits, GrpcTransport } from '@tributary/protocol';
import { silentLogger } from '@tributary/common';
import { startTestCluster, type TestCluster } from '@tributary/testing';
import { FaultProxy } from '@tributary/testkit';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@tributary/client';

const KEEPALIVE = { intervalMs: 300, timeoutMs: 300 };

let cluster: TestCluster;
/** By the port that the broker listens on; the place in the list is the broker's id - 1. */
let proxies: Map<number, FaultProxy>;
/** Of the operator: not cut off from anybody. */
let direct: Client;
let clients: Client[];

beforeEach(async () => {
  cluster = await startTestCluster({ brokers: 3 });
  proxies = new Map();
  for (const address of cluster.brokers) {
    const port = Number(address.split(':')[1]);
    proxies.set(port, await FaultProxy.start(port));
  }
  direct = cluster.client();
  clients = [];
}, 60_000);

afterEach(async () => {
  await Promise.all(clients.map((client) => client.close({ timeoutMs: 1_000 })));
  await Promise.all([...proxies.values()].map((proxy) => proxy.stop()));
  await cluster.close();
});

/** Dials every broker through its proxy. */
class ProxiedTransport extends GrpcTransport {
  override connect(...[address, purpose]: Parameters<GrpcTransport['connect']>) {
    const port = Number(proxies.get(address.port)!.address.split(':')[1]);
    return super.connect({ host: '127.0.0.1', port }, purpose);
  }
}

function cutOffClient(): Client {
  const { keepalive, dialTimeoutMs } = defaultGrpcLimits;
  const transport = new ProxiedTransport({
    logger: silentLogger,
    limits: {
      keepalive: { ...keepalive, client: KEEPALIVE },
      dialTimeoutMs: { ...dialTimeoutMs, client: 1_000 },
    },
  });
  const client = createClient({ brokers: cluster.brokers, transport, requestTimeoutMs: 3_000 });
  clients.push(client);
  return client;
}

function proxyOf(brokerId: number): FaultProxy {
  return [...proxies.values()][brokerId - 1]!;
}

async function leaderOf(topic: string): Promise<number> {
  const { partitions } = await direct.admin().describeTopic(topic, { offsets: false });
  return partitions[0]!.leader!;
}

async function createTopic(topic: string): Promise<number> {
  await direct.admin().createTopic({ topic, partitions: 1, replicationFactor: 3 });
  return leaderOf(topic);
}

/** Its packets to and from these clients vanish; another broker leads a moment later. */
async function swallow(brokerId: number): Promise<void> {
  proxyOf(brokerId).mode = 'drop';
  await direct.admin().drainBroker(brokerId);
}

test('producer: what was under way is sent again to the new leader, once, in order', async () => {
  const leader = await createTopic('orders');
  const producer = cutOffClient().producer({ value: string() });
  await producer.send('orders', { value: '0' });
  const before = proxyOf(leader).accepted;
  proxyOf(leader).mode = 'drop';
  const sends = [1, 2, 3].map((n) => producer.send('orders', { value: `${n}` }));
  await pause(50); // on the wire
  await swallow(leader);
  sends.push(producer.send('orders', { value: '4' }));
  const written = await Promise.all(sends);
  expect(written.map(({ offset }) => offset)).toEqual([1n, 2n, 3n, 4n]);
  expect(await leaderOf('orders')).not.toBe(leader);
  // No storm of dials.
  expect(proxyOf(leader).accepted - before).toBeLessThan(20);
}, 60_000);

test('producer: without another leader it gives up at its deadline, and says that it may be written', async () => {
  const leader = await createTopic('orders');
  const producer = cutOffClient().producer({ value: string(), deliveryTimeoutMs: 4_000 });
  await producer.send('orders', { value: '0' });
  const before = proxyOf(leader).accepted;
  proxyOf(leader).mode = 'drop';
  await expect(producer.send('orders', { value: '1' })).rejects.toMatchObject({
    outcome: 'maybe written',
  });
  expect(proxyOf(leader).accepted - before).toBeLessThan(40);
  proxyOf(leader).mode = 'pass';
  expect(await producer.send('orders', { value: '2' })).toMatchObject({ topic: 'orders' });
}, 60_000);

test('consumer: reads on at the new leader', async () => {
  const leader = await createTopic('orders');
  const own = direct.producer({ value: string() });
  await own.send('orders', { value: '0' });
  const consumer = cutOffClient().consumer({ topics: ['orders'], value: string() });
  const records = consumer.records();
  expect((await records.next()).value).toMatchObject({ value: '0' });
  await swallow(leader);
  await own.send('orders', { value: '1' });
  expect((await records.next()).value).toMatchObject({ value: '1', offset: 1n });
}, 60_000);

test('admin: another broker is asked, also with a command', async () => {
  await createTopic('orders');
  const admin = cutOffClient().admin();
  await admin.describeCluster();
  proxyOf(1).mode = 'drop';
  // Whichever broker comes first in turn.
  for (let turn = 0; turn < 3; turn += 1) {
    expect((await admin.describeCluster()).brokers).toHaveLength(3);
    const altered = await admin.alterTopic('orders', { setConfigs: { 'retention.ms': `${turn}` } });
    expect(altered.configs).toEqual({ 'retention.ms': `${turn}` });
  }
}, 60_000);

test('group member: comes back through another broker, and misses nothing', async () => {
  await createTopic('orders');
  const own = direct.producer({ value: string() });
  const consumer = cutOffClient().consumer({
    ...{ group: 'billing', topics: ['orders'], value: string(), sessionTimeoutMs: 2_000 },
  });
  const seen = new Set<string>();
  const reading = (async () => {
    for await (const record of consumer) {
      seen.add(record.value!);
      await record.commit().catch(() => undefined); // fenced while it was away: it comes again
    }
  })();
  const until = async (value: string): Promise<void> => {
    while (!seen.has(value)) await pause(20);
  };
  await own.send('orders', { value: 'before' });
  await until('before');
  for (const brokerId of [1, 2]) {
    await swallow(brokerId);
    await own.send('orders', { value: `without ${brokerId}` });
    await until(`without ${brokerId}`);
    await direct.admin().returnBroker(brokerId);
    proxyOf(brokerId).mode = 'pass';
    proxyOf(brokerId).cut(); // what was half lost is no stream any more
  }
  await consumer.close({ timeoutMs: 2_000 });
  await reading;
}, 60_000);
