/** Leader epochs of a log: when they start, where they end, and what a truncation does to them. */
import { seededRandom } from '@tributary/common';
import { assignOffsetAndEpoch } from '@tributary/record';
import { describeRecords, makeBatch, openTestLog, SimulatedDisk } from '@tributary/testkit';
import { LeaderEpochCache } from './leader-epoch-cache';
import type { Log } from './log';

const directory = '/data/orders-0';
let disk: SimulatedDisk;
let log: Log;

beforeEach(async () => {
  disk = new SimulatedDisk();
  log = await openTestLog(disk, directory);
});

function append(leaderEpoch: number, ...values: string[]): void {
  log.appendAsLeader(makeBatch({ values }), { leaderEpoch });
}

const ends = (...epochs: number[]): string[] =>
  epochs.map((epoch) => {
    const end = log.epochEnd(epoch);
    return end ? `${end.epoch} ends at ${end.endOffset}` : 'none';
  });

test('an epoch ends where the next begins; the latest one at the log end', () => {
  append(2, 'a', 'b');
  append(2, 'c');
  append(5, 'd');
  expect(ends(1, 2, 3, 4, 5, 6)).toEqual([
    'none',
    '2 ends at 3',
    '2 ends at 3',
    '2 ends at 3',
    '5 ends at 4',
    '5 ends at 4',
  ]);
});

test('KAFKA-7415: a leader’s epoch is there, durably, before anything is written in it', async () => {
  append(1, 'a', 'b');
  await log.assignEpoch(4);
  expect(log.latestEpoch).toBe(4);
  expect(log.lastBatchEpoch).toBe(1);
  expect(ends(1, 3, 4)).toEqual(['1 ends at 2', '1 ends at 2', '4 ends at 2']);
  await log.flush();
  await disk.syncDirectory('/');
  await disk.syncDirectory('/data');
  disk.crash({ loseUnsynced: true, random: seededRandom(7) });
  log = await openTestLog(disk, directory, { recover: true, recoveryPoint: 2 });
  expect(ends(1, 4)).toEqual(['1 ends at 2', '4 ends at 2']);
  append(4, 'c');
  expect(ends(1, 4)).toEqual(['1 ends at 2', '4 ends at 3']);
});

test('an epoch without a record is replaced by the next one at the same offset', async () => {
  append(1, 'a');
  await log.assignEpoch(2);
  await log.assignEpoch(3);
  expect(ends(1, 2, 3)).toEqual(['1 ends at 1', '1 ends at 1', '3 ends at 1']);
  await log.assignEpoch(2);
  expect(log.latestEpoch).toBe(3);
});

test('a truncation drops the epochs of what it drops, also when they were written down', async () => {
  append(1, 'a', 'b');
  append(2, 'c');
  append(3, 'd');
  await log.flush();
  log.truncateTo(2);
  expect([log.logEndOffset, log.latestEpoch, log.lastBatchEpoch]).toEqual([2, 1, 1]);
  append(5, 'e');
  disk.crash({ loseUnsynced: false, random: seededRandom(1) });
  log = await openTestLog(disk, directory, { recover: true });
  expect(ends(1, 2, 3, 4, 5)).toEqual([
    '1 ends at 2',
    '1 ends at 2',
    '1 ends at 2',
    '1 ends at 2',
    '5 ends at 3',
  ]);
});

test('KAFKA-10706: truncating to the log end drops an epoch that began right there', async () => {
  append(1, 'a');
  await log.assignEpoch(2);
  log.truncateTo(1);
  expect([log.latestEpoch, log.logEndOffset]).toEqual([1, 1]);
  await log.close();
  log = await openTestLog(disk, directory);
  expect(log.latestEpoch).toBe(1);
});

test('an epoch that was led without a record does not keep out the older records of the next leader', async () => {
  append(1, 'a', 'b');
  await log.assignEpoch(2);
  // Nobody followed epoch 2. The leader of epoch 3 has more of epoch 1 than we.
  const older = makeBatch({ values: ['c'] });
  assignOffsetAndEpoch(older, 2, 1);
  log.appendAsFollower(older);
  expect([log.logEndOffset, log.latestEpoch, log.lastBatchEpoch]).toEqual([3, 1, 1]);
  expect(ends(1, 2)).toEqual(['1 ends at 3', '1 ends at 3']);
  disk.crash({ loseUnsynced: false, random: seededRandom(3) });
  log = await openTestLog(disk, directory, { recover: true });
  expect(ends(1, 2)).toEqual(['1 ends at 3', '1 ends at 3']);
});

