/**
 * The power fails at every write of a scripted workload, once for each way of tearing what was not synced. What is
 * found afterwards is a prefix of what was appended, holds all that was acknowledged as synced, and has the
 * indexes, epochs and producer states that the segment files alone would give (R9).
 */
import { defaultTopicConfig, seededRandom, silentLogger, TributaryError } from '@tributary/common';
import { assignOffsetAndEpoch, splitBatches } from '@tributary/record';
import {
  makeBatch,
  readWholeLog,
  SimulatedClock,
  SimulatedDisk,
  TEST_TOPIC_ID,
} from '@tributary/testkit';
import { describeLog, fromScratch } from './crash-check.fixture';
import type { Log } from './log';
import { LogDirectory } from './log-directory';

const TEARS_PER_WRITE = 2;
const config = {
  ...defaultTopicConfig,
  segmentBytes: 12_000,
  maxMessageBytes: 20_000,
  retentionMs: -1,
};

/** All that may be found: every history that there was, and what of the last one is surely on the device. */
class Witness {
  histories: Buffer[][] = [[]];
  synced = 0;
  starts = new Set([0]);
  acknowledgedStart = 0;

  get current(): Buffer[] {
    return this.histories.at(-1) as Buffer[];
  }

  /** Batches that begin at `offset` or later go. */
  cut(offset: number): void {
    const kept = this.current.filter((batch) => Number(batch.readBigInt64BE(0)) < offset);
    this.histories.push(kept);
    this.synced = Math.min(this.synced, kept.length);
  }
}

/** One machine and what is done on it until the power fails. */
class Machine {
  readonly witness = new Witness();
  readonly clock = new SimulatedClock();
  private store!: LogDirectory;
  private log!: Log;
  private serial = 0;
  private producerId = 7;
  private sequence = 0;

  private readonly boot: string;

  constructor(readonly disk: SimulatedDisk) {
    this.boot = disk.bootId();
  }

  /** What is begun in the background swallows its errors. */
  private checkPower(): void {
    if (this.disk.bootId() !== this.boot) throw new TributaryError('STORAGE_ERROR', 'no power');
  }

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
    this.log = (await this.store.create('orders', TEST_TOPIC_ID, 0, config)) as Log;
    return this.log;
  }

  private append(size: number, leaderEpoch: number): void {
    this.sequence += 2;
    this.serial += 1;
    const batch = makeBatch({
      values: [`${this.serial}`.padEnd(size), `${this.serial}b`],
      producer: [this.producerId, 0, this.sequence - 2],
      timestamp: 1000 + ((this.serial * 37) % 50),
    });
    // It may be on the disk before the call has returned.
    const copy = Buffer.from(batch);
    assignOffsetAndEpoch(copy, this.log.logEndOffset, leaderEpoch);
    this.witness.current.push(copy);
    this.log.appendAsLeader(batch, { leaderEpoch });
  }

  private newProducer(): void {
    this.producerId += 1;
    this.sequence = 0;
  }

  private replicate(sizes: readonly number[], leaderEpoch: number): void {
    let base = this.log.logEndOffset;
    const batches = sizes.map((size) => {
      this.serial += 1;
      const batch = makeBatch({ values: [`${this.serial}`.padEnd(size)], leaderEpoch });
      assignOffsetAndEpoch(batch, base, leaderEpoch);
      base += 1;
      return batch;
    });
    this.witness.current.push(...batches.map((batch) => Buffer.from(batch)));
    this.log.appendAsFollower(Buffer.concat(batches));
  }

  private async flush(): Promise<void> {
    const { length } = this.witness.current;
    await this.log.flush();
    this.witness.synced = length;
  }

  private async reopen(clean: boolean): Promise<void> {
    await this.store.close({ clean, brokerEpoch: 1 });
    this.checkPower();
    this.witness.synced = this.witness.current.length;
    await this.open();
  }

  private async truncate(offset: number): Promise<void> {
    await this.log.prepareCut(offset);
    this.checkPower();
    this.witness.cut(offset);
    this.log.truncateTo(offset);
    await this.settle();
  }

  private async trim(offset: number): Promise<void> {
    this.log.noteHighWatermark(this.log.logEndOffset);
    this.witness.starts.add(offset);
    this.log.deleteRecordsBefore(offset);
    await this.settle();
  }

  /** Timers of checkpoints and maintenance, and what they begin. */
  private async settle(): Promise<void> {
    await this.clock.advance(60_000);
    for (let i = 0; i < 20; i += 1) await Promise.resolve();
    this.checkPower();
  }

  async work(): Promise<void> {
    await this.open();
    await this.log.assignEpoch(0);
    for (const size of [100, 3000, 50]) this.append(size, 0);
    await this.flush();
    // Rolls twice.
    for (const size of [5000, 5000, 5000, 10, 6000, 5000]) this.append(size, 0);
    await this.settle();
    await this.log.assignEpoch(2);
    this.append(700, 2);
    await this.flush();
    this.append(900, 2);
    // Another leader did not have the last two batches, nor the segment that began with them.
    await this.truncate(this.log.logEndOffset - 4);
    this.replicate([400, 8000, 20], 3);
    await this.flush();
    this.replicate([9000, 300], 3);
    await this.reopen(true);
    await this.log.assignEpoch(5);
    this.newProducer();
    this.append(2000, 5);
    await this.trim(7);
    for (const size of [4000, 4000, 4000, 1]) this.append(size, 5);
    await this.flush();
    await this.truncate(this.log.logEndOffset - 2);
    this.newProducer();
    this.append(1234, 5);
    await this.reopen(false);
    this.append(77, 5);
    await this.flush();
    await this.store.close({ clean: true, brokerEpoch: 2 });
    this.checkPower();
    this.witness.synced = this.witness.current.length;
  }
}

