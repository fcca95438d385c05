/** What a log knows about its producers: repeats, gaps, fences, and that it all survives. */
import { seededRandom } from '@tributary/common';
import { readBatchHeader } from '@tributary/record';
import { makeBatch, openTestLog, readWholeLog, SimulatedDisk } from '@tributary/testkit';
import type { Log } from './log';
import { ProducerStates } from './producer-states';

const directory = '/data/orders-0';
let disk: SimulatedDisk;
let log: Log;

beforeEach(async () => {
  disk = new SimulatedDisk();
  log = await openTestLog(disk, directory);
});

/** What the leader answers to `count` records of producer 7 from this sequence on. */
function send(sequence: number, count = 1, epoch = 0): string {
  try {
    const values = Array.from({ length: count }, () => 'x'.repeat(100));
    const batch = makeBatch({ values, producer: [7, epoch, sequence] });
    const { baseOffset, lastOffset, duplicate } = log.appendAsLeader(batch, { leaderEpoch: 0 });
    return `${duplicate ? 'again' : 'new'} ${baseOffset}-${lastOffset}`;
  } catch (error) {
    return (error as { code: string }).code;
  }
}

test('each of the last five batches, sent again, is answered with its first offsets', () => {
  for (let i = 0; i < 6; i += 1) expect(send(2 * i, 2)).toBe(`new ${2 * i}-${2 * i + 1}`);
  for (let i = 1; i < 6; i += 1) expect(send(2 * i, 2)).toBe(`again ${2 * i}-${2 * i + 1}`);
  expect(send(0, 2)).toBe('OUT_OF_ORDER_SEQUENCE');
  expect(send(2, 3)).toBe('OUT_OF_ORDER_SEQUENCE');
  expect(send(13)).toBe('OUT_OF_ORDER_SEQUENCE');
  expect(send(12)).toBe('new 12-12');
  expect(log.logEndOffset).toBe(13);
});

test.each([
  ['killed', 'killed'],
  ['without power', 'killed'],
  ['killed', 'without power'],
  ['without power', 'without power'],
])(
  '%s, retention, %s: of a producer whose batches were deleted the sequence is known',
  async (first, second) => {
    const reopen = async (how: string, recoveryPoint: number): Promise<void> => {
      disk.crash({ loseUnsynced: how === 'without power', random: seededRandom(1) });
      log = await openTestLog(disk, directory, { recover: true, recoveryPoint });
    };
    expect(send(0)).toBe('new 0-0');
    for (let i = 0; i < 12; i += 1) {
      log.appendAsLeader(makeBatch({ values: ['y'.repeat(200)] }), { leaderEpoch: 0 });
    }
    await log.flush();
    await disk.syncDirectory('/');
    await disk.syncDirectory('/data');
    // As after a crash before the recovery point was stored: the first recovery believes no snapshot.
    for (const name of disk.list(directory)) {
      if (name.endsWith('.snapshot')) disk.remove(`${directory}/${name}`);
    }
    await reopen(first, 13);
    log.noteHighWatermark(13);
    log.deleteRecordsBefore(12);
    await log.upkeep.flushWhatStays();
    while (log.upkeep.removeObsoleteSegment());
    log.upkeep.ensureSnapshot();
    await reopen(second, log.recoveryPoint);
    expect(log.logStartOffset).toBeGreaterThan(0);
    expect(send(0)).toBe('again 0-0');
    expect(send(1)).toBe('new 13-13');
  },
);

test('an unknown producer begins at sequence 0', () => {
  expect(send(5)).toBe('UNKNOWN_PRODUCER_ID');
  expect(send(0)).toBe('new 0-0');
});

test('an older epoch is fenced; a newer one begins at sequence 0', () => {
  expect(send(0, 1, 1)).toBe('new 0-0');
  expect(send(1, 1, 0)).toBe('INVALID_PRODUCER_EPOCH');
  expect(send(1, 1, 2)).toBe('OUT_OF_ORDER_SEQUENCE');
  expect(send(0, 1, 2)).toBe('new 1-1');
  expect(send(0, 1, 1)).toBe('INVALID_PRODUCER_EPOCH');
  expect(send(0, 1, 2)).toBe('again 1-1');
});