test('a truncation within a batch drops the whole batch', () => {
  append(1, 'a', 'b', 'c');
  append(1, 'd', 'e', 'f');
  log.truncateTo(4);
  expect(log.logEndOffset).toBe(3);
  expect(describeRecords(log.read(0, 1000, Infinity))).toEqual(['0:a', '1:b', '2:c']);
  log.truncateTo(10);
  expect(log.logEndOffset).toBe(3);
});

test('a truncation over segments removes their files, and reading, rolling and reopening go on', async () => {
  for (let i = 0; i < 12; i += 1) append(i, `${i}`.padEnd(200));
  await log.flush();
  log.read(4, 1, Infinity);
  log.truncateTo(6);
  expect(disk.list(directory).filter((name) => name.endsWith('.log'))).toHaveLength(2);
  for (let i = 6; i < 30; i += 1) append(20 + i, `new ${i}`.padEnd(200));
  const all = (): string[] =>
    Array.from({ length: log.logEndOffset }, (_, offset) =>
      describeRecords(log.read(offset, 1, Infinity))[0]!.trim(),
    );
  const expected = Array.from({ length: 30 }, (_, i) => (i < 6 ? `${i}:${i}` : `${i}:new ${i}`));
  expect(all()).toEqual(expected);
  await log.close();
  log = await openTestLog(disk, directory);
  expect(all()).toEqual(expected);
});

test('a restart elsewhere forgets everything', async () => {
  for (let i = 0; i < 12; i += 1) append(i, `${i}`.padEnd(200));
  log.restartAt(100);
  expect([log.logStartOffset, log.logEndOffset, log.sizeBytes]).toEqual([100, 100, 0]);
  expect([log.latestEpoch, log.lastBatchEpoch]).toEqual([-1, -1]);
  append(7, 'a');
  await log.close();
  log = await openTestLog(disk, directory);
  expect([log.logStartOffset, log.logEndOffset, log.lastBatchEpoch]).toEqual([100, 101, 7]);
  log.truncateTo(50);
  expect([log.logStartOffset, log.logEndOffset]).toEqual([50, 50]);
});

test('the cache keeps epochs and offsets rising, whatever it is told', () => {
  const cache = new LeaderEpochCache();
  const told: [number, number][] = [
    [0, 0],
    [1, 10],
    [1, 12],
    [2, 20],
    [3, 20],
    [5, 15],
    [4, 30],
  ];
  for (const [epoch, offset] of told) cache.assign(epoch, offset);
  expect(cache.format()).toBe('0\n3\n0 0\n1 10\n4 30\n');
  cache.cutBefore(12);
  expect(cache.entries).toEqual([
    { epoch: 1, startOffset: 12 },
    { epoch: 4, startOffset: 30 },
  ]);
  expect([cache.epochOf(11), cache.epochOf(12), cache.epochOf(99)]).toEqual([-1, 1, 4]);
});

test('the batches win over an epoch file that contradicts them', () => {
  const stored = (): LeaderEpochCache =>
    new LeaderEpochCache([
      { epoch: 1, startOffset: 0 },
      { epoch: 3, startOffset: 10 },
      { epoch: 4, startOffset: 25 },
    ]);
  const cache = stored();
  cache.reconcile([
    { epoch: 1, startOffset: 5 },
    { epoch: 2, startOffset: 10 },
    { epoch: 5, startOffset: 20 },
  ]);
  expect(cache.entries).toEqual([
    { epoch: 1, startOffset: 0 },
    { epoch: 2, startOffset: 10 },
    { epoch: 5, startOffset: 20 },
  ]);
  const agreeing = stored();
  agreeing.reconcile([{ epoch: 3, startOffset: 12 }]);
  expect(agreeing.entries).toEqual(stored().entries);
});

