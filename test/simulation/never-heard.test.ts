/**
 * A leader that never heard of its partition: the state names it, and its session ends before the controller reaches it.
 * The process that registers anew is the one that was named, so nothing can be lost, and it leads; a process that begins
 * on new disks is another, and waits for a person (docs/adr/0020-what-a-seat-is-worth.md). Whole brokers with their controller.
 */
import type { Admin } from '@tributary/client';
import { SimulatedCluster } from '@tributary/testkit';

const TOPIC = 'orders';
const PARTITIONS = 3;
const MINUTE = 60_000;

let cluster: SimulatedCluster;
let admin: Admin;

const run = <T>(work: () => Promise<T>): Promise<T> => cluster.run(work, 5 * MINUTE);

beforeEach(() => {
  cluster = new SimulatedCluster({ seed: 7 });
  return run(async () => {
    await cluster.start();
    admin = cluster.client('admin').admin();
  });
});

afterEach(() => run(() => cluster.stop()));

/** Nothing that the controller says arrives any more, while `change` makes partitions up to PARTITIONS, each on one broker. */
async function namedOutOfReach(change: () => Promise<unknown>): Promise<Map<number, number>> {
  const controller = cluster.controllerId!;
  for (const id of cluster.brokerIds) {
    if (id !== controller) cluster.partition(`broker-${controller}`, `broker-${id}`, { oneWay: true }); // prettier-ignore
  }
  change().catch(() => undefined); // it waits for leaders, which are not there yet
  const leaders = new Map<number, number>();
  await cluster.until(() => {
    for (const { text } of cluster.logged) {
      const [, partition, leader] = new RegExp(`"${TOPIC}-(\\d+)","what":"leader (\\d+), epoch 0.0`).exec(text) ?? []; // prettier-ignore
      if (partition !== undefined) leaders.set(Number(partition), Number(leader));
    }
    return leaders.size === PARTITIONS;
  }, MINUTE);
  return new Map([...leaders].filter(([, leader]) => leader !== controller));
}

const create = (partitions: number): Promise<unknown> =>
  admin.createTopic({ topic: TOPIC, partitions, replicationFactor: 1 });

function hasHeard(partition: number, brokerId: number): boolean {
  const { partitions } = cluster.broker(brokerId).status!;
  return partitions.some((replica) => replica.partition === partition);
}

/** Of all these, each of which is registered anew in the same process when the network is whole again. */
async function sessionsEnd(brokerIds: Iterable<number>): Promise<void> {
  for (const id of new Set(brokerIds)) {
    const { status, sessionId } = cluster.broker(id);
    cluster.ensemble.expire(sessionId!);
    const isAnew = (): boolean => (cluster.broker(id).status?.brokerEpoch ?? 0) > status!.brokerEpoch!; // prettier-ignore
    await cluster.until(isAnew, MINUTE);
  }
  cluster.heal();
}

const leads = (partition: number, brokerId: number): boolean =>
  cluster.leadersOf(partition).includes(brokerId);

test('a new topic: its leaders register anew in the same processes, and lead', () =>
  run(async () => {
    const named = await namedOutOfReach(() => create(PARTITIONS));
    expect(named.size).toBeGreaterThan(0);
    for (const [partition, id] of named) expect(hasHeard(partition, id)).toBe(false);
    await sessionsEnd(named.values());
    await cluster.until(() => [...named].every(([partition, id]) => leads(partition, id)), MINUTE);
  }));

test('a partition that is added: the same', () =>
  run(async () => {
    await create(1);
    const named = await namedOutOfReach(() => admin.alterTopic(TOPIC, { partitions: PARTITIONS }));
    named.delete(0);
    expect(named.size).toBeGreaterThan(0);
    for (const [partition, id] of named) expect(hasHeard(partition, id)).toBe(false);
    await sessionsEnd(named.values());
    await cluster.until(() => [...named].every(([partition, id]) => leads(partition, id)), MINUTE);
  }));

test('other processes on new disks: nobody leads until a person says so', () =>
  run(async () => {
    const named = await namedOutOfReach(() => create(PARTITIONS));
    const [[partition, id] = [-1, -1]] = named;
    cluster.crash(id, { loseUnsynced: true });
    const { disk } = cluster.broker(id);
    disk.makeDirectory('/scrap');
    disk.rename('/data', '/scrap/data');
    cluster.heal();
    await cluster.restart(id);
    // Its session ends once more: of the process before the first one it says nothing.
    await sessionsEnd([id]);
    await cluster.until(() => cluster.broker(id).ready, MINUTE);
    expect(cluster.leadersOf(partition)).toEqual([]);
    await admin.electLeaders({ kind: 'unclean', partitions: [{ topic: TOPIC, partition }] });
    await cluster.until(() => leads(partition, id), MINUTE);
    expect(cluster.logged.some(({ text }) => text.includes(`unclean: none of ${id} can lead`))).toBe(true); // prettier-ignore
  }));
