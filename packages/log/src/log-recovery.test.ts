/** A log after its process, or the machine under it, died: it is a prefix of what was appended, and usable. */
import { seededRandom } from '@tributary/common';
import { splitBatches } from '@tributary/record';
import {
  describeRecords,
  makeBatch,
  openTestLog,
  readWholeLog,
  SimulatedDisk,
} from '@tributary/testkit';
import type { Log } from './log';
import { segmentName } from './segment';

const directory = '/data/orders-0';
const random = seededRandom(1);
let disk: SimulatedDisk;

beforeEach(() => {
  disk = new SimulatedDisk();
});

const kill = (): void => disk.crash({ loseUnsynced: false, random });
const recover = (options = {}): Promise<Log> =>
  openTestLog(disk, directory, { recover: true, ...options });

function append(log: Log, value: string, leaderEpoch = 0): void {
  log.appendAsLeader(makeBatch({ values: [value] }), { leaderEpoch });
}

function cutFile(name: string, size: number): void {
  const file = disk.openFile(`${directory}/${name}`);
  file.truncate(size);
  file.close();
}

test('kill -9 loses nothing that was appended', async () => {
  const log = await openTestLog(disk, directory);
  for (let i = 0; i < 20; i += 1) append(log, `${i}`.padEnd(150), i);
  const before = readWholeLog(log);
  kill();
  const recovered = await recover();
  expect(readWholeLog(recovered)).toEqual(before);
  expect([recovered.logEndOffset, recovered.latestEpoch, recovered.cutBytes]).toEqual([20, 19, 0]);
  for (let epoch = 0; epoch < 20; epoch += 1) {
    expect(recovered.epochEnd(epoch)).toEqual({ epoch, endOffset: epoch + 1 });
  }
  expect(recovered.recoveryPoint).toBe(0);
});

test('a torn tail is cut at every byte boundary of the last batch, and the log goes on', async () => {
  const size = makeBatch({ values: ['last'] }).length;
  for (let left = 0; left < size; left += 1) {
    disk = new SimulatedDisk();
    const log = await openTestLog(disk, directory);
    append(log, 'first');
    append(log, 'last');
    kill();
    cutFile(`${segmentName(0)}.log`, log.sizeBytes - size + left);
    const recovered = await recover();
    expect([recovered.logEndOffset, recovered.cutBytes]).toEqual([1, left]);
    append(recovered, 'again');
    expect(describeRecords(readWholeLog(recovered))).toEqual(['0:first', '1:again']);
    kill();
    expect((await recover()).logEndOffset).toBe(2);
  }
});

test('at the first byte that does not check the log ends; later segments are dropped', async () => {
  const log = await openTestLog(disk, directory);
  for (let i = 0; i < 12; i += 1) append(log, `${i}`.padEnd(200));
  kill();
  disk.flipBit(`${directory}/${segmentName(3)}.log`, 400);
  const recovered = await recover();
  expect(recovered.logEndOffset).toBe(4);
  expect(disk.list(directory).filter((name) => name.endsWith('.log'))).toEqual([
    `${segmentName(0)}.log`,
    `${segmentName(3)}.log`,
  ]);
});

test('below the recovery point nothing is read again, above it everything', async () => {
  const log = await openTestLog(disk, directory);
  for (let i = 0; i < 12; i += 1) append(log, `${i}`.padEnd(200));
  await log.flush();
  kill();
  disk.flipBit(`${directory}/${segmentName(0)}.log`, 400);
  disk.flipBit(`${directory}/${segmentName(6)}.log`, 400);
  expect((await recover({ recoveryPoint: 7 })).logEndOffset).toBe(7);
});

test('a hole between segments is where the end of the earlier one was lost', async () => {
  const log = await openTestLog(disk, directory);
  for (let i = 0; i < 12; i += 1) append(log, `${i}`.padEnd(200));
  kill();
  cutFile(`${segmentName(3)}.log`, makeBatch({ values: ['x'.repeat(200)] }).length * 2);
  const recovered = await recover();
  expect(recovered.logEndOffset).toBe(5);
  expect(recovered.cutBytes).toBeGreaterThan(0);
});

test('indexes and epoch file that are missing or damaged are rebuilt from the batches', async () => {
  const log = await openTestLog(disk, directory);
  for (let i = 0; i < 12; i += 1) append(log, `${i}`.padEnd(200), Math.floor(i / 5));
  await log.close();
  const times = [0, 1000, 1001].map((time) => log.epochEnd(time));
  cutFile(`${segmentName(0)}.timeindex`, 5);
  disk.remove(`${directory}/${segmentName(3)}.index`);
  cutFile('leader-epoch-checkpoint', 3);
  const reopened = await openTestLog(disk, directory);
  expect(reopened.logEndOffset).toBe(12);
  expect(reopened.offsetForTimestamp(1000, 12)).toEqual({ offset: 0, timestamp: 1000 });
  expect([0, 1000, 1001].map((time) => reopened.epochEnd(time))).toEqual(times);
});

