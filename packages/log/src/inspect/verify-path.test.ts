/** What `trib debug segment verify` finds: a small log, damaged in one way after another. */
import { defaultTopicConfig, silentLogger, systemRandom } from '@tributary/common';
import { readBatchHeader, splitBatches } from '@tributary/record';
import { makeBatch, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import type { Disk } from '../disk';
import { LogDirectory } from '../log-directory';
import { InspectionReport, type Damage } from './report';
import { verifyPath } from './verify-path';

const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const DATA = '/data';
const PARTITION = `${DATA}/orders-0`;
const FIRST = `${PARTITION}/${'0'.repeat(20)}`;
const config = { ...defaultTopicConfig, segmentBytes: 5000, maxMessageBytes: 100_000 };
const clock = new SimulatedClock();

function openDirectory(disk: Disk): Promise<LogDirectory> {
  return LogDirectory.open({
    disk,
    directory: DATA,
    brokerId: 1,
    clusterId: 'C1',
    clock,
    random: systemRandom,
    logger: silentLogger,
    configFor: () => config,
  });
}

/** Two segments of two leader epochs and two producers, large enough for an index entry each. */
async function writeLog(disk: Disk): Promise<LogDirectory> {
  const store = await openDirectory(disk);
  await store.noteBrokerEpoch(7);
  const log = await store.create('orders', TOPIC_ID, 0, config);
  await log.assignEpoch(1);
  for (let i = 0; i < 6; i += 1) {
    const leaderEpoch = i < 4 ? 1 : 2;
    const values = i % 3 === 1 ? ['x'.repeat(4100)] : [`a${i}`, `b${i}`];
    const producer = [5 + (i % 2), 0, 0] as [number, number, number];
    producer[2] = [0, 0, 2, 1, 4, 3][i] as number;
    const batch = makeBatch({ values, producer, timestamp: 1000 + i });
    log.appendAsLeader(batch, { leaderEpoch });
  }
  log.noteHighWatermark(log.logEndOffset);
  await store.checkpointHighWatermarks([{ topic: 'orders', partition: 0, offset: 10 }]);
  return store;
}

/** @param isWaiting it may look twice, so the clock must turn. */
async function verified(
  disk: Disk,
  path: string,
  isWaiting = false,
): Promise<{ damages: Damage[]; notes: string[] }> {
  const damages: Damage[] = [];
  const notes: string[] = [];
  const report = new InspectionReport(
    (damage) => damages.push(damage),
    (note) => notes.push(note),
  );
  const work = verifyPath({ disk, clock, report }, path);
  await (isWaiting ? clock.settleWithin(work, 10_000) : work);
  return { damages, notes };
}

describe('a log that was closed cleanly', () => {
  const disk = new SimulatedDisk();
  let files: string[];

  beforeAll(async () => {
    const store = await writeLog(disk);
    await store.close({ clean: true, brokerEpoch: 7 });
    files = [
      ...disk.list(DATA).map((name) => `${DATA}/${name}`),
      ...disk.list(PARTITION).map((name) => `${PARTITION}/${name}`),
    ].filter((path) => !disk.isDirectory(path));
  });

  test('is sound', async () => {
    expect(await verified(disk, DATA)).toEqual({ damages: [], notes: [] });
    expect(disk.list(PARTITION).filter((name) => name.endsWith('.log'))).toHaveLength(2);
  });

  test('has no byte that can change unseen: the file is named, and in a .log the damaged batch', async () => {
    let flips = 0;
    for (const path of files) {
      const size = disk.fileSize(path);
      const scope = path.startsWith(PARTITION) ? PARTITION : DATA;
      for (let at = 0; at < size; at += 1) {
        const bit = (at * 5) % 8;
        disk.flipBit(path, at, bit);
        const { damages } = await verified(disk, scope);
        disk.flipBit(path, at, bit);
        flips += 1;
        const named = damages.filter((damage) => damage.path === path);
        if (named.length === 0) throw new Error(`${path}, byte ${at}: ${JSON.stringify(damages)}`);
        if (!path.endsWith('.log')) continue;
        const batch = batchAround(path, at);
        for (const { position = -1, problem } of named) {
          if (position >= batch.from && position < batch.to) continue;
          throw new Error(
            `${path}, byte ${at} of ${JSON.stringify(batch)}: ${position} ${problem}`,
          );
        }
      }
    }
    expect(flips).toBeGreaterThan(9000);
    expect(await verified(disk, DATA)).toEqual({ damages: [], notes: [] });
  });

  function batchAround(path: string, at: number): { from: number; to: number } {
    const file = disk.openFile(path);
    const bytes = file.read(0, file.size);
    file.close();
    let from = 0;
    for (const batch of splitBatches(bytes)) {
      if (at < from + batch.length) return { from, to: from + readBatchHeader(batch).sizeInBytes };
      from += batch.length;
    }
    throw new Error('beyond the end');
  }
});

test('a replica that has nothing yet lacks nothing; one with batches lacks its epochs', async () => {
  const disk = new SimulatedDisk();
  const store = await openDirectory(disk);
  await store.create('empty', TOPIC_ID, 0, config);
  expect(await verified(disk, `${DATA}/empty-0`)).toEqual({ damages: [], notes: [] });
  const other = new SimulatedDisk();
  await writeLog(other);
  other.remove(`${PARTITION}/leader-epoch-checkpoint`);
  expect((await verified(other, PARTITION)).notes).toContainEqual(
    expect.stringContaining('the batches alone tell the epochs'),
  );
});

test('an epoch in which nothing is written yet is no damage of a log that was closed before', async () => {
  const disk = new SimulatedDisk();
  const first = await writeLog(disk);
  await first.close({ clean: true, brokerEpoch: 7 });
  const store = await openDirectory(disk);
  await store.get(TOPIC_ID, 0)?.assignEpoch(3);
  expect(await verified(disk, DATA)).toEqual({ damages: [], notes: [] });
  await store.close({ clean: false, brokerEpoch: 8 }); // nor after a crash
  expect(await verified(disk, PARTITION)).toEqual({ damages: [], notes: [] });
});

test('a torn end of the segment that a running broker writes to is no damage once it is whole', async () => {
  const disk = new SimulatedDisk();
  const store = await writeLog(disk);
  const last = `${PARTITION}/${disk.list(PARTITION).findLast((name) => name.endsWith('.log'))}`;
  const file = disk.openFile(last);
  const more = makeBatch({ values: ['more'], baseOffset: 9, leaderEpoch: 2 });
  file.append([more.subarray(0, 30)]);
  clock.setTimer(150, () => file.append([more.subarray(30)]));
  expect((await verified(disk, PARTITION, true)).damages).toEqual([]);
  await store.close({ clean: false, brokerEpoch: 7 });
});

test('a torn end that stays torn is told, with its position', async () => {
  const disk = new SimulatedDisk();
  await writeLog(disk);
  const last = `${PARTITION}/${disk.list(PARTITION).findLast((name) => name.endsWith('.log'))}`;
  const file = disk.openFile(last);
  const position = file.size;
  file.append([makeBatch({ baseOffset: 9, leaderEpoch: 2 }).subarray(0, 65)]);
  expect((await verified(disk, PARTITION, true)).damages).toEqual([
    expect.objectContaining({
      path: last,
      position,
      problem: expect.stringContaining('ends 65 bytes into a batch'),
    }),
  ]);
});

test('without a seal, offsets that leave no gaps tell which header is wrong', async () => {
  const disk = new SimulatedDisk();
  await writeLog(disk);
  const last = `${PARTITION}/${disk.list(PARTITION).findLast((name) => name.endsWith('.log'))}`;
  disk.flipBit(last, 5);
  expect((await verified(disk, PARTITION)).damages).toEqual([
    expect.objectContaining({
      path: last,
      position: 0,
      problem: 'it begins at offset 65543, 7 is next',
    }),
  ]);
});

test('one segment alone can be verified, and what is no log is refused', async () => {
  const disk = new SimulatedDisk();
  await (await writeLog(disk)).close({ clean: true, brokerEpoch: 7 });
  expect((await verified(disk, `${FIRST}.log`)).damages).toEqual([]);
  disk.flipBit(`${FIRST}.log`, 40);
  expect((await verified(disk, `${FIRST}.index`)).damages).toEqual([
    expect.objectContaining({ path: `${FIRST}.log`, position: 40 }),
  ]);
  await expect(verified(disk, '/nowhere')).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
});
