/** When a log begins another segment: as leader, as follower, and when nobody writes. */
import { defaultTopicConfig, seededRandom } from '@tributary/common';
import { readBatchHeader } from '@tributary/record';
import { makeBatch, openTestLog, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import type { Log } from './log';
import type { LogConfig } from './partition-log';

const directory = '/data/orders-0';
const HOUR = 60 * 60 * 1000;
let disk: SimulatedDisk;
let clock: SimulatedClock;

beforeEach(() => {
  disk = new SimulatedDisk();
  clock = new SimulatedClock();
});

const open = (config: Partial<LogConfig> = {}, seed = 1): Promise<Log> =>
  openTestLog(disk, directory, {
    clock,
    random: seededRandom(seed),
    config: { ...defaultTopicConfig, retentionMs: -1, ...config },
  });

const bases = (): number[] =>
  disk
    .list(directory)
    .filter((name) => name.endsWith('.log'))
    .map((name) => parseInt(name, 10));

const value = 'x'.repeat(100);
const batchBytes = makeBatch({ values: [value] }).length;

function lead(log: Log, count = 1): void {
  for (let i = 0; i < count; i += 1) {
    log.appendAsLeader(makeBatch({ values: [value] }), { leaderEpoch: 0 });
  }
}

function follow(log: Log, count: number, from = log.logEndOffset): void {
  const batches = Array.from({ length: count }, (_, i) =>
    makeBatch({ values: [value], baseOffset: from + i, leaderEpoch: 0 }),
  );
  log.appendAsFollower(Buffer.concat(batches));
}

test('by size: before it would grow beyond segment.bytes', async () => {
  const log = await open({ segmentBytes: 3 * batchBytes });
  lead(log, 7);
  expect(bases()).toEqual([0, 3, 6]);
});

test('by age: counted from the first append by the clock of the broker', async () => {
  const log = await open({ segmentMs: HOUR });
  await clock.advance(5 * HOUR); // empty: nothing ages
  lead(log);
  await clock.advance(HOUR - 1);
  lead(log);
  expect(bases()).toEqual([0]);
  await clock.advance(1);
  lead(log);
  expect(bases()).toEqual([0, 2]);
  await clock.advance(HOUR - 1);
  lead(log);
  expect(bases()).toEqual([0, 2]);
});

test('by age, without a write: maintenance rolls what is old, and nothing else', async () => {
  const log = await open({ segmentMs: HOUR });
  lead(log);
  log.upkeep.retain();
  expect(bases()).toEqual([0]);
  await clock.advance(HOUR);
  log.upkeep.retain();
  expect(bases()).toEqual([0, 1]);
  await clock.advance(9 * HOUR);
  log.upkeep.retain();
  expect(bases()).toEqual([0, 1]);
});

test('the jitter is drawn once for each segment, and at most what is set', async () => {
  const ages: number[] = [];
  const log = await open({ segmentMs: HOUR, segmentJitterMs: HOUR / 2 });
  for (let i = 0; i < 20; i += 1) {
    lead(log);
    let age = 0;
    const before = bases().length;
    while (bases().length === before) {
      await clock.advance(60_000);
      age += 60_000;
      log.upkeep.retain();
    }
    ages.push(age);
  }
  expect(Math.max(...ages)).toBeLessThanOrEqual(HOUR);
  expect(Math.min(...ages)).toBeGreaterThanOrEqual(HOUR / 2);
  expect(new Set(ages).size).toBeGreaterThan(5);
});

test('after a restart the age goes on, as far as the first timestamp can be believed', async () => {
  const log = await open({ segmentMs: HOUR });
  log.appendAsLeader(makeBatch({ timestamp: clock.wallTime() }), { leaderEpoch: 0 });
  await log.close();
  await clock.advance(HOUR / 2);
  const again = await open({ segmentMs: HOUR });
  again.upkeep.retain();
  expect(bases()).toEqual([0]);
  await clock.advance(HOUR / 2);
  again.upkeep.retain();
  expect(bases()).toEqual([0, 1]);
});

test.each([
  ['leader', (log: Log, count: number) => lead(log, count)],
  ['follower', (log: Log, count: number) => follow(log, count)],
])('by index size, as %s: neither index grows beyond segment.index.bytes', async (_, write) => {
  const log = await open({ segmentIndexBytes: 48 });
  for (let i = 0; i < 500; i += 1) write(log, 1);
  await log.flush();
  expect(bases().length).toBeGreaterThan(2);
  const sizes = disk
    .list(directory)
    .filter((name) => name.endsWith('index'))
    .map((name) => disk.openFile(`${directory}/${name}`).size);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(48);
});

test('a follower that is pushed many batches at once divides them as the leader did', async () => {
  for (const config of [{ segmentBytes: 5 * batchBytes }, { segmentIndexBytes: 48 }]) {
    disk = new SimulatedDisk();
    const leader = await open(config);
    // Time stands still at first, then goes on.
    lead(leader, 200);
    for (let i = 0; i < 200; i += 1) {
      leader.appendAsLeader(makeBatch({ values: [value], timestamp: 2000 + i }), {
        leaderEpoch: 0,
      });
    }
    const expected = bases();
    disk = new SimulatedDisk();
    const follower = await open(config);
    for (const below of [150, 210, 400]) {
      while (follower.logEndOffset < below) {
        follower.appendAsFollower(leader.read(follower.logEndOffset, 1e9, below));
      }
    }
    expect(bases()).toEqual(expected);
  }
});

test('a follower begins another segment by age, too', async () => {
  const log = await open({ segmentMs: HOUR });
  follow(log, 3);
  await clock.advance(HOUR);
  follow(log, 3);
  expect(bases()).toEqual([0, 3]);
});

test('a relative offset that has no 31 bits begins another segment, however few bytes there are', async () => {
  const log = await open();
  follow(log, 1, 0);
  follow(log, 1, 2 ** 31 - 1);
  expect(bases()).toEqual([0]);
  follow(log, 1, 2 ** 31);
  expect(bases()).toEqual([0, 2 ** 31]);
});

test('where compaction left a gap wider than 31 bits, the segment begins at the batch behind it', async () => {
  const log = await open();
  follow(log, 1, 0);
  follow(log, 1, 2 ** 40);
  expect(bases()).toEqual([0, 2 ** 40]);
  const found = log.read(1, 1000, Infinity);
  expect(readBatchHeader(found).baseOffset).toBe(2 ** 40);
});

test('a gap of that width before the first batch of an empty log', async () => {
  const log = await open();
  follow(log, 2, 2 ** 40);
  expect(bases()).toEqual([2 ** 40]);
  expect(log.logEndOffset).toBe(2 ** 40 + 2);
  expect(readBatchHeader(log.read(0, 1000, Infinity)).baseOffset).toBe(2 ** 40);
  await log.close();
  const again = await open();
  expect(again.logEndOffset).toBe(2 ** 40 + 2);
});
