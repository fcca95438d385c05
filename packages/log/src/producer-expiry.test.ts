/** How long a log remembers its producers: over retention, restarts and truncations, and until when. */
import { defaultTopicConfig, seededRandom } from '@tributary/common';
import { makeBatch, openTestLog, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import type { Log } from './log';
import { PRODUCER_ID_EXPIRATION_MS } from './producer-states';
import { readSnapshot } from './producer-snapshot';

const HOUR = 60 * 60 * 1000;
const DAY = PRODUCER_ID_EXPIRATION_MS;
const directory = '/data/orders-0';
const value = 'x'.repeat(100);
const config = {
  ...defaultTopicConfig,
  segmentBytes: 3 * makeBatch({ values: [value] }).length,
  retentionMs: HOUR,
};
let disk: SimulatedDisk;
let clock: SimulatedClock;
let log: Log;

const open = async (recover = false): Promise<Log> =>
  (log = await openTestLog(disk, directory, { clock, config, recover, logStartOffset: start() }));

/** As a log directory's checkpoint would have it. */
const start = (): number => (log as Log | undefined)?.logStartOffset ?? 0;

beforeEach(async () => {
  disk = new SimulatedDisk();
  clock = new SimulatedClock();
  log = undefined as unknown as Log;
  await open();
});

/** What the leader answers to one record of a producer. */
function send(producerId: number, sequence: number, timestamp = clock.wallTime()): string {
  try {
    const batch = makeBatch({ values: [value], producer: [producerId, 0, sequence], timestamp });
    const { baseOffset, duplicate } = log.appendAsLeader(batch, { leaderEpoch: 0 });
    log.noteHighWatermark(log.logEndOffset);
    return `${duplicate ? 'again' : 'new'} ${baseOffset}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

function deleteOld(): void {
  log.upkeep.retain();
  while (log.upkeep.removeObsoleteSegment());
  log.upkeep.ensureSnapshot();
  log.upkeep.forgetExpiredProducers();
}

/** Producer ids, last sequences: what the newest snapshot says that the log writes when it closes. */
async function remembered(): Promise<string[]> {
  await log.close();
  const name = disk.list(directory).findLast((one) => one.endsWith('.snapshot'));
  const states = readSnapshot(disk, `${directory}/${name}`);
  return [...states!.entries].map(
    ({ producerId, batches }) =>
      `${producerId}: ${batches.map(({ lastSequence, lastOffset }) => `${lastSequence}@${lastOffset}`).join(' ')}`,
  );
}

test('a producer that is silent for a day is refused, one that is not is not', () => {
  send(7, 0);
  send(8, 0);
  clock.jumpWallTime(DAY - 1);
  expect(send(8, 1)).toBe('new 2');
  clock.jumpWallTime(1);
  expect(send(7, 1)).toBe('UNKNOWN_PRODUCER_ID');
  expect(send(7, 0)).toBe('new 3');
  expect(send(8, 2)).toBe('new 4');
});

test('one that begins anew is answered with its new offsets, not with those of before', () => {
  send(7, 0);
  clock.jumpWallTime(DAY);
  expect(send(7, 0)).toBe('new 1');
  expect(send(7, 0)).toBe('again 1');
});

test('KAFKA-6817: who writes records of last year is not taken for silent since then', async () => {
  expect(send(7, 0, 1000)).toBe('new 0');
  expect(send(7, 1, 1000)).toBe('new 1');
  await log.close();
  await open();
  expect(send(7, 2, 1000)).toBe('new 2');
  clock.jumpWallTime(DAY);
  expect(send(7, 3, 1000)).toBe('UNKNOWN_PRODUCER_ID');
});

test('after retention has removed all its batches a producer goes on where it was', async () => {
  for (let i = 0; i < 3; i += 1) send(7, i);
  clock.jumpWallTime(2 * HOUR);
  for (let i = 0; i < 4; i += 1) send(8, i);
  deleteOld();
  expect(log.logStartOffset).toBe(3);
  expect(send(7, 1)).toBe('again 1');
  expect(send(7, 5)).toBe('OUT_OF_ORDER_SEQUENCE');
  expect(send(7, 3)).toBe('new 7');
  clock.jumpWallTime(2 * HOUR);
  deleteOld();
  expect(log.sizeBytes).toBe(0);
  for (const recover of [false, true]) {
    await log.close();
    await open(recover);
    expect(send(7, 3)).toBe('again 7');
    expect(send(8, 5)).toBe('OUT_OF_ORDER_SEQUENCE');
  }
  expect(send(7, 4)).toBe('new 8');
});

test('the power fails right after the deletion: the producers of what went are known', async () => {
  for (const parent of ['/', '/data']) await disk.syncDirectory(parent);
  for (let i = 0; i < 3; i += 1) send(7, i);
  clock.jumpWallTime(2 * HOUR);
  for (let i = 0; i < 4; i += 1) send(8, i);
  log.upkeep.retain();
  await log.upkeep.flushWhatStays();
  const { recoveryPoint, logStartOffset } = log;
  deleteOld();
  await log.upkeep.syncDirectory();
  disk.crash({ loseUnsynced: true, random: seededRandom(1) });
  const recovered = { recover: true, recoveryPoint, logStartOffset };
  log = await openTestLog(disk, directory, { clock, config, ...recovered });
  expect(log.logStartOffset).toBe(3);
  expect(send(7, 3)).toBe(`new ${log.logEndOffset - 1}`);
});

test('where the log starts inside a segment its producers are known, with and without a snapshot', async () => {
  send(7, 0);
  for (let i = 0; i < 4; i += 1) send(8, i);
  log.deleteRecordsBefore(2);
  await log.close();
  await open();
  expect(send(7, 0)).toBe('again 0');
  await log.close();
  for (const name of disk.list(directory)) {
    if (name.endsWith('.snapshot')) disk.remove(`${directory}/${name}`);
  }
  await open();
  expect(send(7, 0)).toBe('again 0');
  expect(send(8, 3)).toBe('again 4');
});

test('what is remembered after a recovery is what a rebuild from the log gives, expired ones included', async () => {
  const lives: string[][] = [];
  for (const how of ['snapshots', 'recovery', 'rebuild']) {
    disk = new SimulatedDisk();
    clock = new SimulatedClock();
    log = undefined as unknown as Log;
    await open();
    for (let i = 0; i < 4; i += 1) send(7, i); // the first segment, and one more
    clock.jumpWallTime(DAY / 2);
    for (let i = 0; i < 8; i += 1) send(8, i); // rolls
    send(9, 0);
    clock.jumpWallTime(DAY / 2);
    log.upkeep.forgetExpiredProducers(); // 7 was silent for a day, but its segment was sealed half a day ago
    for (let i = 0; i < 3; i += 1) send(10, i);
    if (how === 'rebuild') {
      await log.close();
      for (const name of disk.list(directory)) {
        if (name.endsWith('.snapshot')) disk.remove(`${directory}/${name}`);
      }
    }
    if (how !== 'snapshots') await open(true);
    log.upkeep.forgetExpiredProducers();
    lives.push(await remembered());
  }
  expect(lives[0]).toEqual([
    '7: 0@0 1@1 2@2 3@3',
    '8: 3@7 4@8 5@9 6@10 7@11',
    '9: 0@12',
    '10: 0@13 1@14 2@15',
  ]);
  expect(lives[1]).toEqual(lives[0]);
  expect(lives[2]).toEqual(lives[0]);
});

test('an expired producer is forgotten once its segment was sealed for as long', async () => {
  send(7, 0);
  for (let i = 0; i < 3; i += 1) send(8, i);
  clock.jumpWallTime(DAY);
  send(8, 3); // refused, so nothing is rolled or known of 8 any more
  for (let i = 0; i < 3; i += 1) send(9, i);
  log.upkeep.forgetExpiredProducers();
  expect(await remembered()).toEqual(['8: 0@1 1@2 2@3', '9: 0@4 1@5 2@6']);
});

test('a truncation that takes batches of a producer takes them out of what is known, no more', () => {
  send(7, 0);
  for (let i = 0; i < 4; i += 1) send(8, i);
  send(7, 1);
  log.truncateTo(5);
  expect(send(7, 1)).toBe('new 5');
  log.truncateTo(3);
  expect(send(8, 2)).toBe('new 3');
  expect(send(7, 0)).toBe('again 0');
});
