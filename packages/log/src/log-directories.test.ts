/** Several log directories of one broker, each on a disk of its own that may fail while the others serve. */
import { defaultTopicConfig, seededRandom, silentLogger, type Logger } from '@tributary/common';
import { makeBatch, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import { LogDirectories } from './log-directories';
import type { LogDirectoriesOptions } from './log-directories-opening';
import type { PartitionLog } from './partition-log';
import { RecoveryProgress } from './recovery-progress';

const config = { ...defaultTopicConfig, segmentBytes: 1024, maxMessageBytes: 10_000 };
const ORDERS = 'ordersAAAAAAAAAAAAAAAA';
const clean = { clean: true, brokerEpoch: 42 };
const random = seededRandom(5);
const paths = ['/a', '/b'];
let disk: SimulatedDisk;
let clock: SimulatedClock;
let errors: string[];

beforeEach(() => {
  disk = new SimulatedDisk();
  clock = new SimulatedClock();
  errors = [];
});

const tell: Logger['error'] = (message, fields) =>
  errors.push(`${message}: ${JSON.stringify(fields)}`);

const options = (directories: readonly string[]): LogDirectoriesOptions => ({
  disk,
  directories,
  brokerId: 1,
  clock,
  random,
  logger: { ...silentLogger, error: tell },
  configFor: () => config,
});

const open = (directories = paths): Promise<LogDirectories> =>
  LogDirectories.open(options(directories));

const create = (store: LogDirectories, partition: number): Promise<PartitionLog> =>
  store.create('orders', ORDERS, partition, config);

/** Partitions 0 to count-1, each with one record that names it. */
async function fill(store: LogDirectories, count = 4): Promise<void> {
  for (let partition = 0; partition < count; partition += 1) {
    append(await create(store, partition), `${partition}`);
  }
}

function append(log: PartitionLog, value: string): void {
  log.appendAsLeader(makeBatch({ values: [value] }), { leaderEpoch: 0 });
}

const partitionsIn = (path: string): string[] =>
  disk.list(path).filter((name) => name.startsWith('orders'));

const served = (store: LogDirectories): number[] =>
  store
    .logs()
    .filter(({ failure }) => !failure)
    .map(({ partition }) => partition)
    .sort();

const lost = (store: LogDirectories): string[] =>
  store.lost().map(({ partition, damaged }) => `${partition}${damaged ? ' damaged' : ''}`);

const died = (loseUnsynced = false): void => disk.crash({ loseUnsynced, random });

/** Nothing in it can be locked any more. */
const fails = (path: string): void =>
  disk.failNext('lock', { path, times: Infinity, code: 'STORAGE_ERROR' });

/** A new, empty disk in place of the old one. */
function replace(path: string): void {
  disk.rename(path, `/old${path}`);
}

beforeEach(() => disk.makeDirectory('/old'));

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: unknown) => (error as { code: string }).code,
  );
}

test('new replicas go where the fewest are, and are found there again', async () => {
  const store = await open(['/a', '/b', '/c']);
  await Promise.all([0, 1, 2, 3, 4, 5].map((partition) => create(store, partition)));
  for (const path of ['/a', '/b', '/c']) expect(partitionsIn(path)).toHaveLength(2);
  await store.close(clean);
  const again = await open(['/a', '/b', '/c']);
  expect(served(again)).toEqual([0, 1, 2, 3, 4, 5]);
  expect(again.directories().map(({ path, partitions }) => `${path} ${partitions}`)).toEqual([
    '/a 2',
    '/b 2',
    '/c 2',
  ]);
});

test('one directory alone, to which a second one comes', async () => {
  const store = await open(['/a']);
  await fill(store, 2);
  await store.close(clean);
  const two = await open(['/a', '/b']);
  append(await create(two, 2), '2');
  expect(partitionsIn('/b')).toEqual(['orders-2']);
  expect(disk.list('/a')).toContain('.tributary_placement');
});

