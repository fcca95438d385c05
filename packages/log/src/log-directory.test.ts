/** A broker's log directory: whose it is, what lies in it, and what it remembers over restarts. */
import { defaultTopicConfig, seededRandom, silentLogger, type Logger } from '@tributary/common';
import { describeRecords, makeBatch, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import { CHECKPOINT_INTERVAL_MS } from './checkpoint-schedule';
import { LogDirectory } from './log-directory';
import type { LogDirectoryOptions } from './log-directory-options';
import type { PartitionLog } from './partition-log';

const directory = '/var/lib/tributary';
const config = { ...defaultTopicConfig, segmentBytes: 1024, maxMessageBytes: 10_000 };
const ORDERS = 'ordersAAAAAAAAAAAAAAAA';
const ORDERS_AGAIN = 'ordersBBBBBBBBBBBBBBBB';
const clean = { clean: true, brokerEpoch: 42 };
let disk: SimulatedDisk;
let clock: SimulatedClock;

beforeEach(() => {
  disk = new SimulatedDisk();
  clock = new SimulatedClock();
});

const open = (options: Partial<LogDirectoryOptions> = {}): Promise<LogDirectory> =>
  LogDirectory.open({
    disk,
    directory,
    brokerId: 1,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    configFor: () => config,
    ...options,
  });

const create = (store: LogDirectory, partition = 0, topicId = ORDERS): Promise<PartitionLog> =>
  store.create('orders', topicId, partition, config);

function append(log: PartitionLog, value: string): void {
  log.appendAsLeader(makeBatch({ values: [value] }), { leaderEpoch: 0 });
}

const read = (log: PartitionLog | undefined): string[] =>
  describeRecords(log!.read(0, 100_000, Infinity));

const kill = (loseUnsynced = false): void => disk.crash({ loseUnsynced, random: seededRandom(3) });

function fileText(name: string): string {
  const file = disk.openFile(`${directory}/${name}`);
  return file.read(0, file.size).toString();
}

function writeFile(name: string, text: string): void {
  const file = disk.openFile(`${directory}/${name}`, { create: true });
  file.truncate(0);
  file.append([Buffer.from(text)]);
  file.close();
}

test('a partition lies where Kafka would put it', async () => {
  const store = await open({ clusterId: 'C1' });
  const log = await create(store, 3);
  append(log, 'a');
  await store.checkpointHighWatermarks([{ topic: 'orders', partition: 3, offset: 1 }]);
  await store.close(clean);
  expect(disk.list(directory)).toEqual([
    '.kafka_cleanshutdown',
    '.tributary_running',
    'log-start-offset-checkpoint',
    'log-start-offset-checkpoint.crc',
    'meta.properties',
    'orders-3',
    'recovery-point-offset-checkpoint',
    'recovery-point-offset-checkpoint.crc',
    'replication-offset-checkpoint',
    'replication-offset-checkpoint.crc',
  ]);
  expect(disk.list(`${directory}/orders-3`)).toEqual([
    '00000000000000000000.index',
    '00000000000000000000.log',
    '00000000000000000000.seal',
    '00000000000000000000.timeindex',
    '00000000000000000001.snapshot',
    'leader-epoch-checkpoint',
    'leader-epoch-checkpoint.crc',
    'partition.metadata',
    'partition.metadata.crc',
  ]);
  expect(fileText('orders-3/partition.metadata')).toBe(`version: 0\ntopic_id: ${ORDERS}\n`);
  expect(fileText('orders-3/leader-epoch-checkpoint')).toBe('0\n1\n0 0\n');
  expect(fileText('replication-offset-checkpoint')).toBe('0\n1\norders 3 1\n');
  expect(fileText('recovery-point-offset-checkpoint')).toBe('0\n1\norders 3 1\n');
  expect(fileText('.kafka_cleanshutdown')).toBe('{"version":0,"brokerEpoch":42}');
  expect(fileText('meta.properties')).toMatch(
    /^# crc32c=[0-9a-f]{8}\nversion=1\nbroker.id=1\ncluster.id=C1\n$/,
  );
});

test.each([
  ['a clean shutdown', true, 42],
  ['kill -9', false, undefined],
])('after %s everything is there again', async (_end, isClean, epoch) => {
  const store = await open();
  const logs = [await create(store, 0), await create(store, 1)];
  for (let i = 0; i < 20; i += 1) append(logs[i % 2]!, `${i}`.padEnd(100, '.'));
  await store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 9 }]);
  const before = logs.map(read);
  if (isClean) await store.close(clean);
  else kill();
  const again = await open();
  expect([0, 1].map((partition) => read(again.get(ORDERS, partition)))).toEqual(before);
  expect(again.logs()).toHaveLength(2);
  expect(again.cleanShutdownEpoch).toBe(epoch);
  expect(again.checkpointedHighWatermark(ORDERS, 0)).toBe(9);
  expect(again.checkpointedHighWatermark(ORDERS, 1)).toBe(0);
  expect(again.cutBelowHighWatermark).toEqual([]);
});

