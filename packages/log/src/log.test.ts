/** One log in use: append, read, roll, time lookup, limits, failing disks. */
import { defaultTopicConfig } from '@tributary/common';
import { CRC_FROM, crc32c, readBatchHeader, splitBatches } from '@tributary/record';
import {
  describeRecords as records,
  makeBatch,
  openTestLog,
  SimulatedDisk,
} from '@tributary/testkit';
import type { Log } from './log';
import type { LogOptions } from './log-options';

const directory = '/data/orders-0';
let disk: SimulatedDisk;

beforeEach(() => {
  disk = new SimulatedDisk();
});

const open = (options: Partial<LogOptions> = {}): Promise<Log> =>
  openTestLog(disk, directory, options);

function append(log: Log, ...values: string[]): number {
  return log.appendAsLeader(makeBatch({ values }), { leaderEpoch: 0 }).baseOffset;
}

const logFiles = (): string[] => disk.list(directory).filter((name) => name.endsWith('.log'));

test('what is appended is read, stamped with offset and epoch', async () => {
  const log = await open();
  expect([log.logStartOffset, log.logEndOffset, log.lastBatchEpoch]).toEqual([0, 0, -1]);
  const first = log.appendAsLeader(makeBatch({ values: ['a', 'b'] }), { leaderEpoch: 3 });
  expect(first).toEqual({ baseOffset: 0, lastOffset: 1, duplicate: false });
  log.appendAsLeader(makeBatch({ values: ['c'], codec: 'gzip' }), { leaderEpoch: 4 });
  expect(records(log.read(0, 10_000, Infinity))).toEqual(['0:a', '1:b', '2:c']);
  expect([log.logEndOffset, log.latestEpoch, log.lastBatchEpoch]).toEqual([3, 4, 4]);
  expect(
    splitBatches(log.read(0, 10_000, Infinity)).map((b) => readBatchHeader(b).leaderEpoch),
  ).toEqual([3, 4]);
});

test('a read begins with the batch that contains the offset, and ends at maxBytes or below', async () => {
  const log = await open({
    config: { ...defaultTopicConfig, segmentBytes: 2 ** 20, maxMessageBytes: 10_000 },
  });
  append(log, 'a', 'b', 'c');
  append(log, 'd', 'e');
  append(log, 'f');
  const size = makeBatch({ values: ['a', 'b', 'c'] }).length;
  expect(records(log.read(1, 10_000, Infinity))[0]).toBe('0:a');
  expect(records(log.read(4, 10_000, Infinity))).toEqual(['3:d', '4:e', '5:f']);
  expect(records(log.read(0, 1, Infinity))).toEqual(['0:a', '1:b', '2:c']);
  expect(records(log.read(0, size, Infinity))).toEqual(['0:a', '1:b', '2:c']);
  expect(records(log.read(0, 10_000, 5))).toEqual(['0:a', '1:b', '2:c', '3:d', '4:e']);
  expect(records(log.read(0, 10_000, 4))).toEqual(['0:a', '1:b', '2:c']);
  expect(log.read(0, 10_000, 2)).toHaveLength(0);
  expect(log.read(3, 10_000, 3)).toHaveLength(0);
  expect(log.read(6, 10_000, Infinity)).toHaveLength(0);
  expect(codeOf(() => log.read(7, 10_000, Infinity))).toBe('OFFSET_OUT_OF_RANGE');
  expect(codeOf(() => log.read(-1, 10_000, Infinity))).toBe('OFFSET_OUT_OF_RANGE');
});

test('every offset can be read, by one batch larger than all the rest too, both ways', async () => {
  const log = await open({
    config: { ...defaultTopicConfig, segmentBytes: 100_000, maxMessageBytes: 50_000 },
  });
  for (let i = 0; i < 300; i += 1) append(log, `${i}`.repeat(1 + (i % 40)));
  append(log, 'x'.repeat(40_000));
  for (let i = 301; i < 400; i += 1) append(log, `${i}`);
  expect(logFiles().length).toBeGreaterThan(0);
  for (let offset = 0; offset < 400; offset += 1) {
    const bytes = log.read(offset, 1, Infinity);
    expect(readBatchHeader(bytes).baseOffset).toBe(offset);
    expect(splitBatches(bytes)).toHaveLength(1);
    if (offset % 37 === 0) expect(await log.readAsync(offset, 1, Infinity)).toEqual(bytes);
  }
});