test.each([1, 2])(
  'a partition directory that is gone, of %i log directories: lost, and no empty one comes in its place',
  async (count) => {
    const directories = paths.slice(0, count);
    for (const ending of ['died', 'closed']) {
      const store = await open(directories);
      await fill(store, 2);
      if (ending === 'closed') await store.close(clean);
      else died();
      disk.remove('/a/orders-0');
      const again = await open(directories);
      expect(served(again)).toEqual([1]);
      expect(again.lost()).toEqual([
        {
          ...{ topic: 'orders', topicId: ORDERS, partition: 0, damaged: true },
          reason: '/a/orders-0 is missing',
        },
      ]);
      expect(await codeOf(create(again, 0))).toBe('STORAGE_ERROR');
      await again.setAsideDamaged({ topic: 'orders', topicId: ORDERS, partition: 0 });
      expect(again.lost()).toEqual([]);
      expect((await create(again, 0)).logEndOffset).toBe(0);
      await again.close(clean);
      disk.remove('/a');
      disk.remove('/b');
    }
  },
);

test('an earlier version wrote no record for one directory: what is there counts', async () => {
  const store = await open(['/a']);
  await fill(store, 2);
  await store.close(clean);
  disk.remove('/a/.tributary_placement');
  const again = await open(['/a']);
  expect(served(again)).toEqual([0, 1]);
  expect(again.lost()).toEqual([]);
  died();
  disk.remove('/a/orders-1');
  expect(lost(await open(['/a']))).toEqual(['1 damaged']);
});

test('a directory that cannot be used at the start: the others serve, and nothing of it is made empty elsewhere', async () => {
  await fill(await open());
  died();
  fails('/b');
  const store = await open();
  expect(served(store)).toEqual([0, 2]);
  expect(lost(store)).toEqual(['1', '3']);
  expect(store.lost()[0]?.reason).toMatch(/^log directory \/b is offline: /);
  expect(store.directories()).toMatchObject([
    { path: '/a', failure: undefined },
    { path: '/b', failure: expect.stringContaining('injected failure') as string },
  ]);
  expect(errors).toEqual([
    expect.stringContaining('a log directory cannot be used and is offline'),
  ]);
  expect(await codeOf(create(store, 1))).toBe('STORAGE_ERROR');
  append(await create(store, 9), 'new'); // what never was here may be made
  expect(partitionsIn('/a')).toEqual(['orders-0', 'orders-2', 'orders-9']);
  died();
  const again = await open();
  expect(served(again)).toEqual([0, 1, 2, 3, 9]);
  expect(again.lost()).toEqual([]);
});

test('all directories fail: no start', async () => {
  await fill(await open());
  died();
  for (const path of paths) fails(path);
  expect(await codeOf(open())).toBe('STORAGE_ERROR');
});

test('a locked directory, or one of another broker, is no failed disk: no start', async () => {
  const lock = (await open(['/b'])) && undefined;
  expect(lock).toBeUndefined();
  expect(await codeOf(open())).toBe('DATA_DIR_LOCKED');
  died();
  expect(await codeOf(open())).toBe('no error'); // and /a was unlocked again
});

test('a directory that fails while running: its logs are offline, the others go on, new ones go elsewhere', async () => {
  const store = await open();
  await fill(store);
  disk.failNext('append', { path: '/b/orders-1' });
  disk.failNext('open', { path: '/b/', times: Infinity });
  expect(() => append(store.get(ORDERS, 1)!, 'x')).toThrow('offline');
  await clock.advance(10);
  expect(served(store)).toEqual([0, 2]);
  expect(store.get(ORDERS, 3)?.failure?.message).toMatch(/^log directory \/b is offline/);
  expect(store.lost()).toEqual([]); // they are there, as failed logs
  await fill(store, 1);
  append(await create(store, 4), '4');
  expect(partitionsIn('/a')).toEqual(['orders-0', 'orders-2', 'orders-4']);
  await store.checkpointHighWatermarks([0, 1, 4].map((partition) => ({ ...orders(partition), offset: 1 })));
  await store.noteBrokerEpoch(43);
  await store.close(clean);
  died(); // the disk is well again
  const again = await open();
  expect(served(again)).toEqual([0, 1, 2, 3, 4]);
  expect([0, 1, 4].map((p) => again.checkpointedHighWatermark(ORDERS, p))).toEqual([1, 0, 1]);
}); // prettier-ignore