test('KAFKA-10471: the clean-shutdown marker is gone before anything is loaded', async () => {
  const store = await open();
  append(await create(store), 'a');
  await store.close(clean);
  disk.failNext('open', { path: 'partition.metadata' });
  await open();
  expect(disk.exists(`${directory}/.kafka_cleanshutdown`)).toBe(false);
  kill(true);
  expect((await open()).cleanShutdownEpoch).toBeUndefined();
});

test('power failure right after a creation: the partition is there, with its topic id', async () => {
  const store = await open();
  const log = await create(store);
  append(log, 'a');
  await log.flush();
  append(log, 'b');
  kill(true);
  const again = await open();
  expect(read(again.get(ORDERS, 0))[0]).toBe('0:a');
});

test('recovery that cuts below the checkpointed high watermark is told', async () => {
  const store = await open();
  const log = await create(store);
  for (const value of ['a', 'b', 'c']) append(log, value);
  await store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 3 }]);
  kill();
  const file = disk.openFile(`${directory}/orders-0/00000000000000000000.log`);
  file.truncate(log.sizeBytes - 1);
  const again = await open();
  expect(again.cutBelowHighWatermark).toEqual(['orders-0']);
  expect(again.checkpointedHighWatermark(ORDERS, 0)).toBe(2);
});

test('the recovery point is remembered: after a roll, and lower after a truncation', async () => {
  const store = await open();
  const log = await create(store);
  for (let i = 0; i < 8; i += 1) append(log, `${i}`.padEnd(200));
  const settled = async (): Promise<string> => {
    await clock.advance(CHECKPOINT_INTERVAL_MS);
    return fileText('recovery-point-offset-checkpoint');
  };
  expect(await settled()).toBe('0\n1\norders 0 6\n');
  log.truncateTo(2);
  expect(await settled()).toBe('0\n1\norders 0 2\n');
});

test('one process at a time', async () => {
  const store = await open();
  expect(await codeOf(open())).toBe('DATA_DIR_LOCKED');
  await store.close(clean);
  expect(await codeOf(open())).toBe('no error');
});

test('a directory that cannot be opened is unlocked again', async () => {
  const store = await open();
  await store.close(clean);
  expect(await codeOf(open({ brokerId: 2 }))).toBe('INVALID_CONFIG');
  expect(await codeOf(open())).toBe('no error');
});

test('another broker’s directory is refused, saying whose it is', async () => {
  await (await open()).close(clean);
  await expect(open({ brokerId: 2 })).rejects.toMatchObject({
    message: expect.stringContaining('belongs to broker 1, this broker is 2') as string,
    hint: expect.stringContaining('broker.id') as string,
  });
});

test('another cluster’s directory is refused, when opened and when the cluster is known later', async () => {
  const store = await open();
  expect(store.clusterId).toBeUndefined();
  await store.confirmCluster('C1');
  await store.confirmCluster('C1');
  expect(await codeOf(store.confirmCluster('C2'))).toBe('CLUSTER_MISMATCH');
  await store.close(clean);
  await expect(open({ clusterId: 'C2' })).rejects.toMatchObject({
    code: 'CLUSTER_MISMATCH',
    message: expect.stringContaining('belongs to cluster C1') as string,
  });
  expect((await open({ clusterId: 'C1' })).clusterId).toBe('C1');
});