test('a segment is rolled before it would outgrow segment.bytes, named by the next offset', async () => {
  const log = await open();
  for (let i = 0; i < 12; i += 1) append(log, 'x'.repeat(200));
  expect(logFiles()).toEqual([
    '00000000000000000000.log',
    '00000000000000000003.log',
    '00000000000000000006.log',
    '00000000000000000009.log',
  ]);
  for (const name of logFiles()) {
    expect(disk.openFile(`${directory}/${name}`).size).toBeLessThanOrEqual(1024);
  }
  expect(log.sizeBytes).toBe(12 * makeBatch({ values: ['x'.repeat(200)] }).length);
  await log.flush();
  expect(disk.list(directory)).toContain('00000000000000000003.snapshot');
  expect(disk.list(directory)).toContain('00000000000000000000.timeindex');
});

test('KAFKA-9196: the limit of a read holds across a roll too', async () => {
  const log = await open();
  for (let i = 0; i < 12; i += 1) append(log, `${i}`.padEnd(200, '.'));
  for (let below = 0; below <= 12; below += 1) {
    for (let offset = 0; offset <= 12; offset += 1) {
      const bytes = log.read(offset, 100_000, below);
      for (const batch of splitBatches(bytes)) {
        expect(readBatchHeader(batch).lastOffset).toBeLessThan(below);
      }
      expect(bytes.length > 0).toBe(offset < below);
    }
  }
});

test('a conditional append has one winner, and its retry still wins', async () => {
  const log = await open();
  const batch = (sequence: number): Buffer => makeBatch({ producer: [9, 0, sequence] });
  expect(log.appendAsLeader(batch(0), { leaderEpoch: 0, expectedOffset: 0 }).baseOffset).toBe(0);
  expect(codeOf(() => log.appendAsLeader(makeBatch(), { leaderEpoch: 0, expectedOffset: 0 }))).toBe(
    'UNEXPECTED_OFFSET',
  );
  expect(log.appendAsLeader(batch(0), { leaderEpoch: 0, expectedOffset: 0 })).toEqual({
    baseOffset: 0,
    lastOffset: 0,
    duplicate: true,
  });
  expect(log.logEndOffset).toBe(1);
});

test('a follower takes whole, sound, rising batches, with gaps, or nothing', async () => {
  const log = await open();
  const at = (baseOffset: number, leaderEpoch: number): Buffer =>
    makeBatch({ values: ['a', 'b'], baseOffset, leaderEpoch });
  log.appendAsFollower(Buffer.concat([at(0, 1), at(5, 1), at(7, 2)]));
  expect([log.logEndOffset, log.latestEpoch]).toEqual([9, 2]);
  expect(readBatchHeader(log.read(3, 1, Infinity)).baseOffset).toBe(5);
  const corrupt = at(11, 2);
  corrupt[70]! ^= 1;
  const refused: [Buffer, string][] = [
    [at(8, 2), 'INVALID_BATCH'],
    [at(9, 1), 'INVALID_BATCH'],
    [Buffer.concat([at(9, 2), at(10, 2)]), 'INVALID_BATCH'],
    [Buffer.concat([at(9, 2), corrupt]), 'CORRUPT_BATCH'],
    [Buffer.concat([at(9, 2), at(11, 2).subarray(0, 40)]), 'INVALID_BATCH'],
  ];
  for (const [bytes, code] of refused) {
    expect(codeOf(() => log.appendAsFollower(bytes))).toBe(code);
    expect(log.logEndOffset).toBe(9);
  }
  log.appendAsFollower(Buffer.alloc(0));
  expect(log.failure).toBeUndefined();
});