test('the power fails at every write', async () => {
  const whole = new Machine(new SimulatedDisk());
  await whole.work();
  const { writes } = whole.disk;
  let covered = 0;
  for (let write = 1; write <= writes; write += 1) {
    for (let tear = 0; tear < TEARS_PER_WRITE; tear += 1) {
      const machine = new Machine(new SimulatedDisk());
      machine.disk.cutPowerAt(write, seededRandom(write * 31 + tear));
      const failure = await machine.work().catch((error: unknown) => error);
      // What was cut off in the background stops nobody.
      if (failure !== undefined) expect(failure).toBeInstanceOf(TributaryError);
      expect(machine.disk.writes).toBeGreaterThanOrEqual(write);
      try {
        await check(machine);
      } catch (error) {
        throw new Error(`power cut at write ${write} of ${writes}, tear ${tear}`, { cause: error });
      }
    }
    covered += 1;
  }
  expect(covered).toBe(writes);
  process.stdout.write(`power cut at ${covered} write boundaries, ${TEARS_PER_WRITE} tears each\n`);
}, 240_000);

async function check({ disk, clock, witness }: Machine): Promise<void> {
  const log = await new Machine(disk).open();
  // A start that was being moved when the power failed is where it was or where it should be.
  expect([...witness.starts]).toContain(log.logStartOffset);
  const found = splitBatches(readWholeLog(log));
  expect(isPrefixOfSome(witness.histories, found, log.logStartOffset)).toBe(true);
  const mustHave = witness.current[witness.synced - 1];
  if (mustHave) expect(log.logEndOffset).toBeGreaterThan(Number(mustHave.readBigInt64BE(0)));
  if (mustHave && witness.histories.length === 1) expect(found.length).toBeGreaterThan(0);
  const scratch = await fromScratch(disk, log, { config, clock });
  expect(describeLog(log)).toEqual(describeLog(scratch));
}

function isPrefixOfSome(histories: Buffer[][], found: Buffer[], start: number): boolean {
  return histories.some((history) => {
    const visible = history.filter((batch) => lastOffsetOf(batch) >= start);
    return found.every((batch, i) => visible[i]?.equals(batch));
  });
}

function lastOffsetOf(batch: Buffer): number {
  return Number(batch.readBigInt64BE(0)) + batch.readInt32BE(23);
}