test.each([
  ['meta.properties', 'version=9\nbroker.id=1\n'],
  ['replication-offset-checkpoint', '7\n0\n'],
])('%s of an unknown format is refused', async (name, text) => {
  await (await open()).close(clean);
  writeFile(name, text);
  expect(await codeOf(open())).toBe('UNKNOWN_FORMAT');
});

test.each(['0\n5\norders 0 1\n', '0\n1\norders 0 x\n', '0\n1\norders 0', 'noise'])(
  'a damaged checkpoint costs time, not data: %j',
  async (text) => {
    const store = await open();
    append(await create(store), 'a');
    kill();
    for (const name of ['recovery-point', 'replication', 'log-start']) {
      writeFile(`${name}-offset-checkpoint`, text);
    }
    const again = await open();
    expect(read(again.get(ORDERS, 0))).toEqual(['0:a']);
  },
);

test('a directory that is not writable is refused', async () => {
  disk.failNext('lock', { code: 'DATA_DIR_NOT_WRITABLE' });
  expect(await codeOf(open())).toBe('DATA_DIR_NOT_WRITABLE');
});

test('a topic created again is another one: its log begins empty', async () => {
  const store = await open();
  append(await create(store), 'old');
  await store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 1 }]);
  expect(await codeOf(create(store, 0, ORDERS_AGAIN))).toBe('TOPIC_ID_MISMATCH');
  await store.delete(ORDERS, 0);
  expect(store.get(ORDERS, 0)).toBeUndefined();
  const again = await create(store, 0, ORDERS_AGAIN);
  expect([again.logEndOffset, store.checkpointedHighWatermark(ORDERS_AGAIN, 0)]).toEqual([0, 0]);
  expect(disk.list(directory).filter((name) => name.startsWith('orders'))).toEqual(['orders-0']);
});

test('a stray is kept, listed over restarts and not served, until it is deleted', async () => {
  const store = await open();
  append(await create(store), 'a');
  await store.moveAside(ORDERS, 0);
  expect(store.get(ORDERS, 0)).toBeUndefined();
  append(await create(store, 0, ORDERS_AGAIN), 'b');
  await store.close(clean);
  const again = await open();
  expect(again.logs().map((log) => log.topicId)).toEqual([ORDERS_AGAIN]);
  expect(again.strays()).toEqual([{ topic: 'orders', topicId: ORDERS, partition: 0 }]);
  await again.delete(ORDERS, 0);
  expect(again.strays()).toEqual([]);
  expect(read(again.get(ORDERS_AGAIN, 0))).toEqual(['0:b']);
});

test('a damaged replica is kept aside over restarts, and another one begins empty in its place', async () => {
  const store = await open();
  append(await create(store), 'a');
  const replica = { topic: 'orders', topicId: ORDERS, partition: 0 };
  for (let round = 1; round <= 2; round += 1) {
    await store.setAsideDamaged(replica);
    expect((await create(store)).logEndOffset).toBe(0);
    expect(store.damaged()).toHaveLength(round); // none overwrites another
  }
  await store.close(clean);
  const again = await open();
  expect(again.damaged()).toEqual([replica, replica]);
  await again.removeDamaged(ORDERS, 0);
  expect(again.damaged()).toEqual([]);
  expect(again.get(ORDERS, 0)?.logEndOffset).toBe(0);
});

test('a replica of which cannot be told whose it is, is set aside by its name', async () => {
  const store = await open();
  append(await create(store), 'a');
  await store.close(clean);
  disk.flipBit(`${directory}/orders-0/partition.metadata`, 20);
  const again = await open();
  const lost = { topic: 'orders', topicId: undefined, partition: 0, damaged: true };
  expect(again.lost()).toMatchObject([lost]);
  expect(await codeOf(create(again))).toBe('STORAGE_ERROR');
  await again.setAsideDamaged({ topic: 'orders', topicId: ORDERS, partition: 0 });
  expect(again.lost()).toEqual([]);
  expect((await create(again)).logEndOffset).toBe(0);
});

