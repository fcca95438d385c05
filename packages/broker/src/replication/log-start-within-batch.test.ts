/** Records are deleted up to the middle of a batch, on real logs: replicas that are behind that come back all the same. */
import type { PartitionLog } from '@tributary/log';
import { TOPIC_ID } from './data-cluster.fixture';
import { DiskWorld } from './disk-world.fixture';

const IDS = [1, 2, 3];
let w: DiskWorld;

beforeEach(async () => {
  w = await DiskWorld.of(IDS);
  await w.within(w.cluster.createTopic([IDS]));
});
afterEach(() => w.close());

async function write(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const values = ['a', 'b', 'c', 'd'].map((letter) => `${letter}${i}`.padEnd(200, '.'));
    const { error } = await w.within(w.cluster.produce(1, values, { acks: -1 }));
    if (error) throw new Error(`${error.code} ${error.message}`);
  }
}

const logOf = (id: number): PartitionLog => w.storeOf(id).get(TOPIC_ID, 0)!;

async function inSync(): Promise<void> {
  await w.clock.runUntil(() => w.isr().length === 3, 30_000);
  await w.clock.advance(1_000);
  for (const id of IDS) {
    expect(logOf(id).logStartOffset).toBe(logOf(1).logStartOffset);
    expect(w.values(id)).toEqual(w.values(1));
  }
}

it.each<[string, number]>([
  ['that has nothing', 0],
  ['that ends before the log start', 3],
  ['that ends where the batch of the log start begins', 10],
])('a follower %s', async (_which, first) => {
  if (first === 0) w.crash(3);
  else await write(first);
  if (first > 0) w.crash(3);
  await w.within(w.cluster.elect(1, { isr: [1, 2] }));
  await write(20);
  for (const id of [1, 2]) logOf(id).deleteRecordsBefore(42);
  await w.start(3);
  await inSync();
  expect(logOf(3).logStartOffset).toBe(42);
  await write(1);
  await inSync();
});

it('again after the broker that had nothing was killed once more', async () => {
  w.crash(3);
  await w.within(w.cluster.elect(1, { isr: [1, 2] }));
  await write(20);
  for (const id of [1, 2]) logOf(id).deleteRecordsBefore(42);
  await w.start(3);
  await inSync();
  w.crash(3);
  await w.within(w.cluster.elect(1, { isr: [1, 2] }));
  for (const id of [1, 2]) logOf(id).deleteRecordsBefore(79);
  await write(3);
  await w.start(3);
  await inSync();
  expect(logOf(3).logStartOffset).toBe(79);
});

it('records are deleted while the follower is about to be sent them', async () => {
  w.network.partition('b1', 'b3');
  await w.clock.advance(15_000);
  await write(20);
  w.network.heal();
  for (const before of [6, 23, 42, 79]) {
    for (const id of [1, 2]) logOf(id).deleteRecordsBefore(before);
    await w.clock.advance(20);
  }
  await inSync();
  expect(logOf(3).logStartOffset).toBe(79);
});