test('offsets by time: the first record at or after, and the latest, below the limit', async () => {
  const log = await open();
  const times = [100, 300, 200, 500, 400, 500, 50];
  for (const timestamp of times) {
    const values = ['x'.repeat(150), 'y'.repeat(150)];
    log.appendAsLeader(makeBatch({ values, timestamp }), { leaderEpoch: 0 });
  }
  expect(logFiles().length).toBeGreaterThan(2);
  const all = times.flatMap((time, i) => [
    { offset: 2 * i, timestamp: time },
    { offset: 2 * i + 1, timestamp: time + 1 },
  ]);
  for (let below = 0; below <= 14; below += 1) {
    for (const wanted of [0, 50, 101, 102, 201, 300, 301, 302, 500, 501, 502]) {
      const expected = all.find((one) => one.timestamp >= wanted && one.offset < below);
      expect(log.offsetForTimestamp(wanted, below)).toEqual(expected);
    }
  }
  expect(log.maxTimestamp(14)).toEqual({ offset: 7, timestamp: 501 });
  expect(log.maxTimestamp(6)).toEqual({ offset: 3, timestamp: 301 });
  expect(log.maxTimestamp(0)).toBeUndefined();
});

test('DISK_FULL leaves the log as before, and it goes on when there is room', async () => {
  const log = await open();
  append(log, 'a');
  const size = disk.openFile(`${directory}/${logFiles()[0]}`).size;
  disk.setFull(disk.usedBytes + 30);
  expect(codeOf(() => append(log, 'b'))).toBe('DISK_FULL');
  expect(outcomeOf(() => append(log, 'b'))).toBe('not written');
  expect(disk.openFile(`${directory}/${logFiles()[0]}`).size).toBe(size);
  expect([log.logEndOffset, log.sizeBytes, log.failure]).toEqual([1, size, undefined]);
  expect(records(log.read(0, 1000, Infinity))).toEqual(['0:a']);
  disk.setFull(undefined);
  expect(append(log, 'c')).toBe(1);
  expect(records(log.read(0, 1000, Infinity))).toEqual(['0:a', '1:c']);
});

test('DISK_FULL in the middle of a follower’s append over a roll takes back all of it', async () => {
  const log = await open();
  log.appendAsFollower(makeBatch({ leaderEpoch: 1 }));
  await log.assignEpoch(2);
  const big = (baseOffset: number): Buffer =>
    makeBatch({ values: ['x'.repeat(600)], baseOffset, leaderEpoch: 3 });
  disk.setFull(disk.usedBytes + 900);
  const bytes = Buffer.concat([big(1), big(2), big(3)]);
  expect(codeOf(() => log.appendAsFollower(bytes))).toBe('DISK_FULL');
  expect([log.logEndOffset, log.latestEpoch, log.lastBatchEpoch]).toEqual([1, 2, 1]);
  disk.setFull(undefined);
  log.appendAsFollower(bytes);
  expect(records(log.read(1, 1, Infinity))[0]).toMatch(/^1:xxx/);
  expect(log.logEndOffset).toBe(4);
});

test('KAFKA-10778: after an I/O error nothing is accepted or served any more', async () => {
  const log = await open();
  append(log, 'a');
  disk.failNext('append', { path: '.log' });
  expect(codeOf(() => append(log, 'b'))).toBe('STORAGE_ERROR');
  expect(log.failure).toMatchObject({ code: 'STORAGE_ERROR' });
  expect(outcomeOf(() => append(log, 'c'))).toBe('not written');
  expect(codeOf(() => append(log, 'c'))).toBe('STORAGE_ERROR');
  expect(codeOf(() => log.read(0, 1, Infinity))).toBe('STORAGE_ERROR');
  expect(codeOf(() => log.truncateTo(0))).toBe('STORAGE_ERROR');
  await expect(log.readAsync(0, 1, Infinity)).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  await expect(log.flush()).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  await log.close();
});

test('the outcome of an append that met an I/O error is unknown', async () => {
  const log = await open();
  disk.failNext('append', { path: '.log', partialBytes: 10 });
  expect(outcomeOf(() => append(log, 'b'))).toBe('maybe written');
});