test('a log on a disk that refuses is lost, and not taken for damaged', async () => {
  const store = await open();
  append(await create(store), 'a');
  await store.close(clean);
  disk.failNext('open', { path: 'orders-0/leader-epoch-checkpoint' });
  const again = await open();
  expect(again.lost()).toMatchObject([{ topicId: ORDERS, damaged: false }]);
});

test('the longest topic name fits when set aside', async () => {
  const store = await open();
  const topic = 'x'.repeat(249);
  await store.create(topic, ORDERS, 12345, config);
  await store.moveAside(ORDERS, 12345);
  expect(store.strays()).toMatchObject([{ topicId: ORDERS, partition: 12345 }]);
  for (const name of disk.list(directory)) expect(name.length).toBeLessThanOrEqual(255);
});

test('a deletion that a crash interrupted is finished at the next start', async () => {
  const store = await open();
  await create(store);
  disk.failNext('remove', { path: '-delete' });
  expect(await codeOf(store.delete(ORDERS, 0))).toBe('STORAGE_ERROR');
  kill();
  await open();
  expect(disk.list(directory).filter((name) => name.includes('orders'))).toEqual([]);
});

test('a deletion that failed half way can be asked for again', async () => {
  const store = await open();
  await create(store);
  disk.failNext('rename', { path: 'orders-0' });
  expect(await codeOf(store.delete(ORDERS, 0))).toBe('STORAGE_ERROR');
  await store.delete(ORDERS, 0);
  expect(disk.list(directory).filter((name) => name.includes('orders'))).toEqual([]);
});

test('a creation that a crash interrupted is taken up again', async () => {
  const store = await open();
  disk.failNext('datasync', { path: 'partition.metadata' });
  expect(await codeOf(create(store))).toBe('STORAGE_ERROR');
  append(await create(store), 'a');
  disk.makeDirectory(`${directory}/half-0`);
  kill();
  const again = await open();
  expect(disk.exists(`${directory}/half-0`)).toBe(false);
  expect(read(again.get(ORDERS, 0))).toEqual(['0:a']);
});

test('creating twice gives the same log, also at once', async () => {
  const store = await open();
  const [first, second] = await Promise.all([create(store), create(store)]);
  expect(first).toBe(second);
});

test('one partition that cannot be loaded is offline; the others serve, and the shutdown is not clean', async () => {
  const store = await open();
  append(await create(store, 0), 'a');
  append(await create(store, 1), 'b');
  await store.close(clean);
  disk.failNext('open', { path: 'orders-0/leader-epoch-checkpoint' });
  const errors: string[] = [];
  const logger: Logger = { ...silentLogger, error: (message) => errors.push(message) };
  const again = await open({ logger });
  expect(errors).toEqual(['a log cannot be loaded and is offline']);
  expect(again.get(ORDERS, 0)).toBeUndefined();
  expect(read(again.get(ORDERS, 1))).toEqual(['0:b']);
  expect(await codeOf(create(again, 0))).toBe('STORAGE_ERROR');
  await again.close(clean);
  const third = await open();
  expect(third.cleanShutdownEpoch).toBeUndefined();
  expect(read(third.get(ORDERS, 0))).toEqual(['0:a']);
});

test('a log that failed spoils the clean shutdown', async () => {
  const store = await open();
  const log = await create(store);
  disk.failNext('append', { path: '.log' });
  expect(() => append(log, 'a')).toThrow('offline');
  await store.close(clean);
  expect((await open()).cleanShutdownEpoch).toBeUndefined();
});

test('after close nothing is created any more', async () => {
  const store = await open();
  await Promise.all([store.close(clean), store.close(clean)]);
  expect(await codeOf(create(store))).toBe('CLOSED');
});

async function codeOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'no error',
    (error: unknown) => (error as { code: string }).code,
  );
}

