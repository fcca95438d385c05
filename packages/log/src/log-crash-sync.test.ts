/**
 * The power fails at every write of a log with `flush=sync` that is compacted meanwhile: everything that was told to be on the
 * device is there, or a later record of its key; nothing is there that was not appended; and the indexes, epochs and
 * producer states are those that the segment files alone would give.
 */
import { seededRandom, silentLogger, TributaryError } from '@tributary/common';
import { decodeBatch, splitBatches } from '@tributary/record';
import { readWholeLog, SimulatedClock, SimulatedDisk, TEST_TOPIC_ID } from '@tributary/testkit';
import { compactedConfig, keyedBatch } from './compaction/keyed-log.fixture';
import { describeLog, fromScratch } from './crash-check.fixture';
import type { Log } from './log';
import { LogDirectory } from './log-directory';

const config = { ...compactedConfig, flush: 'sync' as const, segmentBytes: 1_200 };
const LEADER_EPOCH = 1;

class Machine {
  /** By offset: "key=value". */
  readonly appended: string[] = [];
  /** Told to be on the device. */
  synced = 0;
  passes = 0;
  readonly clock = new SimulatedClock();
  private store!: LogDirectory;
  private log!: Log;
  private sequence = 0;

  constructor(readonly disk: SimulatedDisk) {}

  async open(): Promise<Log> {
    this.store = await LogDirectory.open({
      disk: this.disk.mount(),
      directory: '/data',
      brokerId: 1,
      clusterId: 'c',
      clock: this.clock,
      random: seededRandom(1),
      logger: silentLogger,
      configFor: () => config,
    });
    const { log } = this;
    this.log = (await this.store.create('orders', TEST_TOPIC_ID, 0, config)) as Log;
    const note = (): void => void (this.synced = Math.max(this.synced, this.log.durableEndOffset));
    this.log.observe({ durable: note, failed: () => undefined });
    if (log) this.log.noteHighWatermark(this.log.logEndOffset);
    return this.log;
  }

  private async append(...records: string[]): Promise<void> {
    const producer = [7, 0, this.sequence] as const;
    this.sequence += records.length;
    const batch = keyedBatch({ records, producer }, this.clock.wallTime());
    this.appended.push(...records);
    this.log.appendAsLeader(batch, { leaderEpoch: LEADER_EPOCH });
    await this.log.flush();
    this.log.noteHighWatermark(this.log.logEndOffset);
  }

  private async write(from: number, to: number): Promise<void> {
    for (let i = from; i < to; i += 1) {
      await this.append(`k${i % 3}=${i}`.padEnd(250, '.'), i % 5 === 0 ? 'gone=' : `k3=${i}`);
    }
  }

  private async compact(): Promise<void> {
    const outcome = await this.clock.settleWithin(this.store.compactor.runOnce(this.log), 60_000);
    if (outcome.status !== 'done') throw new TributaryError('STORAGE_ERROR', 'no power');
    this.passes += 1;
    await this.clock.advance(2_000);
  }

  async work(): Promise<void> {
    await this.open();
    await this.log.assignEpoch(LEADER_EPOCH);
    await this.write(0, 8);
    await this.compact();
    await this.write(8, 11);
    await this.store.close({ clean: true, brokerEpoch: 1 });
    await this.open();
    await this.write(11, 14);
    await this.compact();
    await this.write(14, 15);
  }
}

test('the power fails at every write, between two passes of compaction and in them', async () => {
  const whole = new Machine(new SimulatedDisk());
  await whole.work();
  expect([whole.passes, whole.synced]).toEqual([2, whole.appended.length]);
  const { writes } = whole.disk;
  for (let write = 1; write <= writes; write += 1) {
    const machine = new Machine(new SimulatedDisk());
    machine.disk.cutPowerAt(write, seededRandom(write));
    const failure = await machine.work().catch((error: unknown) => error);
    if (failure !== undefined) expect(failure).toBeInstanceOf(TributaryError);
    expect(machine.disk.writes).toBeGreaterThanOrEqual(write);
    try {
      await check(machine);
    } catch (error) {
      throw new Error(`power cut at write ${write} of ${writes}`, { cause: error });
    }
  }
  process.stdout.write(`flush=sync and compaction: power cut at ${writes} write boundaries\n`);
}, 240_000);

async function check({ disk, clock, appended, synced }: Machine): Promise<void> {
  const log = await new Machine(disk).open();
  expect(log.logEndOffset).toBeGreaterThanOrEqual(synced);
  const found = new Map(
    splitBatches(readWholeLog(log))
      .flatMap((batch) => decodeBatch(batch))
      .map(({ offset, key, value }) => [offset, `${String(key)}=${value?.toString() ?? ''}`]),
  );
  for (const [offset, record] of found) expect(record).toBe(appended[offset]);
  const keyOf = (record: string): string => record.slice(0, record.indexOf('='));
  const left = [...found].map(([offset, record]) => [offset, keyOf(record)] as const);
  const lost = appended.slice(0, synced).filter((record, offset) => {
    return !left.some(([at, key]) => at >= offset && key === keyOf(record));
  });
  expect(lost).toEqual([]);
  const scratch = await fromScratch(disk, log, { config, clock });
  expect(describeLog(log)).toEqual(describeLog(scratch));
}
