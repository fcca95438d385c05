/** Whole brokers: a replica that is moved away while its broker is away. */
import { methods } from '@tributary/protocol';
import { World } from './broker-world.fixture';

interface Moved {
  readonly world: World;
  readonly topicId: string;
  /** Not registered; its disk has a replica of partition 0 that is not assigned to it any more. */
  readonly away: number;
  readonly others: readonly number[];
}

async function movedAway(): Promise<Moved> {
  const world = new World();
  await world.start(1, 2, 3, 4);
  const topicId = await world.createTopic('orders', 2);
  for (const partition of [0, 1]) await world.produce(topicId, partition, 'before');
  const assigned = assignment(world)[0]!;
  const away = assigned[0]!;
  await moveTo(world, [...assigned.slice(1), away]);
  world.crash(away);
  await world.until(() => !registered(world).includes(away));
  await world.until(() => world.leaders().get(0)?.length === 1);
  // Who leads is the preferred leader: no other one is elected meanwhile.
  const leader = world.leaders().get(0)![0]!;
  const others = [leader, ...[1, 2, 3, 4].filter((id) => id !== away && id !== leader)];
  await moveTo(world, others);
  await world.until(() => assignment(world)[0]?.join() === others.join());
  await world.until(() => owed(world)[0]?.join() === `${away}`);
  expect(filesOf(world, away)).toContain('orders-0');
  await written(world, topicId, 'after');
  return { world, topicId, away, others };
}

/** To partition 0, once whoever is named leader has taken office in the newest epoch. */
async function written(world: World, topicId: string, value: string): Promise<void> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      await world.produce(topicId, 0, value);
      return;
    } catch (error) {
      if (attempt > 20 || !/NOT_LEADER/.test(String(error))) throw error;
      await world.clock.advance(100);
    }
  }
}

async function moveTo(world: World, replicas: readonly number[]): Promise<void> {
  const through = [...world.nodes.keys()][0]!;
  const one = { topic: 'orders', partition: 0, replicas: [...replicas] };
  const request = { reassignments: [one], timeoutMs: 10_000 };
  const answer = await world.call(through, (connection) =>
    connection.call(methods.admin.reassignPartitions, request, { timeoutMs: 11_000 }),
  );
  expect(answer.partitions[0]?.error?.code ?? 'NONE').toBe('NONE');
}

interface TopicNode {
  readonly partitions: Record<number, number[]>;
  readonly owed_replicas?: Record<number, number[]>;
}

function stored(world: World, path: string): unknown {
  return JSON.parse(world.ensemble.peek(path)!.node.data.toString());
}

function topicNode(world: World): TopicNode {
  return stored(world, '/brokers/topics/orders') as TopicNode;
}

const assignment = (world: World): Record<number, number[]> => topicNode(world).partitions;
const owed = (world: World): Record<number, number[]> => topicNode(world).owed_replicas ?? {};

function registered(world: World): number[] {
  return (world.ensemble.peek('/brokers/ids')?.names ?? []).map(Number);
}

function filesOf(world: World, brokerId: number): string[] {
  const names = world.disks.get(brokerId)!.mount().list('/data');
  return names.filter((name) => name.startsWith('orders-0'));
}

function has(world: World, brokerId: number, highWatermark: number): boolean {
  const partitions = world.nodes.get(brokerId)?.broker.status().partitions ?? [];
  return partitions.some((one) => one.partition === 0 && one.highWatermark === highWatermark);
}

test('is deleted when the broker returns; what it is assigned stays, and the note goes', async () => {
  const { world, topicId, away } = await movedAway();
  const keeps = assignment(world)[1]!.includes(away);
  await world.start(away);
  await world.until(() => filesOf(world, away).length === 0);
  await world.until(() => owed(world)[0] === undefined);
  expect(world.replicasOn(away)).toBe(keeps ? 1 : 0);
  for (const [partition, values] of [['before', 'after'], ['before']].entries()) {
    expect(await world.fetch(topicId, partition)).toEqual(values);
  }
});

test('is deleted also where the controller that noted it is gone by then', async () => {
  const { world, topicId, away } = await movedAway();
  const { brokerid: controller } = stored(world, '/controller') as { brokerid: number };
  world.crash(controller);
  await world.until(() => !registered(world).includes(controller));
  await world.start(away);
  await world.until(() => filesOf(world, away).length === 0);
  await world.until(() => owed(world)[0] === undefined);
  expect(await world.fetch(topicId, 0)).toEqual(['before', 'after']);
});

test('is kept where it is moved back: it follows, is in sync, and nothing deletes it afterwards', async () => {
  const { world, topicId, away, others } = await movedAway();
  const starting = world.start(away);
  await world.until(() => registered(world).includes(away));
  const target = [...others.slice(0, 2), away];
  await moveTo(world, target);
  expect(owed(world)).toEqual({});
  await starting;
  await world.until(() => assignment(world)[0]?.join() === target.join());
  await written(world, topicId, 'back');
  await world.until(() => has(world, away, 3));
  await world.clock.advance(30_000);
  expect(filesOf(world, away)).toEqual(['orders-0']);
  expect(owed(world)).toEqual({});
  expect(has(world, away, 3)).toBe(true);
  expect(await world.fetch(topicId, 0)).toEqual(['before', 'after', 'back']);
});

test('a topic that is deleted meanwhile, and created again: the old replica goes, the new one stays', async () => {
  const { world, away } = await movedAway();
  await world.deleteTopic('orders');
  const second = await world.createTopic('orders', 1);
  await world.produce(second, 0, 'new');
  await world.start(away);
  await world.until(() => world.ensemble.peek('/admin/deleted_topics')?.names.length === 0);
  const assigned = assignment(world)[0]!.includes(away);
  await world.until(() => filesOf(world, away).length === (assigned ? 1 : 0));
  expect(await world.fetch(second, 0)).toEqual(['new']);
});
