/** What a start makes of bytes that do not check: a torn end is cut, damage is refused, what can be made anew is. */
import { defaultTopicConfig, seededRandom } from '@tributary/common';
import { assignOffsetAndEpoch, splitBatches } from '@tributary/record';
import {
  describeRecords,
  makeBatch,
  openTestLog,
  readWholeLog,
  SimulatedClock,
  SimulatedDisk,
} from '@tributary/testkit';
import type { Log } from './log';
import type { LogOptions } from './log-options';
import { decodeSeal } from './segment-seal';

const directory = '/data/orders-0';
const config = { ...defaultTopicConfig, segmentBytes: 3000, maxMessageBytes: 10_000 };
let disk: SimulatedDisk;
let clock: SimulatedClock;

beforeEach(() => {
  disk = new SimulatedDisk();
  clock = new SimulatedClock();
});

const open = (options: Partial<LogOptions> = {}): Promise<Log> =>
  openTestLog(disk, directory, { config, clock, ...options });
const afterKill = { recover: true, unsyncedMayBeLost: false };
const afterPowerFailure = { recover: true, unsyncedMayBeLost: true };

/** Ten batches of 600 bytes and more; five to a segment. */
async function write(): Promise<Log> {
  const log = await open();
  await log.assignEpoch(3);
  for (let i = 0; i < 10; i += 1) {
    log.appendAsLeader(makeBatch({ values: [`${i}`.padEnd(500)] }), { leaderEpoch: 3 });
  }
  return log;
}

const path = (name: string): string => `${directory}/${name}`;
const bytesOf = (name: string): Buffer => {
  const file = disk.openFile(path(name));
  const bytes = file.read(0, file.size);
  file.close();
  return bytes;
};
const logs = (): string[] => disk.list(directory).filter((name) => name.endsWith('.log'));
const sealed = (name: string): string => name.replace('.log', '.seal');

/** Flips a bit in batch `i` of the log, `at` bytes from its beginning. */
function flip(i: number, at: number): { name: string; position: number } {
  let left = i;
  for (const name of logs()) {
    const batches = splitBatches(bytesOf(name));
    if (left < batches.length) {
      const position = batches.slice(0, left).reduce((sum, { length }) => sum + length, 0);
      disk.flipBit(path(name), position + at);
      return { name, position };
    }
    left -= batches.length;
  }
  throw new Error(`there is no batch ${i}`);
}

const RECORDS = 100;
const BASE_OFFSET = 7;
const LENGTH = 11;
const EPOCH = 15;

test.each([
  ['records', RECORDS],
  ['base offset', BASE_OFFSET],
  ['length', LENGTH],
  ['leader epoch', EPOCH],
])(
  'below the recovery point a flipped bit (%s) is damage, and nothing is cut',
  async (_where, at) => {
    await write();
    const { name, position } = flip(7, at);
    const before = logs().map((one) => bytesOf(one));
    for (const after of [afterKill, afterPowerFailure]) {
      await expect(open({ ...after, recoveryPoint: 9 })).rejects.toMatchObject({
        code: 'CORRUPT_LOG',
        details: { path: path(name), position, offset: 7 },
      });
      expect(logs().map((one) => bytesOf(one))).toEqual(before);
    }
  },
);

test.each([RECORDS, BASE_OFFSET, LENGTH, EPOCH])(
  'behind the recovery point with sound batches behind it (byte %i): damage, unless the power failed',
  async (at) => {
    await write();
    flip(7, at);
    await expect(open({ ...afterKill, recoveryPoint: 5 })).rejects.toMatchObject({
      code: 'CORRUPT_LOG',
    });
    const log = await open({ ...afterPowerFailure, recoveryPoint: 5 });
    expect([log.logEndOffset, log.cutBytes > 0]).toEqual([7, true]);
  },
);

test('in a segment before the last one: damage as well, unless the power failed', async () => {
  await write();
  flip(4, RECORDS);
  await expect(open(afterKill)).rejects.toMatchObject({ code: 'CORRUPT_LOG' });
  expect((await open(afterPowerFailure)).logEndOffset).toBe(4);
});

test.each([
  ['base offset', BASE_OFFSET],
  ['leader epoch', EPOCH],
])('the last batch, whole but with another %s, is no torn write', async (_where, at) => {
  await write();
  flip(9, at);
  await expect(open(afterKill)).rejects.toMatchObject({ code: 'CORRUPT_LOG' });
});