const orders = (partition: number): { topic: string; topicId: string; partition: number } => ({
  topic: 'orders',
  topicId: ORDERS,
  partition,
});

test('a disk replaced by a new one: its replicas are damaged, and made anew only once they were given up', async () => {
  const store = await open();
  await fill(store);
  await store.close(clean);
  replace('/b');
  const again = await open();
  expect(served(again)).toEqual([0, 2]);
  expect(lost(again)).toEqual(['1 damaged', '3 damaged']);
  expect(again.lost()[0]?.reason).toContain('its disk was replaced');
  expect(await codeOf(create(again, 1))).toBe('STORAGE_ERROR');
  await again.setAsideDamaged(orders(1));
  expect((await create(again, 1)).logEndOffset).toBe(0);
  expect(partitionsIn('/b')).toEqual(['orders-1']);
  expect(lost(again)).toEqual(['3 damaged']);
  died(true);
  const third = await open(); // still so after a power failure
  expect([served(third), lost(third)]).toEqual([[0, 1, 2], ['3 damaged']]);
});

test('the old disk comes back after its replicas were refilled elsewhere: its copies are strays', async () => {
  const store = await open();
  await fill(store, 2);
  await store.close(clean);
  replace('/b');
  const second = await open(['/a']);
  expect(lost(second)).toEqual(['1 damaged']);
  await second.setAsideDamaged(orders(1));
  append(await create(second, 1), 'refilled');
  append(second.get(ORDERS, 1)!, 'and more');
  await second.close(clean);
  disk.rename('/old/b', '/b');
  const third = await open();
  expect(third.get(ORDERS, 1)?.logEndOffset).toBe(2);
  expect(third.strays()).toEqual([orders(1)]);
});

test('a topic deleted while its disk is offline: what comes back is a stray, not a replica', async () => {
  await fill(await open(), 2);
  died();
  fails('/b');
  const store = await open();
  await store.delete(ORDERS, 1);
  expect(store.lost()).toEqual([]);
  died();
  const again = await open();
  expect([served(again), again.strays()]).toEqual([[0], [orders(1)]]);
  await again.delete(ORDERS, 1);
  expect(again.strays()).toEqual([]);
});

test('a replica in two directories: the record says which one counts; both are kept', async () => {
  const store = await open();
  await fill(store, 1);
  await store.close(clean);
  copy('/a/orders-0', '/b/orders-0');
  const again = await open();
  expect(served(again)).toEqual([0]);
  expect(again.strays()).toEqual([orders(0)]);
});

test('a replica in two directories, and no record: offline, both are kept', async () => {
  const store = await open();
  await fill(store, 1);
  await store.close(clean);
  copy('/a/orders-0', '/b/orders-0');
  for (const path of paths) disk.remove(`${path}/.tributary_placement`);
  const again = await open();
  expect([served(again), lost(again)]).toEqual([[], ['0']]);
  expect(again.lost()[0]?.reason).toBe('orders-0 lies in /a and in /b: take one of them away');
  expect(await codeOf(create(again, 0))).toBe('STORAGE_ERROR');
  await again.close(clean);
  disk.remove('/b/orders-0');
  expect(served(await open())).toEqual([0]);
});

test('no record can be read and a directory is offline: what lies in it is unknown, so nothing starts', async () => {
  const store = await open();
  await fill(store, 2);
  await store.close(clean);
  disk.flipBit('/a/.tributary_placement', 30);
  fails('/b');
  await expect(open()).rejects.toMatchObject({
    message: expect.stringContaining('no other one knows which replicas lie in it') as string,
  });
  died();
  const again = await open(); // the other record is well
  expect(served(again)).toEqual([0, 1]);
  expect(errors.filter((line) => line.startsWith('a placement record is damaged'))).toHaveLength(2);
});

test('a partition directory that vanished is lost, not made anew', async () => {
  const store = await open();
  await fill(store, 2);
  await store.close(clean);
  disk.remove('/b/orders-1');
  const again = await open();
  expect(again.lost()).toEqual([{ ...orders(1), damaged: true, reason: '/b/orders-1 is missing' }]);
  expect(await codeOf(create(again, 1))).toBe('STORAGE_ERROR');
});

