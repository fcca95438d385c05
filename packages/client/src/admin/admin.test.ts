import { seededRandom, silentLogger } from '@tributary/common';
import {
  createBrokerRegistry,
  createPartitionStateStore,
  createTopicStore,
  createGroupStore,
  createControllerElection,
  EmbeddedEnsemble,
} from '@tributary/coordination';
import { ScriptedCluster, SimulatedClock } from '@tributary/testkit';
import { createClient, string, type Client } from '..';

interface World {
  readonly clock: SimulatedClock;
  readonly cluster: ScriptedCluster;
  readonly client: Client;
  /** Simulated time passes until the work is done. */
  done<T>(work: Promise<T>, withinMs?: number): Promise<T>;
}

async function throughBrokers(): Promise<World> {
  const clock = new SimulatedClock();
  const cluster = new ScriptedCluster(clock);
  const transport = await cluster.start();
  const random = seededRandom(3);
  const client = createClient({ brokers: cluster.bootstrap, transport, clock, random });
  return { clock, cluster, client, done: (work, ms = 20_000) => clock.settleWithin(work, ms) };
}

/** The same, with brokers and topics registered on an embedded coordinator. */
async function throughCoordinator() {
  const clock = new SimulatedClock();
  const cluster = new ScriptedCluster(clock);
  const transport = await cluster.start();
  const random = seededRandom(3);
  const ensemble = new EmbeddedEnsemble({ clock, random });
  const coordinator = ensemble.connect();
  await clock.settleWithin(coordinator.ready(1_000), 1_000);
  const registry = createBrokerRegistry(ensemble.connect(), clock, silentLogger);
  const endpoints = [
    { listener: 'inside', host: 'inside.invalid', port: 1 },
    { listener: 'outside', host: 'broker-1', port: 9292 },
  ];
  const broker = { brokerId: 1, endpoints, rack: undefined, hostname: 'h' };
  await clock.settleWithin(registry.register(broker), 5_000);
  const client = createClient({ coordinator, transport, clock, random });
  const done = <T>(work: Promise<T>, ms = 20_000): Promise<T> => clock.settleWithin(work, ms);

  /** Known to the coordinator and to the scripted brokers under one id. */
  const createTopic = async (topic: string): Promise<string> => {
    cluster.createTopic(topic, 1);
    const topicId = cluster.topicIdOf(topic);
    const topics = createTopicStore(coordinator, clock, silentLogger);
    await done(topics.create({ topic, topicId, assignment: [[1]], configs: {} }));
    const elected = await done(createControllerElection(coordinator, clock, random).elect(1));
    if (!elected.won) throw new Error('not elected');
    const state = { topic, topicId, partition: 0, leader: 1, leaderEpoch: 1, controllerEpoch: 1, isr: [1], eligibleLeaders: [] }; // prettier-ignore
    const write = { state, expectedPartitionEpoch: undefined };
    await done(createPartitionStateStore(coordinator).write(elected.fence, [write]));
    return topicId;
  };
  return { clock, cluster, client, coordinator, random, done, createTopic };
}

describe('topics', () => {
  test('create, list, describe, delete', async () => {
    const { cluster, client, done } = await throughBrokers();
    const admin = client.admin();
    const created = await done(admin.createTopic({ topic: 'orders', partitions: 2 }));
    expect(created).toMatchObject({ topic: 'orders', partitions: 2, replicationFactor: 3 });
    await done(client.producer({ value: string() }).send('orders', { value: 'x', partition: 1 }));

    const [listed] = await done(admin.listTopics());
    expect(listed).toMatchObject({ topic: 'orders', topicId: created.topicId });
    const described = await done(admin.describeTopic('orders'));
    expect(described.partitions).toMatchObject([
      { partition: 0, leader: 1, leaderEpoch: 1, isr: [1, 2, 3], startOffset: 0n, endOffset: 0n },
      { partition: 1, leader: 2, leaderEpoch: 1, isr: [1, 2, 3], startOffset: 0n, endOffset: 1n },
    ]);

    await done(admin.deleteTopic('orders'));
    expect(cluster.hasTopic('orders')).toBe(false);
    await expect(done(admin.describeTopic('orders'))).rejects.toMatchObject({
      code: 'UNKNOWN_TOPIC',
    });
  });

  test('a topic created again after a deletion is written to as the new one', async () => {
    const { cluster, client, done } = await throughBrokers();
    const admin = client.admin();
    const producer = client.producer({ value: string() });
    for (const value of ['old', 'new']) {
      await done(admin.createTopic({ topic: 'orders', partitions: 1 }));
      await done(producer.send('orders', { value }));
      expect(cluster.partition('orders', 0).values).toEqual([value]);
      if (value === 'old') await done(admin.deleteTopic('orders'));
    }
  });

  test('without offsets nobody but the metadata is asked', async () => {
    const { client, cluster, done } = await throughBrokers();
    cluster.createTopic('orders', 1);
    const described = await done(client.admin().describeTopic('orders', { offsets: false }));
    expect(described.partitions[0]).not.toHaveProperty('endOffset');
  });

  test('a partition without a leader shows no offsets, and holds up nobody', async () => {
    const { clock, client, cluster, done } = await throughBrokers();
    cluster.createTopic('orders', 2);
    cluster.moveLeader('orders', 0, -1);
    const before = clock.now();
    const { partitions } = await done(client.admin().describeTopic('orders'));
    expect(clock.now() - before).toBeLessThan(100);
    expect(partitions[0]).toMatchObject({ leader: undefined, leaderEpoch: 2 });
    expect(partitions[0]).not.toHaveProperty('endOffset');
    expect(partitions[1]).toMatchObject({ endOffset: 0n });
  });

  test('what exists already, and what has no such name, is told', async () => {
    const { client, done } = await throughBrokers();
    const admin = client.admin();
    await done(admin.createTopic({ topic: 'orders', partitions: 1 }));
    await expect(done(admin.createTopic({ topic: 'orders' }))).rejects.toMatchObject({
      code: 'TOPIC_EXISTS',
    });
    await expect(admin.createTopic({ topic: 'a b' })).rejects.toMatchObject({
      code: 'INVALID_TOPIC',
    });
    await expect(done(admin.deleteTopic('nothing'))).rejects.toMatchObject({
      code: 'UNKNOWN_TOPIC',
    });
  });
});