test('a failed sync takes the log offline, on demand and in the background after a roll', async () => {
  const log = await open();
  append(log, 'a');
  disk.failNext('datasync', { path: '.log' });
  await expect(log.flush()).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  expect(log.failure).toBeDefined();
});

test('flush moves the recovery point, and not across a truncation', async () => {
  const log = await open();
  for (let i = 0; i < 8; i += 1) append(log, 'x'.repeat(200));
  await log.flush();
  expect(log.recoveryPoint).toBe(8);
  log.truncateTo(4);
  expect(log.recoveryPoint).toBe(4);
  append(log, 'y');
  const flushing = log.flush();
  log.truncateTo(2);
  append(log, 'z');
  await flushing;
  expect(log.recoveryPoint).toBe(3);
});

test('an asynchronous read that a truncation overtakes tells the new truth', async () => {
  const log = await open();
  for (let i = 0; i < 8; i += 1) append(log, `old ${i}`.padEnd(200));
  const reading = log.readAsync(2, 100_000, Infinity);
  log.truncateTo(2);
  append(log, 'new');
  expect(records(await reading)).toEqual(['2:new']);
  const gone = log.readAsync(2, 1, Infinity);
  log.truncateTo(1);
  await expect(gone).rejects.toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
});

test('a closed log refuses everything; closing twice is harmless', async () => {
  const log = await open();
  append(log, 'a');
  await Promise.all([log.close(), log.close()]);
  expect(codeOf(() => append(log, 'b'))).toBe('CLOSED');
  expect(codeOf(() => log.read(0, 1, Infinity))).toBe('CLOSED');
  await expect(log.flush()).rejects.toMatchObject({ code: 'CLOSED' });
  await log.close();
});

test('indexes of sealed segments are unloaded, come back when read, and are rebuilt when damaged', async () => {
  const log = await open({
    config: { ...defaultTopicConfig, segmentBytes: 20_000, maxMessageBytes: 10_000 },
  });
  for (let i = 0; i < 400; i += 1) append(log, `${i}`.padEnd(500));
  await log.flush();
  expect(logFiles().length).toBeGreaterThan(8);
  disk.flipBit(`${directory}/00000000000000000000.index`, 7, 7);
  disk.remove(`${directory}/00000000000000000035.timeindex`);
  for (let offset = 399; offset >= 0; offset -= 1) {
    expect(readBatchHeader(log.read(offset, 1, Infinity)).baseOffset).toBe(offset);
  }
});

function codeOf(work: () => unknown): string {
  return failureOf(work).code;
}

function outcomeOf(work: () => unknown): string {
  return failureOf(work).outcome;
}

function failureOf(work: () => unknown): { code: string; outcome: string } {
  try {
    work();
    return { code: 'no error', outcome: 'no error' };
  } catch (error) {
    return error as { code: string; outcome: string };
  }
}

test('a half batch that cannot be taken back is no full disk: the log is offline', async () => {
  const log = await openTestLog(disk, directory);
  append(log, 'a');
  disk.failNext('append', { code: 'DISK_FULL', path: '.log', partialBytes: 20 });
  disk.failNext('truncate', { code: 'DISK_FULL', path: '.log' });
  expect(codeOf(() => append(log, 'b'))).toBe('STORAGE_ERROR');
  expect(log.failure).toBeDefined();
});

test('a batch that cannot be decoded here is told to who asks for a time, and keeps the log in use', async () => {
  const log = await openTestLog(disk, directory);
  // As from a leader that has the package of its codec.
  const batch = makeBatch({ values: ['a'] });
  batch.writeInt16BE(5, 21);
  batch.writeUInt32BE(crc32c(batch.subarray(CRC_FROM)), 17);
  log.appendAsFollower(batch);
  expect(codeOf(() => log.offsetForTimestamp(0, Infinity))).toBe('UNSUPPORTED_CODEC');
  expect(codeOf(() => log.maxTimestamp(Infinity))).toBe('UNSUPPORTED_CODEC');
  expect(log.failure).toBeUndefined();
  expect(log.read(0, 1000, Infinity)).toHaveLength(batch.length);
});