test('sequences wrap after 2^31 - 1, within a batch and between two', () => {
  const follow = (sequence: number, baseOffset: number): void =>
    log.appendAsFollower(
      makeBatch({ values: ['a', 'b'], producer: [7, 0, sequence], baseOffset, leaderEpoch: 0 }),
    );
  follow(2 ** 31 - 3, 0);
  expect(send(2 ** 31 - 1, 3)).toBe('new 2-4');
  expect(send(2 ** 31 - 1, 3)).toBe('again 2-4');
  expect(send(2)).toBe('new 5-5');
});

test('a follower that becomes leader knows the batches that were replicated to it', () => {
  const batches = [0, 1, 2].map((i) =>
    makeBatch({ producer: [7, 0, i], baseOffset: i, leaderEpoch: 0 }),
  );
  log.appendAsFollower(Buffer.concat(batches));
  expect(send(1)).toBe('again 1-1');
  expect(send(3)).toBe('new 3-3');
});

test.each(['kill -9', 'clean shutdown', 'clean shutdown, snapshots lost'])(
  'after %s all five are still known',
  async (end) => {
    for (let i = 0; i < 12; i += 1) send(i);
    if (end === 'kill -9') disk.crash({ loseUnsynced: false, random: seededRandom(1) });
    else await log.close();
    const snapshots = disk.list(directory).filter((name) => name.endsWith('.snapshot'));
    expect(snapshots.length).toBeGreaterThan(0);
    if (end.endsWith('lost')) {
      for (const name of snapshots) disk.remove(`${directory}/${name}`);
    }
    log = await openTestLog(disk, directory, { recover: end === 'kill -9' });
    for (let i = 7; i < 12; i += 1) expect(send(i)).toBe(`again ${i}-${i}`);
    expect(send(6)).toBe('OUT_OF_ORDER_SEQUENCE');
    expect(send(12)).toBe('new 12-12');
  },
);

test('a torn snapshot is as good as none', async () => {
  for (let i = 0; i < 12; i += 1) send(i);
  await log.close();
  const name = disk.list(directory).findLast((one) => one.endsWith('.snapshot'))!;
  disk.flipBit(`${directory}/${name}`, 20);
  log = await openTestLog(disk, directory);
  expect(send(9)).toBe('again 9-9');
});

test('snapshots do not pile up over restarts: one per segment, and the newest', async () => {
  for (let i = 0; i < 40; i += 1) {
    send(i);
    await log.close();
    log = await openTestLog(disk, directory);
  }
  const names = disk.list(directory);
  const count = (suffix: string): number => names.filter((name) => name.endsWith(suffix)).length;
  expect(count('.snapshot')).toBeLessThanOrEqual(count('.log') + 1);
});

test('what a truncation drops is forgotten, what it leaves is not', () => {
  for (let i = 0; i < 12; i += 1) send(i);
  log.truncateTo(9);
  expect(send(8)).toBe('again 8-8');
  expect(send(5)).toBe('again 5-5');
  expect(send(10)).toBe('OUT_OF_ORDER_SEQUENCE');
  expect(send(9)).toBe('new 9-9');
  log.truncateTo(0);
  expect(send(10)).toBe('UNKNOWN_PRODUCER_ID');
  expect(send(0)).toBe('new 0-0');
});

test('a refused batch changes nothing', () => {
  send(0);
  const before = readWholeLog(log);
  for (const sequence of [5, 2]) send(sequence);
  send(0, 1, 0);
  expect(readWholeLog(log)).toEqual(before);
  expect(send(1)).toBe('new 1-1');
});

test('beyond its limit the producer that was silent longest is forgotten', () => {
  const states = new ProducerStates({ producersMax: 3 });
  const header = (producerId: number, sequence: number) =>
    readBatchHeader(makeBatch({ producer: [producerId, 0, sequence] }));
  for (const id of [1, 2, 3]) states.record(header(id, 0));
  states.record(header(1, 1));
  states.record(header(4, 0));
  expect(states.count).toBe(3);
  expect(states.check(header(1, 2), 0)).toBeUndefined();
  expect(() => states.check(header(2, 1), 0)).toThrow('nothing of this producer');
});
