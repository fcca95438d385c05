/** What `trib debug segment verify` finds: a small log, damaged in one way after another. */
import { defaultTopicConfig, silentLogger, systemRandom } from '@tributary/common';
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
  beforeAll(async () => {
    const store = await writeLog(disk);
    await store.close({ clean: true, brokerEpoch: 7 });
  });

  test('is sound', async () => {
    expect(await verified(disk, DATA)).toEqual({ damages: [], notes: [] });
    expect(disk.list(PARTITION).filter((name) => name.endsWith('.log'))).toHaveLength(2);
  });
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