test('a log that nothing happened to since a clean start writes nothing when it is closed', async () => {
  const store = await open();
  for (const partition of [0, 1, 2]) append(await create(store, partition), 'a');
  await store.close(clean);
  const again = await open();
  append(again.get(ORDERS, 1)!, 'b');
  await again.get(ORDERS, 2)!.assignEpoch(5);
  const touched: string[] = [];
  const enter = disk.enter.bind(disk);
  disk.enter = (operation, path, partial) => {
    if (operation !== 'open' && operation !== 'read') touched.push(path);
    enter(operation, path, partial);
  };
  await again.close(clean);
  const partitions = touched.flatMap((path) => /orders-[0-9]/.exec(path)?.[0] ?? []);
  // The seal of the last segment vouches for the epoch file, too.
  expect([...new Set(partitions)]).toEqual(['orders-1', 'orders-2']);
  disk.enter = enter;
  const third = await open();
  expect([0, 1, 2].map((partition) => third.get(ORDERS, partition)?.logEndOffset)).toEqual([
    1, 2, 1,
  ]);
  expect(third.get(ORDERS, 2)?.latestEpoch).toBe(5);
});

test('what the checkpoints say of a log that cannot be used stays there as long as it is so', async () => {
  const store = await open();
  const logs = [await create(store, 0), await create(store, 1)];
  for (const log of logs) for (const value of ['a', 'b', 'c']) append(log, value);
  const offsets = (
    ...partitions: number[]
  ): { topic: string; partition: number; offset: number }[] =>
    partitions.map((partition) => ({ topic: 'orders', partition, offset: 3 }));
  await store.checkpointHighWatermarks(offsets(0, 1));
  logs[0]!.noteHighWatermark(3);
  logs[0]!.deleteRecordsBefore(2);
  await store.close(clean);
  disk.failNext('open', { path: 'orders-0/leader-epoch-checkpoint' });
  const broken = await open();
  await broken.checkpointHighWatermarks(offsets(1));
  append(broken.get(ORDERS, 1)!, 'd');
  await broken.close(clean);
  expect(fileText('replication-offset-checkpoint')).toContain('orders 0 3\n');
  expect(fileText('log-start-offset-checkpoint')).toContain('orders 0 2\n');
  const again = await open();
  expect(again.checkpointedHighWatermark(ORDERS, 0)).toBe(3);
  expect(again.get(ORDERS, 0)?.logStartOffset).toBe(2);
  await again.delete(ORDERS, 0);
  await again.checkpointHighWatermarks(offsets(1));
  expect(fileText('replication-offset-checkpoint')).toBe('0\n1\norders 1 3\n');
});

test('a new log does not inherit what stayed in the checkpoints of a damaged one', async () => {
  const store = await open();
  const log = await create(store);
  for (const value of ['a', 'b', 'c']) append(log, value);
  await store.close(clean);
  disk.failNext('open', { path: 'orders-0/leader-epoch-checkpoint' });
  const broken = await open();
  await create(broken, 1);
  await clock.advance(CHECKPOINT_INTERVAL_MS);
  expect(fileText('recovery-point-offset-checkpoint')).toContain('orders 0 3\n');
  await broken.setAsideDamaged({ topic: 'orders', topicId: ORDERS, partition: 0 });
  await create(broken);
  expect(fileText('recovery-point-offset-checkpoint')).not.toContain('orders 0 3\n');
});

test('a topic that takes the name of one that could not be loaded is repaired without the offsets of that one', async () => {
  const store = await open();
  const log = await create(store);
  for (let i = 0; i < 10; i += 1) append(log, `${i}`);
  await store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 10 }]);
  await store.close(clean);
  disk.flipBit(`${directory}/orders-0/partition.metadata`, 20);
  const again = await open();
  expect(again.lost()).toHaveLength(1);
  await again.setAsideDamaged({ topic: 'orders', topicId: ORDERS, partition: 0 });
  append(await create(again, 0, ORDERS_AGAIN), 'a');
  const replica = { topic: 'orders', topicId: ORDERS_AGAIN, partition: 0 };
  const known = { endOffset: 1, highWatermark: 1, epoch: 5, stamped: false };
  const repaired = await again.repair(replica, { config, ...known });
  expect(repaired.lost).toEqual([]);
  expect(repaired.log.logEndOffset).toBe(1);
  expect(again.checkpointedHighWatermark(ORDERS_AGAIN, 0)).toBe(1);
});