test('a new epoch of a follower is known after a kill, before anything was synced', async () => {
  const log = await open();
  const batches = [4, 4, 6].map((epoch, offset) => {
    const batch = makeBatch({ values: [`${offset}`] });
    assignOffsetAndEpoch(batch, offset, epoch);
    return batch;
  });
  log.appendAsFollower(Buffer.concat(batches));
  const recovered = await open(afterKill);
  expect([recovered.logEndOffset, recovered.cutBytes, recovered.lastBatchEpoch]).toEqual([3, 0, 6]);
});

test('gaps are known after a kill: a log that has some is not taken for a damaged one', async () => {
  const log = await open();
  const batches = [0, 5, 6].map((offset) => makeBatch({ values: ['x'], baseOffset: offset }));
  log.appendAsFollower(Buffer.concat(batches));
  expect(disk.exists(path('offset-gaps'))).toBe(true);
  const recovered = await open(afterKill);
  expect([recovered.logEndOffset, recovered.cutBytes]).toEqual([7, 0]);
  expect(describeRecords(readWholeLog(recovered))).toEqual(['0:x', '5:x', '6:x']);
});

describe('in a log with gaps', () => {
  const replicate = (log: Log, ...offsets: number[]): void => {
    const batches = offsets.map((offset) => makeBatch({ values: ['x'], baseOffset: offset }));
    log.appendAsFollower(Buffer.concat(batches));
  };

  it.each(Array.from({ length: 8 }, (_, bit) => bit))(
    'kill -9: base offset of the last batch with bit %s flipped',
    async (bit) => {
      for (const offsets of [
        [0, 5, 6],
        [0, 5, 9],
      ]) {
        disk = new SimulatedDisk();
        const log = await open();
        replicate(log, ...offsets);
        disk.flipBit(path(logs()[0] as string), lastBatchAt() + BASE_OFFSET, bit);
        const lifted = offsets[2]! ^ (1 << bit);
        const opening = open(afterKill);
        // Within the gap it could be what was written: no sum covers it before the log is closed.
        if (lifted > offsets[1]! && lifted < offsets[2]!) await opening;
        else await expect(opening).rejects.toMatchObject({ code: 'CORRUPT_LOG' });
      }
    },
  );

  function lastBatchAt(): number {
    const batches = splitBatches(bytesOf(logs()[0] as string));
    return batches.slice(0, -1).reduce((sum, { length }) => sum + length, 0);
  }

  it('cut below its gaps it has none any more', async () => {
    const log = await open();
    replicate(log, 0, 5, 9);
    log.truncateTo(5);
    replicate(log, 5, 6);
    flip(2, BASE_OFFSET); // 7 instead of 6
    await expect(open(afterKill)).rejects.toMatchObject({ code: 'CORRUPT_LOG' });
  });

  it.each(['empty, of an earlier version', 'damaged', 'cut short'])(
    'the file that bounds them is %s: they are expected everywhere',
    async (how) => {
      const log = await open();
      replicate(log, 0, 5, 6, 9);
      const file = disk.openFile(path('offset-gaps'));
      if (how === 'damaged') disk.flipBit(path('offset-gaps'), 19, 0);
      else file.truncate(how === 'cut short' ? 12 : 0);
      const recovered = await open(afterKill);
      replicate(recovered, 20);
      expect(describeRecords(readWholeLog(recovered)).at(-1)).toBe('20:x');
      expect((await open(afterKill)).logEndOffset).toBe(21);
    },
  );

  it('the power fails: what is on the device of a log is not more than is known of its gaps', async () => {
    for (let seed = 0; seed < 60; seed += 1) {
      disk = new SimulatedDisk();
      const log = await open();
      await disk.syncDirectory('/');
      await disk.syncDirectory('/data');
      const random = seededRandom(seed);
      let offset = 0;
      const more = (): void => {
        offset += 1 + Math.floor(random.next() * 3);
        replicate(log, offset);
      };
      for (let i = 0; i < 10; i += 1) more();
      await log.flush();
      const synced = log.recoveryPoint;
      for (let i = 0; i < 10; i += 1) more();
      disk.crash({ loseUnsynced: true, random });
      const recovered = await open({ ...afterPowerFailure, recoveryPoint: synced });
      expect(recovered.logEndOffset).toBeGreaterThanOrEqual(synced);
    }
  });
});

