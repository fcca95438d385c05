/** Deletion of old segments in a log directory: what goes, what stays, and that no crash in the middle shows. */
import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import {
  describeRecords,
  makeBatch,
  readWholeLog,
  SimulatedClock,
  SimulatedDisk,
} from '@tributary/testkit';
import type { Disk } from './disk';
import type { Log } from './log';
import { LogDirectory } from './log-directory';
import type { LogConfig } from './partition-log';

const HOUR = 60 * 60 * 1000;
const TOPIC_ID = 'ordersAAAAAAAAAAAAAAAA';
const value = 'x'.repeat(100);
let disk: SimulatedDisk;
let clock: SimulatedClock;
let store: LogDirectory;

/** Three records a segment, an hour is enough. */
const config: LogConfig = {
  ...defaultTopicConfig,
  segmentBytes: 3 * makeBatch({ values: [value] }).length,
  retentionMs: HOUR,
};

beforeEach(() => {
  disk = new SimulatedDisk();
  clock = new SimulatedClock();
});

async function open(on: Disk = disk): Promise<LogDirectory> {
  store = await LogDirectory.open({
    disk: on,
    directory: '/data',
    brokerId: 1,
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    configFor: () => ({ ...config, retentionMs: 0, retentionBytes: 0 }),
  });
  return store;
}

const create = async (own: Partial<LogConfig> = {}): Promise<Log> =>
  (await store.create('orders', TOPIC_ID, 0, { ...config, ...own })) as Log;
const found = (): Log => store.get(TOPIC_ID, 0) as Log;

function append(log: Log, count: number): void {
  for (let i = 0; i < count; i += 1) {
    const batch = makeBatch({ values: [value], timestamp: clock.wallTime() });
    log.appendAsLeader(batch, { leaderEpoch: 0 });
  }
  log.noteHighWatermark(log.logEndOffset);
}

const files = (suffix: string): number[] =>
  disk
    .list('/data/orders-0')
    .filter((name) => name.endsWith(suffix))
    .map((name) => parseInt(name, 10));
const offsets = (log: Log): number[] =>
  describeRecords(readWholeLog(log)).map((record) => parseInt(record, 10));

test('old segments go with their indexes and snapshots; the log start rises', async () => {
  await open();
  const log = await create();
  append(log, 7);
  clock.jumpWallTime(HOUR);
  append(log, 4);
  await store.maintenance.run();
  expect(log.logStartOffset).toBe(0);
  clock.jumpWallTime(1);
  await store.maintenance.run();
  // The third segment holds a young record, too.
  expect(log.logStartOffset).toBe(6);
  expect(offsets(log)).toEqual([6, 7, 8, 9, 10]);
  for (const suffix of ['.log', '.snapshot']) expect(files(suffix)).toEqual([6, 9]);
  expect(files('.index')).toEqual([6]);
  expect(log.sizeBytes).toBe(readWholeLog(log).length);
  expect(() => log.read(5, 1000, Infinity)).toThrow('offset 5 is not within 6 to 11');
});

test('a log in which everything is old is empty, and goes on at its end', async () => {
  await open();
  const log = await create();
  append(log, 4);
  clock.jumpWallTime(HOUR + 1);
  await store.maintenance.run();
  expect([log.logStartOffset, log.logEndOffset, log.sizeBytes]).toEqual([4, 4, 0]);
  expect(files('.log')).toEqual([4]);
  append(log, 1);
  expect(offsets(log)).toEqual([4]);
  await store.close({ clean: true, brokerEpoch: 1 });
  await open();
  expect(offsets(found())).toEqual([4]);
});

test('by size: the partition is not longer than retention.bytes and one segment', async () => {
  await open();
  const retentionBytes = 2 * config.segmentBytes;
  const log = await create({ retentionMs: -1, retentionBytes });
  append(log, 30);
  await store.maintenance.run();
  expect(log.sizeBytes).toBeGreaterThanOrEqual(retentionBytes);
  expect(log.sizeBytes).toBeLessThan(retentionBytes + config.segmentBytes);
  expect(offsets(log).at(-1)).toBe(29);
});

