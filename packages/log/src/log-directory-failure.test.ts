/** A log directory that fails as a whole, and how the process before this one ended. */
import { defaultTopicConfig, seededRandom, silentLogger, type Logger } from '@tributary/common';
import { makeBatch, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import { LogDirectory } from './log-directory';
import type { PartitionLog } from './partition-log';

const directory = '/data';
const config = { ...defaultTopicConfig, segmentBytes: 1024, maxMessageBytes: 10_000 };
const ORDERS = 'ordersAAAAAAAAAAAAAAAA';
const clean = { clean: true, brokerEpoch: 42 };
let disk: SimulatedDisk;
let clock: SimulatedClock;
let errors: string[];

beforeEach(() => {
  disk = new SimulatedDisk();
  clock = new SimulatedClock();
  errors = [];
});

const tell: Logger['error'] = (message) => errors.push(message);

const open = (): Promise<LogDirectory> =>
  LogDirectory.open({
    disk,
    directory,
    brokerId: 1,
    clock,
    random: seededRandom(1),
    logger: { ...silentLogger, error: tell },
    configFor: () => config,
  });

const create = (store: LogDirectory, partition: number): Promise<PartitionLog> =>
  store.create('orders', ORDERS, partition, config);

function append(log: PartitionLog, value = 'a'): void {
  log.appendAsLeader(makeBatch({ values: [value] }), { leaderEpoch: 0 });
}

const settle = (): Promise<void> => clock.advance(10);
const died = (loseUnsynced = false): void => disk.crash({ loseUnsynced, random: seededRandom(3) });

test('an I/O error of one log: the directory is asked, answers, and its other logs go on', async () => {
  const store = await open();
  const [bad, good] = [await create(store, 0), await create(store, 1)];
  disk.failNext('append', { path: 'orders-0' });
  expect(() => append(bad)).toThrow('offline');
  await settle();
  expect(store.failure).toBeUndefined();
  append(good);
  expect(errors).toEqual(['a log failed and is offline']);
});

test('an I/O error of one log on a disk that is dead: all logs of it are offline at once', async () => {
  const store = await open();
  const logs = [await create(store, 0), await create(store, 1), await create(store, 2)];
  const told: string[] = [];
  logs[2]!.observe({ durable: () => undefined, failed: (error) => told.push(error.message) });
  disk.failNext('append', { path: 'orders-0' });
  disk.failNext('datasync', { path: '.tributary_running', times: 9 });
  expect(() => append(logs[0]!)).toThrow('offline');
  await settle();
  expect(store.failure?.message).toMatch(/^log directory \/data is offline on this broker: /);
  expect(told).toEqual([store.failure?.message]);
  expect(() => append(logs[1]!)).toThrow('log directory /data is offline');
  expect(errors).toEqual(['a log failed and is offline', 'a log directory failed and is offline']);
  expect(store.directories()).toMatchObject([{ failure: store.failure?.message, partitions: 3 }]);
  await expect(create(store, 3)).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  await store.close(clean);
  disk.crash({ loseUnsynced: false, random: seededRandom(1) }); // disarms
  expect((await open()).cleanShutdownEpoch).toBeUndefined();
});

test('a directory that is not there any more is noticed when high watermarks are written', async () => {
  const store = await open();
  const log = await create(store, 0);
  disk.rename(directory, '/elsewhere');
  disk.makeDirectory(directory);
  await expect(
    store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 0 }]),
  ).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  expect(() => append(log)).toThrow('/data is gone');
  await expect(create(store, 1)).rejects.toThrow('/data is gone');
  expect(disk.list(directory)).toEqual([]); // nothing is made on whatever lies there now
});

test('a full disk is no failure of the directory', async () => {
  const store = await open();
  const log = await create(store, 0);
  append(log);
  disk.setFull(disk.usedBytes);
  expect(() => append(log)).toThrow('full');
  await expect(
    store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 1 }]),
  ).rejects.toMatchObject({ code: 'DISK_FULL' });
  await store.noteBrokerEpoch(7);
  disk.setFull(undefined);
  append(log);
  expect([store.failure, errors]).toEqual([undefined, []]);
});

test('a start on a full disk: the logs are there', async () => {
  const store = await open();
  append(await create(store, 0));
  await store.close(clean);
  disk.setFull(disk.usedBytes);
  const again = await open();
  expect(again.get(ORDERS, 0)?.logEndOffset).toBe(1);
  died();
  disk.setFull(undefined);
  expect((await open()).previousStop.kind).toBe('process');
});

test('how the process before ended is told, with the epoch that it had', async () => {
  const store = await open();
  expect(store.previousStop).toEqual({ kind: 'first' });
  await store.noteBrokerEpoch(7);
  died();
  const second = await open();
  expect(second.previousStop).toEqual({ kind: 'process', brokerEpoch: 7 });
  await second.noteBrokerEpoch(8);
  died(true);
  const third = await open();
  expect(third.previousStop).toEqual({ kind: 'machine', brokerEpoch: 8 });
  await third.noteBrokerEpoch(9);
  await third.close({ clean: true, brokerEpoch: 9 });
  expect((await open()).previousStop).toEqual({ kind: 'clean', brokerEpoch: 9 });
});

test('a machine that goes down while the logs are recovered: that is told after the next process crash, too', async () => {
  const store = await open();
  append(await create(store, 0));
  await store.noteBrokerEpoch(7);
  died(true);
  disk.failNext('datasync', { path: '.tributary_running' });
  await expect(open()).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  died();
  expect((await open()).previousStop).toEqual({ kind: 'machine', brokerEpoch: 7 });
});
