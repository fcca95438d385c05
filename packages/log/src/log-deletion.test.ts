/** Deletions of many replicas of one log directory: side by side, with shared syncs, and safe at any moment. */
import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import { describeRecords, makeBatch, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import { LANES } from './change-queue';
import { LogDirectory } from './log-directory';

const directory = '/data';
const config = { ...defaultTopicConfig, segmentBytes: 1024, maxMessageBytes: 10_000 };
const ORDERS = 'ordersAAAAAAAAAAAAAAAA';
const AGAIN = 'ordersBBBBBBBBBBBBBBBB';
const clean = { clean: true, brokerEpoch: 42 };

/** Its syncs of the log directory end when they are told to. */
class HeldDisk extends SimulatedDisk {
  held: (() => void)[] | undefined;
  syncsOfDirectory = 0;

  override async syncDirectory(path: string): Promise<void> {
    if (path !== directory) return super.syncDirectory(path);
    this.syncsOfDirectory += 1;
    const { held } = this;
    if (held) await new Promise<void>((resolve) => held.push(resolve));
    return super.syncDirectory(path);
  }

  async release(): Promise<void> {
    this.held?.shift()?.();
    await settle();
  }

  names(ending: string): string[] {
    return this.list(directory).filter((name) => name.endsWith(ending));
  }
}

const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const openOn = (disk: SimulatedDisk): Promise<LogDirectory> =>
  LogDirectory.open({
    ...{ disk: disk.mount(), directory, brokerId: 1, clock: new SimulatedClock() },
    ...{ random: seededRandom(1), logger: silentLogger, configFor: () => config },
  });

async function storeWith(disk: SimulatedDisk, partitions: number): Promise<LogDirectory> {
  const store = await openOn(disk);
  for (let partition = 0; partition < partitions; partition += 1) {
    const log = await store.create('orders', ORDERS, partition, config);
    log.appendAsLeader(makeBatch({ values: [`of ${partition}`] }), { leaderEpoch: 0 });
  }
  return store;
}

test(`many at once go side by side, ${LANES} at a time, and share the syncs of the directory`, async () => {
  const disk = new HeldDisk();
  const count = LANES + 20;
  const store = await storeWith(disk, count);
  disk.held = [];
  disk.syncsOfDirectory = 0;
  const gone: number[] = [];
  const all = Array.from({ length: count }, (_, partition) =>
    store.delete(ORDERS, partition).then(() => gone.push(partition)),
  );
  await settle();
  // All of them are renamed, and wait for two syncs.
  expect([disk.names('-delete').length, disk.syncsOfDirectory]).toEqual([LANES, 1]);
  expect(gone).toEqual([]);
  await disk.release();
  expect(disk.syncsOfDirectory).toBe(2);
  expect(gone).toHaveLength(1);
  while (disk.held.length > 0) await disk.release();
  await Promise.all(all);
  expect(disk.list(directory).filter((name) => name.startsWith('orders'))).toEqual([]);
  expect(disk.syncsOfDirectory).toBeLessThan(10);
});

test('none of it is brought to the device first', async () => {
  const disk = new SimulatedDisk();
  const store = await storeWith(disk, 10);
  const { datasync = 0 } = disk.calls;
  await Promise.all(Array.from({ length: 10 }, (_, partition) => store.delete(ORDERS, partition)));
  expect(disk.calls.datasync).toBe(datasync);
});

test('another topic of that name is created after the deletion, however early it is asked for', async () => {
  const disk = new HeldDisk();
  const store = await storeWith(disk, 2);
  disk.held = [];
  const deleted = store.delete(ORDERS, 0);
  const created = store.create('orders', AGAIN, 0, config);
  await settle();
  expect(store.logs().map(({ topicId, partition }) => [topicId, partition])).toEqual([[ORDERS, 1]]);
  while (disk.held.length > 0) await disk.release();
  await deleted;
  expect((await created).logEndOffset).toBe(0);
});

test('what goes alone waits for deletions that are under way: closing leaves none behind', async () => {
  const disk = new HeldDisk();
  const store = await storeWith(disk, 3);
  disk.held = [];
  const deleted = store.delete(ORDERS, 0);
  const closed = store.close(clean);
  await settle();
  expect(disk.exists(`${directory}/.kafka_cleanshutdown`)).toBe(false);
  disk.held.splice(0).forEach((release) => release());
  disk.held = undefined;
  await Promise.all([deleted, closed]);
  const again = await openOn(disk);
  expect([again.previousStop.kind, again.logs().length]).toEqual(['clean', 2]);
});

test('one that could not be renamed was not flushed: the shutdown does not vouch for it', async () => {
  const disk = new SimulatedDisk();
  const store = await storeWith(disk, 2);
  disk.failNext('rename', { path: 'orders-0' });
  await expect(store.delete(ORDERS, 0)).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  await store.close(clean);
  const again = await openOn(disk);
  expect(again.cleanShutdownEpoch).toBeUndefined();
  await again.delete(ORDERS, 0);
  await again.close(clean);
  expect((await openOn(disk)).cleanShutdownEpoch).toBe(42);
});

test('the power fails at any moment: the others are whole, and what was answered as deleted is gone', async () => {
  for (let write = 1; ; write += 1) {
    const disk = new SimulatedDisk();
    const store = await storeWith(disk, 4);
    await Promise.all(store.logs().map((log) => log.flush()));
    disk.cutPowerAt(disk.writes + write, seededRandom(write));
    const outcomes = await Promise.allSettled([1, 2, 3].map((n) => store.delete(ORDERS, n)));
    const again = await openOn(disk);
    for (const [index, outcome] of outcomes.entries()) {
      const found = again.get(ORDERS, index + 1);
      if (outcome.status === 'fulfilled') expect(found).toBeUndefined();
      // There still: with all that was on the device, to be deleted by the next order.
      if (found) expect(describeRecords(found.read(0, 1_000, Infinity))).toEqual([`0:of ${index + 1}`]);
      await again.delete(ORDERS, index + 1);
    } // prettier-ignore
    const kept = again.get(ORDERS, 0)!.read(0, 1_000, Infinity);
    expect(describeRecords(kept)).toEqual(['0:of 0']);
    expect(disk.list(directory).filter((name) => name.startsWith('orders'))).toEqual(['orders-0']);
    if (outcomes.every(({ status }) => status === 'fulfilled')) {
      expect(write).toBeGreaterThan(6);
      return;
    }
  }
});
