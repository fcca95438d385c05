/**
 * The end of a log that does not check: a torn tail is what a crash leaves and is cut; damage of what was written as a
 * whole is told, and stays told however the machine is started later.
 */
import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import { makeBatch, openTestLog, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import { LogDirectory } from './log-directory';
import { segmentName } from './segment';

const directory = '/data';
const config = { ...defaultTopicConfig, segmentBytes: 100_000 };
const ORDERS = 'ordersAAAAAAAAAAAAAAAA';
const logFile = `${directory}/orders-0/${segmentName(0)}.log`;
const random = seededRandom(1);
const batch = makeBatch({ values: ['x'.repeat(100)] });
let disk: SimulatedDisk;

const open = (): Promise<LogDirectory> =>
  LogDirectory.open({
    disk: disk.mount(),
    directory,
    brokerId: 1,
    clock: new SimulatedClock(),
    random,
    logger: silentLogger,
    configFor: () => config,
  });

/** Ten batches in the page cache and on the device, of which no checkpoint knows; then the process died. */
async function written(): Promise<void> {
  disk = new SimulatedDisk();
  const store = await open();
  const log = await store.create('orders', ORDERS, 0, config);
  for (let i = 0; i < 10; i += 1) log.appendAsLeader(Buffer.from(batch), { leaderEpoch: 0 });
  const file = disk.openFile(logFile);
  await file.datasync();
  await disk.syncDirectory(`${directory}/orders-0`);
  disk.crash({ loseUnsynced: false, random });
}

const endOf = (store: LogDirectory): number | undefined => store.get(ORDERS, 0)?.logEndOffset;
const isRefused = (store: LogDirectory): boolean => store.lost()[0]?.damaged === true;

test('kill -9: a bit of the last batch that is not as it was written is damage, whichever it is; no torn write leaves all bytes', async () => {
  const outcomes: Record<string, number> = {};
  for (let byte = 0; byte < batch.length; byte += 1) {
    disk = new SimulatedDisk();
    const log = await openTestLog(disk, directory, { config });
    for (let i = 0; i < 3; i += 1) log.appendAsLeader(Buffer.from(batch), { leaderEpoch: 0 });
    disk.crash({ loseUnsynced: false, random });
    disk.flipBit(`${directory}/${segmentName(0)}.log`, 2 * batch.length + byte, byte % 8);
    const opening = openTestLog(disk, directory, {
      config,
      recover: true,
      unsyncedMayBeLost: false,
    });
    const outcome = await opening.then(
      ({ logEndOffset }) => `ends at ${logEndOffset}`,
      ({ code }: { code: string }) => code,
    );
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  }
  expect(outcomes).toEqual({ CORRUPT_LOG: batch.length });
});

test('kill -9: what is shorter than a batch is a torn tail, at every length', async () => {
  for (let left = 0; left < batch.length; left += 1) {
    disk = new SimulatedDisk();
    const log = await openTestLog(disk, directory, { config });
    for (let i = 0; i < 3; i += 1) log.appendAsLeader(Buffer.from(batch), { leaderEpoch: 0 });
    disk.crash({ loseUnsynced: false, random });
    const file = disk.openFile(`${directory}/${segmentName(0)}.log`);
    file.truncate(2 * batch.length + left);
    const again = await openTestLog(disk, directory, {
      config,
      recover: true,
      unsyncedMayBeLost: false,
    });
    expect([again.logEndOffset, again.cutBytes]).toEqual([2, left]);
  }
});

test('damage that a start has found is still damage after the machine was started again', async () => {
  await written();
  disk.flipBit(logFile, 3 * batch.length + 80);
  const store = await open();
  expect(isRefused(store)).toBe(true);
  await store.close({ clean: true, brokerEpoch: 7 });
  // To a start after a power failure such bytes would be where the log ended.
  disk.crash({ loseUnsynced: true, random });
  const again = await open();
  expect([endOf(again), isRefused(again)]).toEqual([undefined, true]);
});

test('where no start had seen it, a power failure may have torn it: it is cut, and the broker is unclean', async () => {
  await written();
  disk.flipBit(logFile, 3 * batch.length + 80);
  await disk.openFile(logFile).datasync(); // the flip is on the device
  disk.crash({ loseUnsynced: true, random });
  const store = await open();
  expect([endOf(store), store.previousStop.kind]).toEqual([3, 'machine']);
});

test('while a log is repaired, what the checkpoints say of it stays: what was deleted is not there again after a crash', async () => {
  await written();
  const store = await open();
  const log = store.get(ORDERS, 0)!;
  log.noteHighWatermark(10);
  log.deleteRecordsBefore(4);
  await log.storeLogStart();
  disk.flipBit(logFile, 6 * batch.length + 80);
  expect(() => log.read(6, 1, 10)).toThrow('orders-0');
  const replica = { topic: 'orders', topicId: ORDERS, partition: 0 };
  const options = { config, endOffset: 10, highWatermark: 10, epoch: 5, stamped: false };
  disk.failNext('rename', { path: '.repair.tmp' });
  await expect(store.repair(replica, options)).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  // Another log has its checkpoint written meanwhile.
  const other = await store.create('orders', ORDERS, 1, config);
  await other.storeLogStart();
  // Half repaired it is adopted by nobody.
  const again = store.create('orders', ORDERS, 0, config);
  await expect(again).rejects.toMatchObject({ code: 'CORRUPT_LOG' });
  disk.crash({ loseUnsynced: false, random });
  const next = await open();
  expect(isRefused(next)).toBe(true);
  const repaired = await next.repair(replica, options);
  expect(repaired.lost.map(({ fromOffset }) => fromOffset)).toEqual([6]);
  expect([repaired.log.logStartOffset, repaired.log.logEndOffset]).toEqual([4, 10]);
});