test('KAFKA-10432: epoch 0 is found again like any other', async () => {
  const log = await openTestLog(disk, directory);
  append(log, 'a', 0);
  append(log, 'b', 1);
  kill();
  disk.remove(`${directory}/leader-epoch-checkpoint`);
  const recovered = await recover();
  expect(recovered.epochEnd(0)).toEqual({ epoch: 0, endOffset: 1 });
  expect(recovered.epochEnd(1)).toEqual({ epoch: 1, endOffset: 2 });
});

test('an epoch file that knows more than the batches is cut to them', async () => {
  const log = await openTestLog(disk, directory);
  append(log, 'a', 0);
  append(log, 'b'.repeat(40), 1);
  append(log, 'c', 2);
  await log.flush();
  kill();
  cutFile(`${segmentName(0)}.log`, makeBatch({ values: ['a'] }).length + 10);
  const recovered = await recover();
  expect([recovered.logEndOffset, recovered.lastBatchEpoch]).toEqual([1, 0]);
  expect(recovered.epochEnd(5)).toEqual({ epoch: 1, endOffset: 1 });
});

test('a log that ends before its checkpointed start is emptied', async () => {
  const log = await openTestLog(disk, directory);
  append(log, 'a');
  kill();
  const recovered = await recover({ logStartOffset: 5 });
  expect([recovered.logStartOffset, recovered.logEndOffset]).toEqual([5, 5]);
  append(recovered, 'b');
  expect(describeRecords(readWholeLog(recovered))).toEqual(['5:b']);
});

test('after a clean close nothing is cut, and reads, times and sizes are as before', async () => {
  const log = await openTestLog(disk, directory);
  for (let i = 0; i < 12; i += 1) append(log, `${i}`.padEnd(200));
  const before = { bytes: readWholeLog(log), size: log.sizeBytes, latest: log.maxTimestamp(12) };
  await log.close();
  await disk.syncDirectory('/');
  await disk.syncDirectory('/data');
  disk.crash({ loseUnsynced: true, random });
  const reopened = await openTestLog(disk, directory, { recoveryPoint: 12 });
  expect(readWholeLog(reopened)).toEqual(before.bytes);
  expect([reopened.sizeBytes, reopened.maxTimestamp(12)]).toEqual([before.size, before.latest]);
  expect([reopened.recoveryPoint, reopened.cutBytes]).toEqual([12, 0]);
});

test('power failure: what was flushed stays, and what is left is a prefix (100 seeds)', async () => {
  for (let seed = 0; seed < 100; seed += 1) {
    const dice = seededRandom(seed);
    disk = new SimulatedDisk();
    const log = await openTestLog(disk, directory);
    await disk.syncDirectory('/');
    await disk.syncDirectory('/data');
    let epoch = 0;
    for (let i = 0; i < 15; i += 1) {
      if (dice.next() < 0.2) epoch += 1;
      if (dice.next() < 0.1) await log.assignEpoch(epoch);
      append(log, `${seed}/${i}`.padEnd(10 + Math.floor(dice.next() * 400)), epoch);
      if (dice.next() < 0.15) await log.flush();
    }
    const before = splitBatches(readWholeLog(log));
    const { recoveryPoint } = log;
    disk.crash({ loseUnsynced: true, random: dice });
    const recovered = await recover({ recoveryPoint });
    const after = splitBatches(readWholeLog(recovered));
    const isPrefix = after.every((batch, i) => batch.equals(before[i]!));
    expect({ seed, isPrefix }).toEqual({ seed, isPrefix: true });
    expect(after.length).toBeGreaterThanOrEqual(recoveryPoint);
    expect(recovered.logEndOffset).toBe(after.length);
    for (let e = 0; e <= epoch; e += 1) {
      const lastOfEpoch = after.findLastIndex((batch) => batch.readInt32BE(12) <= e);
      const end = recovered.epochEnd(e)?.endOffset;
      if (lastOfEpoch >= 0) expect({ seed, e, end }).toEqual({ seed, e, end: lastOfEpoch + 1 });
    }
    append(recovered, 'on', epoch + 1);
    expect(recovered.logEndOffset).toBe(after.length + 1);
  }
});

