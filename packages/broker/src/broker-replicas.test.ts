import { methods } from '@tributary/protocol';
import { World } from './broker-world.fixture';

describe('whole brokers in a simulated world', () => {
  it('what is acknowledged survives the crash of its leader, and the crashed one returns', async () => {
    const world = new World();
    await world.start(1, 2, 3);
    const topicId = await world.createTopic('orders', 3);
    for (const partition of [0, 1, 2]) {
      expect(await world.produce(topicId, partition, `first ${partition}`)).toBe(0);
    }
    const victim = world.leaders().get(1)![0]!;
    world.crash(victim);
    await world.until(() => (world.leaders().get(1)?.length ?? 0) === 1);
    expect(await world.produce(topicId, 1, 'second 1')).toBe(1);
    expect(await world.fetch(topicId, 1)).toEqual(['first 1', 'second 1']);
    await world.start(victim);
    await world.until(() =>
      [...world.nodes.values()].every(({ broker }) =>
        broker.status().partitions.every((p) => p.partition !== 1 || p.highWatermark === 2),
      ),
    );
    const survivors = [1, 2, 3].filter((id) => id !== victim);
    await world.clock.advance(2_000);
    for (const id of survivors) world.crash(id);
    await world.until(() => [0, 1, 2].every((p) => world.leaders().get(p)?.[0] === victim));
    expect(await world.fetch(topicId, 1)).toEqual(['first 1', 'second 1']);
  });

  it('all killed at once and started again: leaders return, nothing is lost', async () => {
    const world = new World();
    await world.start(1, 2, 3);
    const topicId = await world.createTopic('orders', 2);
    for (const value of ['a', 'b', 'c']) await world.produce(topicId, 0, value);
    for (const id of [1, 2, 3]) world.crash(id);
    await world.start(1, 2, 3);
    expect(await world.fetch(topicId, 0)).toEqual(['a', 'b', 'c']);
    expect(await world.produce(topicId, 0, 'd')).toBe(3);
  });

  it('the disk under a leader fails: another one leads, and the broker takes it up again after a restart', async () => {
    const world = new World();
    await world.start(1, 2, 3);
    const topicId = await world.createTopic('orders', 2);
    for (const partition of [0, 1]) await world.produce(topicId, partition, 'a');
    await world.clock.advance(100);
    const victim = world.leaders().get(0)![0]!;
    world.disks.get(victim)!.failNext('append', { path: 'orders-0' });
    await expect(world.produce(topicId, 0, 'b')).rejects.toThrow('STORAGE_ERROR');
    await world.until(() => (world.leaders().get(0) ?? [victim])[0] !== victim, 2_000);
    expect(await world.produce(topicId, 0, 'c')).toBe(1);
    // Only that partition moved.
    const others = world.nodes.get(victim)!.broker.status().partitions;
    expect(others.filter(({ role }) => role === 'offline')).toHaveLength(1);
    world.crash(victim);
    await world.start(victim);
    const caughtUp = (): boolean => {
      const { partitions } = world.nodes.get(victim)!.broker.status();
      return partitions.some((p) => p.partition === 0 && p.highWatermark === 2);
    };
    await world.until(caughtUp);
    expect(await world.fetch(topicId, 0)).toEqual(['a', 'c']);
  });

  it('a session that expires: its leaderships end, and come back to somebody', async () => {
    const world = new World();
    await world.start(1, 2, 3);
    const topicId = await world.createTopic('orders', 3);
    for (const id of [1, 2, 3]) {
      const { coordinator, broker } = world.nodes.get(id)!;
      const epoch = broker.status().brokerEpoch;
      world.ensemble.expire(coordinator.sessionId!);
      await world.until(() => broker.status().brokerEpoch !== epoch && world.ready(id));
      for (const partition of [0, 1, 2]) await world.produce(topicId, partition, `after ${id}`);
    }
    for (const partition of [0, 1, 2]) {
      expect(await world.fetch(topicId, partition)).toEqual(['after 1', 'after 2', 'after 3']);
    }
  });

  it('deleted while a broker was away and created again: the broker deletes the old one and takes up the new one', async () => {
    const world = new World();
    await world.start(1, 2, 3, 4);
    const first = await world.createTopic('orders', 2);
    for (const partition of [0, 1]) await world.produce(first, partition, 'old');
    expect(world.replicasOn(1, 2, 3, 4)).toBe(6);
    const away = [1, 2, 3, 4].find((id) => world.replicasOn(id) > 0)!;
    const left = [1, 2, 3, 4].filter((id) => id !== away);
    world.crash(away);
    await world.deleteTopic('orders');
    const second = await world.createTopic('orders', 2);
    for (const partition of [0, 1]) await world.produce(second, partition, 'new');
    await world.start(away);
    const kept = (): string[] => world.disks.get(away)!.mount().list('/data');
    await world.until(() => !kept().some((name) => /^orders-|stray|delete/.test(name)));
    await world.until(() => world.ensemble.peek('/admin/deleted_topics')?.names.length === 0);
    for (const id of left) expect(world.topicIdsOn(id)).not.toContain(first);
    for (const partition of [0, 1]) expect(await world.fetch(second, partition)).toEqual(['new']);
  });

  it('a broker is decommissioned: its replicas move, nothing is lost, and it may stop for good', async () => {
    const world = new World();
    await world.start(1, 2, 3, 4);
    const topicId = await world.createTopic('orders', 4);
    for (const partition of [0, 1, 2, 3]) await world.produce(topicId, partition, 'a');
    const leaving = 2;
    const others = [1, 3, 4];
    const duty = 'BROKER_DUTY_DECOMMISSIONED' as const;
    await world.call(1, (connection) =>
      connection.call(
        methods.admin.alterBroker,
        { brokerId: leaving, duty, timeoutMs: 10_000 },
        { timeoutMs: 11_000 },
      ),
    );
    await world.until(() => world.replicasOn(leaving) === 0);
    await world.until(() => world.replicasOn(...others) === 12);
    const left = world.disks.get(leaving)!.mount().list('/data');
    expect(left.filter((name) => name.startsWith('orders'))).toEqual([]);
    world.crash(leaving);
    for (const partition of [0, 1, 2, 3]) {
      expect(await world.produce(topicId, partition, 'b')).toBe(1);
      expect(await world.fetch(topicId, partition)).toEqual(['a', 'b']);
    }
  });

  it('a topic deleted and created again holds nothing of the old one', async () => {
    const world = new World();
    await world.start(1, 2, 3);
    const first = await world.createTopic('orders', 1);
    await world.produce(first, 0, 'old');
    await world.call(1, (connection) =>
      connection.call(
        methods.admin.deleteTopic,
        { topic: 'orders', timeoutMs: 5_000 },
        { timeoutMs: 6_000 },
      ),
    );
    const second = await world.createTopic('orders', 1);
    await world.produce(second, 0, 'new');
    expect(await world.fetch(second, 0)).toEqual(['new']);
    await expect(world.produce(first, 0, 'stale')).rejects.toThrow(
      /TOPIC_ID_MISMATCH|UNKNOWN_TOPIC/,
    );
  });

  it('a graceful stop: writes go on, and the stopped broker returns', async () => {
    const world = new World();
    await world.start(1, 2, 3);
    const topicId = await world.createTopic('orders', 3);
    for (const partition of [0, 1, 2]) await world.produce(topicId, partition, 'before');
    const { broker } = world.nodes.get(2)!;
    const before = world.clock.now();
    await world.clock.settleWithin(broker.stop({ graceful: true }), 4_000);
    expect(world.clock.now() - before).toBeLessThan(3_000);
    world.nodes.delete(2);
    for (const partition of [0, 1, 2]) await world.produce(topicId, partition, 'while');
    await world.start(2);
    for (const partition of [0, 1, 2]) {
      expect(await world.fetch(topicId, partition)).toEqual(['before', 'while']);
    }
  });
});