test('KAFKA-5634: what is not committed stays, however old', async () => {
  await open();
  const log = await create();
  append(log, 7);
  clock.jumpWallTime(HOUR * 10);
  log.noteHighWatermark(0);
  await store.maintenance.run();
  expect(log.logStartOffset).toBe(0);
  log.noteHighWatermark(5);
  await store.maintenance.run();
  expect(log.logStartOffset).toBe(3);
});

test('a timestamp of the far future keeps its segment for retention.ms after the roll, not for ever', async () => {
  await open();
  const log = await create({ segmentMs: 2 * HOUR });
  log.appendAsLeader(makeBatch({ timestamp: 4e12 }), { leaderEpoch: 0 });
  log.noteHighWatermark(1);
  const run = async (hours: number): Promise<number> => {
    clock.jumpWallTime(hours * HOUR);
    await store.maintenance.run();
    return log.logStartOffset;
  };
  expect(await run(1.5)).toBe(0); // active still
  expect(await run(0.5)).toBe(0); // rolled by its age
  expect(await run(1)).toBe(0);
  expect(await run(0.1)).toBe(1);
});

test('the settings of another topic, or the defaults, delete nothing: a log waits for its own', async () => {
  await open();
  append(await create(), 7);
  clock.jumpWallTime(HOUR * 1000);
  await store.close({ clean: true, brokerEpoch: 1 });
  await open(); // guesses that everything may go
  found().noteHighWatermark(7);
  await store.maintenance.run();
  expect(found().logStartOffset).toBe(0);
  found().configure({ ...config, retentionMs: -1 });
  await store.maintenance.run();
  expect(found().logStartOffset).toBe(0);
  found().configure(config);
  await store.maintenance.run();
  expect(found().logStartOffset).toBe(7);
});

test('records deleted up to an offset stay deleted; files go when nothing in them is left', async () => {
  await open();
  const log = await create({ retentionMs: -1 });
  append(log, 10);
  log.deleteRecordsBefore(5);
  log.deleteRecordsBefore(2);
  expect(() => log.read(4, 1000, Infinity)).toThrow('offset 4 is not within 5 to 10');
  expect(offsets(log)).toEqual([5, 6, 7, 8, 9]);
  await store.maintenance.run();
  expect(files('.log')).toEqual([3, 6, 9]);
  await store.close({ clean: true, brokerEpoch: 1 });
  await open();
  expect(found().logStartOffset).toBe(5);
  expect(offsets(found())).toEqual([5, 6, 7, 8, 9]);
  log.noteHighWatermark(10);
});

test('deletion beyond what is committed is refused and deletes nothing', async () => {
  await open();
  const log = await create();
  append(log, 5);
  log.noteHighWatermark(3);
  expect(() => log.deleteRecordsBefore(4)).toThrow('3 is committed');
  log.deleteRecordsBefore(3);
  expect(log.logStartOffset).toBe(3);
});

test('up to the very end: the epochs tell where the empty log begins, before and after a start', async () => {
  await open();
  const log = await create({ retentionMs: -1 });
  append(log, 5);
  log.deleteRecordsBefore(5);
  expect(log.epochEnd(0)).toEqual({ epoch: 0, endOffset: 5 });
  expect(log.lastBatchEpoch).toBe(-1);
  await store.maintenance.run();
  expect(files('.log')).toEqual([5]);
  expect(log.epochEnd(0)).toEqual({ epoch: 0, endOffset: 5 });
  await store.close({ clean: true, brokerEpoch: 1 });
  await open();
  expect(found().logStartOffset).toBe(5);
  expect(found().epochEnd(0)).toEqual({ epoch: 0, endOffset: 5 });
  expect(found().lastBatchEpoch).toBe(-1);
});

test('a reader in the middle of a deletion gets its bytes or OFFSET_OUT_OF_RANGE; the log stays healthy', async () => {
  await open();
  const log = await create({ retentionMs: -1 });
  append(log, 12);
  const expected = log.read(1, 1, Infinity);
  const early = log.readAsync(1, 1, Infinity);
  log.deleteRecordsBefore(7);
  const outcomes = Promise.allSettled([early, log.readAsync(8, 1, Infinity)]);
  await store.maintenance.run();
  const [first, second] = await outcomes;
  if (first.status === 'fulfilled') expect(first.value).toEqual(expected);
  else expect(first.reason).toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
  expect(second).toMatchObject({ status: 'fulfilled', value: log.read(8, 1, Infinity) });
  expect(log.failure).toBeUndefined();
});