test('power failure around truncations: every batch left is one that was appended right there (60 seeds)', async () => {
  for (let seed = 0; seed < 60; seed += 1) {
    const dice = seededRandom(1000 + seed);
    disk = new SimulatedDisk();
    const log = await openTestLog(disk, directory);
    await disk.syncDirectory('/');
    await disk.syncDirectory('/data');
    const appended = new Set<string>();
    for (let i = 0; i < 25; i += 1) {
      if (dice.next() < 0.15) log.truncateTo(Math.floor(dice.next() * (log.logEndOffset + 1)));
      const batch = makeBatch({ values: [`${seed}/${i}`.padEnd(10 + dice.next() * 300)] });
      log.appendAsLeader(batch, { leaderEpoch: i });
      appended.add(batch.toString('latin1'));
      if (dice.next() < 0.2) await log.flush();
    }
    const { recoveryPoint } = log;
    disk.crash({ loseUnsynced: true, random: dice });
    const recovered = await recover({ recoveryPoint });
    const left = splitBatches(readWholeLog(recovered));
    expect(recovered.logEndOffset).toBe(left.length);
    let before = -1;
    for (const [offset, batch] of left.entries()) {
      const epoch = batch.readInt32BE(12);
      expect({ seed, offset, known: appended.has(batch.toString('latin1')) }).toEqual({
        seed,
        offset,
        known: true,
      });
      expect(epoch).toBeGreaterThan(before);
      expect(recovered.epochEnd(epoch)).toEqual({ epoch, endOffset: offset + 1 });
      before = epoch;
    }
  }
});

test('an epoch whose batches the power took is not in the way of what comes in their place', async () => {
  const log = await openTestLog(disk, directory);
  for (const path of ['/', '/data', directory]) await disk.syncDirectory(path);
  append(log, 'lost', 0);
  await log.assignEpoch(1);
  // The system wrote back this file, and the batches not yet.
  for (const name of disk.list(directory).filter((one) => one.startsWith('leader-epoch'))) {
    await disk.openFile(`${directory}/${name}`).datasync();
  }
  await disk.syncDirectory(directory);
  disk.crash({ loseUnsynced: true, random: { next: () => 0, bytes: () => Buffer.alloc(0) } });
  const follower = await recover();
  expect([follower.logEndOffset, follower.latestEpoch]).toEqual([0, 0]);
  for (const offset of [0, 1]) {
    const batch = makeBatch({ baseOffset: offset, leaderEpoch: 0 });
    follower.appendAsFollower(batch);
  }
  kill();
  const again = await recover({ unsyncedMayBeLost: false });
  expect([again.logEndOffset, again.latestEpoch]).toEqual([2, 0]);
});

describe('epochs that are lost with the companion of their file, or with its end', () => {
  const companion = 'leader-epoch-checkpoint.crc';
  const afterProcess = (): Promise<Log> => recover({ unsyncedMayBeLost: false });

  let records: unknown;

  /** Each epoch but the first is a line behind the sums. */
  async function written(): Promise<Log> {
    const log = await openTestLog(disk, directory);
    for (let i = 0; i < 6; i += 1) append(log, `${i}`, Math.floor(i / 2));
    records = readWholeLog(log);
    kill();
    return log;
  }

  test('are found in the batches again: the companion is gone', async () => {
    const log = await written();
    disk.remove(`${directory}/${companion}`);
    const recovered = await afterProcess();
    expect(readWholeLog(recovered)).toEqual(records);
    expect([0, 1, 2].map((epoch) => recovered.epochEnd(epoch))).toEqual(
      [0, 1, 2].map((epoch) => log.epochEnd(epoch)),
    );
    kill();
    expect((await afterProcess()).logEndOffset).toBe(6);
  });

  test('are found in the batches again: it ends within a line', async () => {
    const log = await written();
    const size = disk.fileSize(`${directory}/${companion}`);
    const text = disk.openFile(`${directory}/${companion}`).read(0, size).toString();
    for (let left = 1; left < size; left += 1) {
      // A line that is missing as a whole is no torn end.
      if (text[left - 1] === '\n') continue;
      disk = new SimulatedDisk();
      await written();
      cutFile(companion, left);
      const recovered = await afterProcess();
      expect([left, recovered.logEndOffset, recovered.latestEpoch]).toEqual([left, 6, 2]);
      expect(recovered.epochEnd(1)).toEqual(log.epochEnd(1));
    }
  });

  test('but never such that are older than what the file tells', async () => {
    await written();
    disk.remove(`${directory}/${companion}`);
    const path = `${directory}/leader-epoch-checkpoint`;
    disk.remove(path);
    disk.openFile(path, { create: true }).append([Buffer.from('0\n2\n0 0\n5 2\n')]);
    await expect(afterProcess()).rejects.toThrow('a batch has leader epoch 1 instead of 5');
  });
});