test('a power failure at any moment of a creation: the replica is there, or never was', async () => {
  for (let seed = 0; seed < 60; seed += 1) {
    disk = new SimulatedDisk();
    const store = await open();
    await fill(store, 1);
    let counts = false;
    const creation = create(store, 1).then(
      () => (counts = true),
      () => undefined,
    );
    for (let i = 0; i < seed; i += 1) await Promise.resolve();
    const didCount = counts;
    disk.crash({ loseUnsynced: true, random: seededRandom(seed) });
    await creation;
    const again = await open();
    if (didCount) expect([served(again), again.lost()]).toEqual([[0, 1], []]);
    expect(again.lost()).toEqual([]);
    expect((await create(again, 1)).logEndOffset).toBe(0);
  }
});

test('a full disk in one of them: no replica is made that not all would know of, until there is room', async () => {
  const store = await open();
  await fill(store, 1);
  disk.failNext('append', { path: '/a/.tributary_placement', code: 'DISK_FULL' });
  expect(await codeOf(create(store, 1))).toBe('DISK_FULL');
  expect([served(store), store.lost()]).toEqual([[0], []]);
  append(await create(store, 1), 'a');
  expect(partitionsIn('/b')).toEqual(['orders-1']);
});

test('many creations at once are all recorded', async () => {
  const store = await open();
  await Promise.all(Array.from({ length: 40 }, (_, partition) => create(store, partition)));
  died(true);
  const again = await open();
  expect([served(again).length, again.lost()]).toEqual([40, []]);
});

test('creating twice gives the same log, also at once', async () => {
  const store = await open();
  const [first, second] = await Promise.all([create(store, 0), create(store, 0)]);
  expect(first).toBe(second);
});

test('high watermarks lie with their logs, also where two topics had one name', async () => {
  const store = await open();
  await fill(store, 1);
  const again = 'ordersBBBBBBBBBBBBBBBB';
  append(await store.create('orders', again, 0, config), 'b');
  await store.checkpointHighWatermarks([
    { topic: 'orders', topicId: ORDERS, partition: 0, offset: 1 },
    { topic: 'orders', topicId: again, partition: 0, offset: 0 },
  ]);
  await store.close(clean);
  const later = await open();
  expect([ORDERS, again].map((id) => later.checkpointedHighWatermark(id, 0))).toEqual([1, 0]);
});

test('how the process before ended: of all directories the worst, and new ones say nothing', async () => {
  const store = await open(['/a']);
  await store.noteBrokerEpoch(7);
  await store.close({ clean: true, brokerEpoch: 7 });
  const two = await open(['/a', '/b']);
  expect(two.previousStop).toEqual({ kind: 'clean', brokerEpoch: 7 });
  await two.noteBrokerEpoch(8);
  died(true);
  expect((await open()).previousStop).toEqual({ kind: 'machine', brokerEpoch: 8 });
});

test('how far recovery is, over all directories', async () => {
  const store = await open();
  await fill(store);
  died();
  const progress = new RecoveryProgress();
  await LogDirectories.open({ ...options(paths), progress });
  expect(progress.text).toBe('4 of 4 logs, 0 of 0 MiB');
  const nothing = new RecoveryProgress();
  died();
  disk = new SimulatedDisk();
  await LogDirectories.open({ ...options(paths), progress: nothing });
  expect(nothing.text).toBe('');
});

test('a data directory apart from the logs is locked with them', async () => {
  const store = await LogDirectories.open({ ...options(paths), alsoLocked: '/separate' });
  expect(() => disk.lockDirectory('/separate')).toThrow('in use');
  await store.close(clean);
  disk.lockDirectory('/separate').unlock();
  for (const path of paths) fails(path);
  expect(await codeOf(LogDirectories.open({ ...options(paths), alsoLocked: '/separate' }))).toBe(
    'STORAGE_ERROR',
  );
  disk.lockDirectory('/separate').unlock();
});

function copy(from: string, to: string): void {
  disk.makeDirectory(to);
  for (const name of disk.list(from)) {
    const source = disk.openFile(`${from}/${name}`);
    disk.openFile(`${to}/${name}`, { create: true }).append([source.read(0, source.size)]);
  }
}