/** The process dies instead of the operation with this number; nothing that it has written is lost. */
function dyingAt(step: number): { readonly disk: Disk; readonly steps: () => number } {
  const mounted = disk.mount();
  let steps = 0;
  const counted = <A extends unknown[], R>(call: (...args: A) => R) => {
    return (...args: A): R => {
      if (steps === step) disk.crash({ loseUnsynced: false, random: seededRandom(1) });
      steps += 1;
      return call(...args);
    };
  };
  const { rename, remove, syncDirectory, openFile } = mounted;
  const dying = {
    ...mounted,
    rename: counted(rename),
    remove: counted(remove),
    syncDirectory: counted(syncDirectory),
    openFile: counted(openFile),
  };
  return { disk: dying, steps: () => steps };
}

/** A log of 20 records that is about to lose those below 13. */
async function aboutToDelete(on: Disk): Promise<Log> {
  await open(on);
  const log = await create({ retentionMs: -1 });
  append(log, 20);
  await log.flush();
  await clock.advance(2_000); // the checkpoint of the recovery point is written, too
  return log;
}

/** After the crash: either nothing was deleted, or all that should be; and the deletion can be repeated. */
async function checkAfterCrash(): Promise<void> {
  await open(disk.mount());
  const start = found().logStartOffset;
  expect([0, 13]).toContain(start);
  expect(offsets(found())).toEqual(Array.from({ length: 20 - start }, (_, i) => start + i));
  found().configure({ ...config, retentionMs: -1 });
  found().noteHighWatermark(20);
  found().deleteRecordsBefore(13);
  await store.maintenance.run();
  expect(offsets(found())).toEqual([13, 14, 15, 16, 17, 18, 19]);
  expect(files('.log')[0]).toBe(12);
}

test('the process dies at any step of a deletion: nothing comes back, nothing is lost', async () => {
  const setUp = dyingAt(-1);
  await aboutToDelete(setUp.disk);
  const first = setUp.steps();
  let boundaries = 0;
  for (let over = false; !over; boundaries += 1) {
    disk = new SimulatedDisk();
    const dying = dyingAt(first + boundaries);
    const log = await aboutToDelete(dying.disk);
    log.deleteRecordsBefore(13);
    await store.maintenance.run();
    over = dying.steps() <= first + boundaries;
    disk.crash({ loseUnsynced: false, random: seededRandom(1) });
    await checkAfterCrash();
  }
  expect(boundaries).toBeGreaterThan(20);
});

test('the power fails at any write of a deletion: nothing comes back, nothing is lost', async () => {
  let boundaries = 0;
  for (; ; boundaries += 1) {
    disk = new SimulatedDisk();
    const log = await aboutToDelete(disk.mount());
    const cutAt = disk.writes + boundaries;
    disk.cutPowerAt(cutAt, seededRandom(boundaries));
    log.deleteRecordsBefore(13);
    await store.maintenance.run();
    if (disk.writes < cutAt) break;
    disk.crash({ loseUnsynced: true, random: seededRandom(boundaries) });
    await checkAfterCrash();
  }
  expect(boundaries).toBeGreaterThan(20);
});

test('on a full disk the old segments go all the same, in an order that leaves no hole', async () => {
  await open();
  const log = await create();
  append(log, 20);
  clock.jumpWallTime(HOUR + 1);
  disk.setFull(disk.usedBytes);
  await store.maintenance.run();
  expect(log.failure).toBeUndefined();
  expect(log.logStartOffset).toBeGreaterThan(0);
  expect(log.sizeBytes).toBeLessThan(3 * config.segmentBytes);
  disk.setFull(undefined);
  append(log, 1);
  expect(offsets(log).at(-1)).toBe(20);
});

test('an error while a file is removed takes that log offline, and no other', async () => {
  await open();
  const log = await create();
  const other = (await store.create('other', 'otherAAAAAAAAAAAAAAAAA', 0, config)) as Log;
  append(log, 7);
  append(other, 7);
  clock.jumpWallTime(HOUR + 1);
  disk.failNext('remove', { path: 'orders-0' });
  await store.maintenance.run();
  expect(log.failure?.message).toContain('orders-0 is offline on this broker');
  expect(other.failure).toBeUndefined();
  expect(other.logStartOffset).toBe(7);
});