test('a segment that is shorter than its seal says is damage, also where a whole batch is missing', async () => {
  await (await write()).close();
  const name = logs().at(-1) as string;
  const bytes = bytesOf(name);
  const batches = splitBatches(bytes);
  for (const missing of [(batches.at(-1) as Buffer).length, 1]) {
    const file = disk.openFile(path(name));
    file.truncate(bytes.length - missing);
    await expect(open()).rejects.toMatchObject({ code: 'CORRUPT_LOG' });
    file.truncate(0);
    file.append([bytes]);
    file.close();
  }
  expect((await open()).logEndOffset).toBe(10);
});

test('a missing segment in the middle is damage', async () => {
  const log = await write();
  for (let i = 10; i < 20; i += 1) {
    log.appendAsLeader(makeBatch({ values: [`${i}`.padEnd(500)] }), { leaderEpoch: 3 });
  }
  await log.close();
  disk.remove(path(logs()[1] as string));
  await expect(open()).rejects.toThrow('what lies before that is missing');
});

test.each(['index', 'timeindex', 'seal'])('a damaged or missing .%s is made anew', async (kind) => {
  const log = await write();
  for (let i = 10; i < 30; i += 1) {
    log.appendAsLeader(makeBatch({ values: [`${i}`.padEnd(500)] }), { leaderEpoch: 3 });
  }
  const all = readWholeLog(log);
  await log.close();
  for (const log of logs()) {
    const name = log.replace('.log', `.${kind}`);
    const before = bytesOf(name);
    const harm = [
      () => disk.remove(path(name)),
      () => before.length > 0 && disk.flipBit(path(name), before.length >> 1),
    ];
    for (const damage of harm) {
      damage();
      const reopened = await open();
      expect(readWholeLog(reopened).equals(all)).toBe(true);
      reopened.maxTimestamp(Infinity);
      await reopened.close();
      const after = bytesOf(name);
      if (kind !== 'seal') expect(after.equals(before)).toBe(true);
      else expect(sumsOf(after)).toEqual(sumsOf(before));
    }
  }
});

/** What does not depend on when it was made. */
function sumsOf(bytes: Buffer): object {
  const {
    sealedAt: _at,
    firstAppendAt: _first,
    epochsCrc: _epochs,
    ...sums
  } = decodeSeal(bytes, '');
  return sums;
}

test('a seal says when its segment was begun and sealed, by the clock of the broker', async () => {
  const log = await open();
  const begun = clock.wallTime();
  // A producer from the far future.
  const batch = (): Buffer => makeBatch({ values: ['x'.repeat(500)], timestamp: 4e12 });
  log.appendAsLeader(batch(), { leaderEpoch: 0 });
  await clock.advance(1000);
  while (logs().length === 1) log.appendAsLeader(batch(), { leaderEpoch: 0 });
  await log.flush();
  const seal = decodeSeal(bytesOf(sealed(logs()[0] as string)), '');
  expect(seal).toMatchObject({
    firstAppendAt: begun,
    sealedAt: begun + 1000,
    firstTimestamp: 4e12,
  });
  await clock.advance(5000);
  await log.close();
  await (await open()).close();
  expect(decodeSeal(bytesOf(sealed(logs()[0] as string)), '')).toMatchObject({
    firstAppendAt: begun,
    sealedAt: begun + 1000,
  });
});

test('a cut below the recovery point is announced, and the recovery point with it', async () => {
  const log = await write();
  await log.flush();
  expect(log.recoveryPoint).toBe(10);
  expect(log.prepareCut(10)).toBeUndefined();
  await log.prepareCut(8);
  expect(log.recoveryPoint).toBe(8);
  // A sync vouches for nothing that is about to go.
  await log.flush();
  expect(log.recoveryPoint).toBe(8);
  // Nobody has cut it: with the next append it counts again.
  log.appendAsLeader(makeBatch(), { leaderEpoch: 3 });
  await log.flush();
  expect(log.recoveryPoint).toBe(11);
});

test('KAFKA-3968: what was rolled and flushed has its entries in the directory when the power fails', async () => {
  for (let seed = 0; seed < 10; seed += 1) {
    disk = new SimulatedDisk();
    const log = await write();
    await disk.syncDirectory('/');
    await disk.syncDirectory('/data');
    await log.flush();
    const { recoveryPoint } = log;
    const before = logs();
    disk.crash({ loseUnsynced: true, random: seededRandom(seed) });
    expect(logs()).toEqual(before);
    // The last segment is written to: it has no seal yet.
    for (const name of before.slice(0, -1)) expect(disk.exists(path(sealed(name)))).toBe(true);
    const recovered = await open({ ...afterPowerFailure, recoveryPoint });
    expect([recoveryPoint, recovered.logEndOffset, recovered.cutBytes]).toEqual([10, 10, 0]);
  }
});