describe('a full disk between the epoch file and the batch that it was written for', () => {
  function replicated(offset: number, epoch: number, value: string): Buffer {
    const batch = makeBatch({ values: [value] });
    assignOffsetAndEpoch(batch, offset, epoch);
    return batch;
  }

  it('what comes in its place, of an epoch that was known, is not taken for damaged by the next start', async () => {
    log.appendAsFollower(replicated(0, 3, 'a'));
    await log.flush();
    disk.failNext('append', { code: 'DISK_FULL', path: '.log' });
    expect(() => log.appendAsFollower(replicated(1, 5, 'b'))).toThrow('injected failure');
    // The leader of epoch 5 is gone, and the next one has more of epoch 3.
    log.appendAsFollower(replicated(1, 3, 'c'));
    disk.crash({ loseUnsynced: false, random: seededRandom(3) });
    log = await openTestLog(disk, directory, { recover: true, unsyncedMayBeLost: false });
    expect(describeRecords(log.read(0, 1000, Infinity))).toEqual(['0:a', '1:c']);
    expect(ends(3, 5)).toEqual(['3 ends at 2', '3 ends at 2']);
  });

  it('the file is put right by a flush, too, and an epoch that was led stays in it when an append is undone', async () => {
    log.appendAsFollower(replicated(0, 3, 'a'));
    await log.assignEpoch(4);
    disk.failNext('append', { code: 'DISK_FULL', path: '.log' });
    expect(() => log.appendAsFollower(replicated(1, 5, 'b'))).toThrow('injected failure');
    await log.flush();
    disk.crash({ loseUnsynced: false, random: seededRandom(3) });
    log = await openTestLog(disk, directory, { recover: true, unsyncedMayBeLost: false });
    expect(ends(3, 4, 5)).toEqual(['3 ends at 1', '4 ends at 1', '4 ends at 1']);
  });
});

describe('what lies in the epoch file', () => {
  it('kill -9: a digit that changed in an epoch without a batch is not believed', async () => {
    append(1, 'a', 'b');
    await log.assignEpoch(4);
    disk.crash({ loseUnsynced: false, random: seededRandom(1) });
    const path = `${directory}/leader-epoch-checkpoint`;
    const added = disk.openFile(`${path}.crc`).read(0, 100).toString();
    expect(added).toContain(' 4 2 ');
    disk.flipBit(`${path}.crc`, added.indexOf(' 4 2 ') + 1, 0); // 5 instead of 4
    log = await openTestLog(disk, directory, { recover: true, unsyncedMayBeLost: false });
    expect(ends(1, 4, 5)).toEqual(['1 ends at 2', '1 ends at 2', '1 ends at 2']);
    await log.flush();
    expect(disk.openFile(path).read(0, 100).toString()).toBe('0\n1\n1 0\n');
  });

  it('an epoch without a batch is there after the power failed if a flush came in between, and may else be gone, but nothing with it', async () => {
    for (let seed = 0; seed < 60; seed += 1) {
      const random = seededRandom(seed);
      disk = new SimulatedDisk();
      log = await openTestLog(disk, directory);
      await disk.syncDirectory('/');
      await disk.syncDirectory('/data');
      append(1, 'a', 'b');
      await log.flush();
      // Each of them writes the file at once, and waits for no device.
      append(2, 'c');
      const batch = makeBatch({ values: ['d'] });
      assignOffsetAndEpoch(batch, 3, 3);
      log.appendAsFollower(batch);
      if (random.next() < 0.5) log.truncateTo(2);
      if (random.next() < 0.5) await log.settleCuts();
      if (random.next() < 0.5) await log.flush();
      await log.assignEpoch(7);
      const isFlushed = random.next() < 0.5;
      if (isFlushed) await log.flush();
      const atEnd = log.logEndOffset;
      disk.crash({ loseUnsynced: true, random });
      log = await openTestLog(disk, directory, { recover: true, recoveryPoint: 2 });
      expect(log.logEndOffset).toBeGreaterThanOrEqual(isFlushed ? atEnd : 2);
      if (isFlushed) expect([seed, log.latestEpoch]).toEqual([seed, 7]);
      else expect(log.latestEpoch).toBeGreaterThanOrEqual(1);
    }
  });
});
