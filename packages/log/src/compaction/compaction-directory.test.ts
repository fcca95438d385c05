/** Compaction as a part of a log directory: maintenance begins it, a checkpoint file remembers it, verify is content with it. */
import { seededRandom, silentLogger } from '@tributary/common';
import { settle, SimulatedClock, SimulatedDisk, TEST_TOPIC_ID } from '@tributary/testkit';
import { InspectionReport, verifyPath } from '../inspect';
import type { Log } from '../log';
import { LogDirectory } from '../log-directory';
import { compactedConfig, keyedBatch } from './keyed-log.fixture';

const CHECKPOINT = '/data/cleaner-offset-checkpoint';
const clock = new SimulatedClock();
let disk: SimulatedDisk;

beforeEach(() => {
  disk = new SimulatedDisk();
});

function openDirectory(): Promise<LogDirectory> {
  return LogDirectory.open({
    disk: disk.mount(),
    directory: '/data',
    brokerId: 1,
    clusterId: 'c',
    clock,
    random: seededRandom(1),
    logger: silentLogger,
    configFor: () => compactedConfig,
  });
}

async function openLog(store: LogDirectory): Promise<Log> {
  const log = (await store.create('orders', TEST_TOPIC_ID, 0, compactedConfig)) as Log;
  log.noteHighWatermark(log.logEndOffset);
  return log;
}

let epoch = 0;

function fill(log: Log): void {
  epoch += 1;
  const producer = (i: number): [number, number, number] => [i % 3, epoch, Math.floor(i / 3)];
  for (let i = 0; i < 90; i += 1) {
    const value = i % 7 === 0 ? '' : 'v'.repeat(60);
    const options = { records: [`k${i % 20}=${value}`], producer: producer(i) };
    log.appendAsLeader(keyedBatch(options, clock.wallTime() + i), {
      leaderEpoch: log.latestEpoch + (i % 40 === 0 ? 1 : 0),
    });
  }
  log.noteHighWatermark(log.logEndOffset);
}

/** Rounds of maintenance, and what they begin. */
async function maintain(store: LogDirectory): Promise<void> {
  await store.maintenance.run();
  await store.compactor.whenIdle();
  await clock.advance(2_000);
  await settle();
}

async function damages(): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  const report = new InspectionReport(
    (damage) => found.push(damage),
    () => undefined,
  );
  await verifyPath({ disk, clock, report }, '/data');
  return found;
}

const stored = (): string => {
  const file = disk.openFile(CHECKPOINT);
  return file.read(0, file.size).toString();
};

test('maintenance compacts what is due, and the checkpoint is as Kafka writes it', async () => {
  const store = await openDirectory();
  const log = await openLog(store);
  fill(log);
  const before = log.sizeBytes;
  expect(disk.exists(CHECKPOINT)).toBe(false);
  await maintain(store);
  expect(log.sizeBytes).toBeLessThan(before * 0.7);
  expect(stored()).toBe(`0\n1\norders 0 ${log.compaction.compactedTo}\n`);
  await store.close({ clean: true, brokerEpoch: 1 });
  expect(await damages()).toEqual([]);
});

test('verify is content with a log that was compacted again and again', async () => {
  const store = await openDirectory();
  const log = await openLog(store);
  for (let round = 0; round < 4; round += 1) {
    fill(log);
    await clock.advance(20_000);
    await maintain(store);
  }
  expect(store.compactor.totals.passes).toBeGreaterThanOrEqual(4);
  await store.close({ clean: true, brokerEpoch: 1 });
  expect(await damages()).toEqual([]);
});

test('the next start goes on where the checkpoint says; a damaged one costs a full pass', async () => {
  const store = await openDirectory();
  const log = await openLog(store);
  fill(log);
  await maintain(store);
  const { compactedTo } = log.compaction;
  await store.close({ clean: true, brokerEpoch: 1 });

  const second = await openDirectory();
  expect((await openLog(second)).compaction.compactedTo).toBe(compactedTo);
  await second.close({ clean: true, brokerEpoch: 1 });

  disk.flipBit(CHECKPOINT, 5);
  const third = await openDirectory();
  const again = await openLog(third);
  expect(again.compaction.compactedTo).toBe(0);
  await maintain(third);
  expect(again.compaction.compactedTo).toBe(compactedTo);
  await third.close({ clean: true, brokerEpoch: 1 });
});

test('a directory that is closed ends its pass first', async () => {
  const store = await openDirectory();
  const log = await openLog(store);
  fill(log);
  store.compactor.begin([log]);
  await store.close({ clean: true, brokerEpoch: 1 });
  expect(disk.exists('/data/.kafka_cleanshutdown')).toBe(true);
  expect(await damages()).toEqual([]);
});