describe('the cluster', () => {
  test('an empty place in ZooKeeper is no cluster without topics', async () => {
    const clock = new SimulatedClock();
    const random = seededRandom(3);
    const coordinator = new EmbeddedEnsemble({ clock, random }).connect();
    const transport = await new ScriptedCluster(clock).start();
    const admin = createClient({ coordinator, transport, clock, random }).admin();
    await expect(clock.settleWithin(admin.listTopics(), 20_000)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      hint: expect.stringContaining('chroot'),
    });
  });

  test('is described by any broker that lives', async () => {
    const { client, cluster, done } = await throughBrokers();
    cluster.crash(1);
    cluster.crash(2);
    const described = await done(client.admin().describeCluster());
    expect(described).toMatchObject({
      clusterId: 'scripted',
      controllerId: undefined,
      controllerEpoch: 3,
      brokers: [{ brokerId: 1, rack: undefined }, { brokerId: 2 }, { brokerId: 3 }],
    });
  });

  test('nobody answers: one error that names the addresses, within the timeout', async () => {
    const { client, cluster, done } = await throughBrokers();
    for (const broker of [1, 2, 3]) cluster.crash(broker);
    await expect(
      done(client.admin().describeCluster({ timeoutMs: 5_000 }), 5_010),
    ).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      message: expect.stringContaining('broker-1:9292'),
    });
    await expect(done(client.ready({ timeoutMs: 5_000 }), 5_010)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
  });

  test('an abort ends a call at once', async () => {
    const { client, cluster, done } = await throughBrokers();
    for (const broker of [1, 2, 3]) cluster.network.partition('client', `broker-${broker}`);
    const abort = new AbortController();
    const call = client.admin().listTopics({ signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(done(call, 10)).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('offsets', () => {
  test('earliest, latest, by time; after a leader moved', async () => {
    const { client, cluster, done } = await throughBrokers();
    cluster.createTopic('orders', 1);
    await done(client.producer({ value: string() }).sendBatch('orders', [{ value: 'a' }, { value: 'b' }])); // prettier-ignore
    const admin = client.admin();
    expect(await done(admin.listOffsets('orders', 'earliest'))).toMatchObject([{ offset: 0n }]);
    cluster.moveLeader('orders', 0, 2);
    expect(await done(admin.listOffsets('orders', 'latest'))).toMatchObject([
      { partition: 0, offset: 2n, timestamp: undefined, leaderEpoch: 2 },
    ]);
    const newest = await done(admin.listOffsets('orders', 'max-timestamp'));
    expect(newest).toMatchObject([{ offset: 0n, timestamp: 1_704_067_200_000 }]);
    const none = await done(admin.listOffsets('orders', { timestamp: 5 }));
    expect(none).toMatchObject([{ offset: undefined }]);
    await expect(
      done(admin.listOffsets('orders', 'latest', { partitions: [7] })),
    ).rejects.toMatchObject({ code: 'UNKNOWN_PARTITION' });
  });

  test('records are deleted by the leaders, also by one that has just moved', async () => {
    const { cluster, client, done } = await throughBrokers();
    cluster.createTopic('orders', 2);
    const values = ['a', 'b', 'c'].map((value) => ({ value, partition: 0 }));
    await done(client.producer({ value: string() }).sendBatch('orders', values));
    const admin = client.admin();
    expect(await done(admin.deleteRecords('orders', { 0: 2n, 1: 0 }))).toEqual([
      { partition: 0, startOffset: 2n },
      { partition: 1, startOffset: 0n },
    ]);
    cluster.moveLeader('orders', 0, 2);
    expect(await done(admin.deleteRecords('orders', { 0: 'latest' }))).toEqual([
      { partition: 0, startOffset: 3n },
    ]);
    expect(await done(admin.listOffsets('orders', 'earliest'))).toMatchObject([
      { offset: 3n },
      { offset: 0n },
    ]);
  });

  test('what cannot be deleted: beyond the end, no partition, no offset', async () => {
    const { cluster, client, done } = await throughBrokers();
    cluster.createTopic('orders', 1);
    const admin = client.admin();
    const code = async (before: Record<string, bigint | number>): Promise<unknown> =>
      done(admin.deleteRecords('orders', before)).catch((error: { code: string }) => error.code);
    expect(await code({ 0: 1n })).toBe('OFFSET_OUT_OF_RANGE');
    expect(await code({ 7: 0n })).toBe('UNKNOWN_PARTITION');
    expect(await code({ x: 0n })).toBe('INVALID_ARGUMENT');
    expect(await code({ 0: -1 })).toBe('INVALID_ARGUMENT');
    expect(await code({})).toEqual([]);
  });
});

describe('through the coordinator', () => {
  test('leaders come from the znodes, on the outside listener', async () => {
    const { client, cluster, done, createTopic } = await throughCoordinator();
    await createTopic('orders');
    await done(client.ready());
    await done(client.producer({ value: string() }).send('orders', { value: 'x' }));
    expect(cluster.partition('orders', 0).values).toEqual(['x']);
    expect(cluster.metadataReads).toBe(0);
    expect(await done(client.admin().listTopics())).toMatchObject([
      { topic: 'orders', partitions: [{ leader: 1, leaderEpoch: 1, replicas: [1], isr: [1] }] },
    ]);
  });

  test('no broker is registered: the error names the likely mistakes', async () => {
    const clock = new SimulatedClock();
    const ensemble = new EmbeddedEnsemble({ clock, random: seededRandom(1) });
    const cluster = new ScriptedCluster(clock);
    const transport = await cluster.start();
    const coordinator = ensemble.connect({ chroot: '/wrong' });
    const client = createClient({ coordinator, transport, clock });
    await expect(clock.settleWithin(client.ready(), 15_000)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      hint: expect.stringContaining('chroot'),
    });
  });

  test('groups: offsets, lag, commit and reset of a stopped group', async () => {
    const { client, clock, coordinator, random, done, createTopic } = await throughCoordinator();
    const topicId = await createTopic('orders');
    const records = Array.from({ length: 10 }, (_, n) => ({ value: `${n}` }));
    await done(client.producer({ value: string() }).sendBatch('orders', records));
    const admin = client.admin();
    await done(
      admin.commitGroupOffsets('billing', [{ topic: 'orders', partition: 0, offset: 4n }]),
    );
    expect(await done(admin.listGroups())).toEqual(['billing']);
    expect(await done(admin.describeGroup('billing'))).toMatchObject({
      group: 'billing',
      generation: -1,
      members: [],
      partitions: [
        {
          topic: 'orders',
          partition: 0,
          committedOffset: 4n,
          endOffset: 10n,
          lag: 6n,
          owner: undefined,
        },
      ],
    });
    expect(await done(admin.resetGroupOffsets('billing', 'orders', 'latest'))).toEqual([
      { topic: 'orders', partition: 0, offset: 10n },
    ]);
    expect(await done(admin.describeGroup('billing'))).toMatchObject({ partitions: [{ lag: 0n }] });
    // Nothing is that young: to the end.
    expect(
      await done(admin.resetGroupOffsets('billing', 'orders', { timestamp: 9e12 })),
    ).toMatchObject([{ offset: 10n }]);

    const store = createGroupStore(coordinator, clock, random);
    const member = { clientId: 'c', host: 'h', topics: ['orders'], assignors: ['range'] };
    const membership = await done(store.join('billing', member, { leaseMs: 10_000 }));
    const partition = { topic: 'orders', topicId, partition: 0 };
    const mine = [{ memberId: membership.memberId, partitions: [partition] }];
    const generation = await done(membership.assign(-1, mine));
    await done(membership.claim(partition, generation));
    await expect(
      done(admin.resetGroupOffsets('billing', 'orders', { offset: 0n })),
    ).rejects.toMatchObject({ code: 'FENCED_OWNER' });
    expect(await done(admin.describeGroup('billing'))).toMatchObject({
      members: [{ clientId: 'c', assigned: [{ topic: 'orders', partition: 0 }] }],
      partitions: [{ owner: membership.memberId, committedOffset: 10n }],
    });
  });
});
