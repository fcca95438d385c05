/**
 * What a checkpoint on the device vouches for is there, whatever was cut off since, and whichever log of that name it
 * was written for: the power fails, and the next start believes the checkpoint.
 */
import { defaultTopicConfig, seededRandom, silentLogger, type Random } from '@tributary/common';
import { splitBatches } from '@tributary/record';
import { makeBatch, readWholeLog, settle, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import { CHECKPOINT_INTERVAL_MS } from './checkpoint-schedule';
import type { Log } from './log';
import { LogDirectory } from './log-directory';
import type { LogConfig } from './partition-log';

const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA';
const NEXT_TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ';
const SEEDS = 20;

class Machine {
  readonly disk = new SimulatedDisk();
  readonly clock = new SimulatedClock();
  readonly dice: Random;
  store!: LogDirectory;
  private serial = 0;

  constructor(
    seed: number,
    private readonly config: LogConfig,
  ) {
    this.dice = seededRandom(seed);
  }

  async open(): Promise<void> {
    this.store = await LogDirectory.open({
      disk: this.disk.mount(),
      directory: '/data',
      brokerId: 1,
      clusterId: 'c',
      clock: this.clock,
      random: this.dice,
      logger: silentLogger,
      configFor: () => this.config,
    });
  }

  async create(topicId = TOPIC_ID): Promise<Log> {
    return (await this.store.create('orders', topicId, 0, this.config)) as Log;
  }

  append(log: Log, count: number, leaderEpoch: number): void {
    for (let i = 0; i < count; i += 1) {
      const value = `${leaderEpoch}/${(this.serial += 1)}`.padEnd(this.dice.next() * 500);
      log.appendAsLeader(makeBatch({ values: [value] }), { leaderEpoch });
    }
  }

  /** Everything is on the device, and the checkpoint says so. */
  async checkpointed(log: Log): Promise<void> {
    await log.flush();
    await this.clock.advance(2 * CHECKPOINT_INTERVAL_MS);
  }

  /** kill -9: the page cache stays. */
  async killed(): Promise<void> {
    this.disk.crash({ loseUnsynced: false, random: this.dice });
    await this.open();
  }

  async losePower(): Promise<void> {
    this.disk.crash({ loseUnsynced: true, random: this.dice });
    await this.open();
  }
}

describe.each(['os', 'sync'] as const)('flush=%s', (flush) => {
  const config = { ...defaultTopicConfig, flush, segmentBytes: 2_000 };

  it('cut, settled, written anew: what the power leaves is a prefix of the new history', async () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const m = new Machine(seed, config);
      await m.open();
      const log = await m.create();
      m.append(log, 12, 1);
      await m.checkpointed(log);
      log.truncateTo(Math.floor(m.dice.next() * 12));
      await log.settleCuts();
      m.append(log, Math.ceil(m.dice.next() * 12), 2);
      if (m.dice.next() < 0.5) await settle();
      const history = splitBatches(readWholeLog(log));
      const { durableEndOffset } = log;
      await m.losePower();
      const found = splitBatches(readWholeLog(await m.create()));
      const isPrefix = found.every((batch, at) => batch.equals(history[at]!));
      expect({ seed, isPrefix }).toEqual({ seed, isPrefix: true });
      expect(found.length).toBeGreaterThanOrEqual(durableEndOffset);
    }
  });

  it('started anew further back: nothing that is durable there is taken for deleted records', async () => {
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const m = new Machine(seed, config);
      await m.open();
      const log = await m.create();
      log.restartAt(100);
      await log.settleCuts();
      m.append(log, 5, 1);
      await m.checkpointed(log);
      log.restartAt(50);
      await log.settleCuts();
      m.append(log, 6, 2);
      await log.flush();
      const history = readWholeLog(log);
      await m.losePower();
      const found = await m.create();
      expect([seed, found.logStartOffset, found.logEndOffset]).toEqual([seed, 50, 56]);
      expect(readWholeLog(found).equals(history)).toBe(true);
    }
  });
});

describe('flush=sync: on a log that stays quiet, all that is left of it becomes durable', () => {
  const config = { ...defaultTopicConfig, flush: 'sync' as const, segmentBytes: 2_000 };

  it('started anew further on', async () => {
    const m = new Machine(1, config);
    await m.open();
    const log = await m.create();
    m.append(log, 3, 1);
    await settle();
    log.restartAt(50);
    await settle();
    expect([log.logEndOffset, log.durableEndOffset]).toEqual([50, 50]);
  });

  it('cut less than was announced', async () => {
    const m = new Machine(1, config);
    await m.open();
    const log = await m.create();
    m.append(log, 9, 1);
    await settle();
    await log.prepareCut(3);
    await settle();
    expect(log.durableEndOffset).toBe(3);
    log.truncateTo(6);
    await settle();
    expect([log.logEndOffset, log.durableEndOffset]).toEqual([6, 6]);
  });
});

it('killed with a cut that is not on the device: the next life settles it before it writes', async () => {
  const config = { ...defaultTopicConfig, segmentBytes: 20_000 };
  for (let seed = 0; seed < 5 * SEEDS; seed += 1) {
    const m = new Machine(seed, config);
    await m.open();
    const first = await m.create();
    m.append(first, 12, 1);
    await m.checkpointed(first);
    const old = splitBatches(readWholeLog(first));
    const cutAt = Math.floor(m.dice.next() * 12);
    await first.prepareCut(cutAt);
    first.truncateTo(cutAt);
    await m.killed();
    const log = await m.create();
    expect([log.logEndOffset, log.cutsAreSettled]).toEqual([cutAt, false]);
    await log.settleCuts();
    expect(log.cutsAreSettled).toBe(true);
    // As long as what was cut, so that one takes the place of the other, sector by sector.
    for (const batch of old.slice(cutAt))
      log.appendAsLeader(Buffer.from(batch), { leaderEpoch: 2 });
    const history = splitBatches(readWholeLog(log));
    await m.losePower();
    const found = splitBatches(readWholeLog(await m.create()));
    const isPrefix = found.every((batch, at) => batch.equals(history[at]!));
    expect({ seed, isPrefix }).toEqual({ seed, isPrefix: true });
    expect(found.length).toBeGreaterThanOrEqual(cutAt);
  }
});

it('a checkpoint that could not be lowered is lowered before the cut that is tried again', async () => {
  const m = new Machine(1, { ...defaultTopicConfig, segmentBytes: 2_000 });
  await m.open();
  const log = await m.create();
  m.append(log, 5, 1);
  await m.checkpointed(log);
  m.disk.failNext('append', { code: 'DISK_FULL', path: 'recovery-point' });
  await expect(log.prepareCut(2)).rejects.toMatchObject({ code: 'DISK_FULL' });
  await log.prepareCut(2);
  log.truncateTo(2);
  await m.killed();
  expect((await m.create()).logEndOffset).toBe(2);
});

it('a topic is deleted and created again: its log is recovered from its own beginning', async () => {
  const m = new Machine(1, { ...defaultTopicConfig, segmentBytes: 2_000 });
  await m.open();
  const first = await m.create();
  m.append(first, 30, 1);
  await m.checkpointed(first);
  await m.store.delete(TOPIC_ID, 0);
  const log = await m.create(NEXT_TOPIC_ID);
  // The next checkpoint comes too late.
  m.disk.failNext('append', { code: 'DISK_FULL', path: 'recovery-point', times: Infinity });
  m.append(log, 30, 1);
  m.disk.crash({ loseUnsynced: false, random: m.dice });
  m.disk.flipBit('/data/orders-0/00000000000000000000.log', 100);
  await m.open();
  // It was read from there: an inherited recovery point would have kept the damage from being seen.
  await expect(m.create(NEXT_TOPIC_ID)).rejects.toThrow('position 0: a batch fails its CRC');
});

it('a cut is settled before the caller goes on, and a checkpoint that cannot be written is tried again', async () => {
  const m = new Machine(1, { ...defaultTopicConfig, segmentBytes: 2_000 });
  await m.open();
  const log = await m.create();
  m.append(log, 5, 1);
  await m.checkpointed(log);
  m.disk.failNext('append', { code: 'DISK_FULL', path: 'recovery-point' });
  log.truncateTo(2);
  expect(log.cutsAreSettled).toBe(false);
  await expect(log.settleCuts()).rejects.toMatchObject({ code: 'DISK_FULL' });
  expect(log.cutsAreSettled).toBe(false);
  await log.settleCuts();
  expect(log.cutsAreSettled).toBe(true);
  const file = m.disk.openFile('/data/recovery-point-offset-checkpoint');
  expect(file.read(0, file.size).toString()).toContain('orders 0 2\n');
});

it('within a batch: the checkpoint is lowered to where that begins, before it goes', async () => {
  for (let seed = 0; seed < SEEDS; seed += 1) {
    const m = new Machine(seed, { ...defaultTopicConfig, segmentBytes: 2_000 });
    await m.open();
    const log = await m.create();
    log.appendAsLeader(makeBatch({ values: ['a', 'b', 'c'] }), { leaderEpoch: 1 });
    m.append(log, 4, 1);
    await m.checkpointed(log);
    await log.prepareCut(1);
    log.truncateTo(1);
    expect(log.logEndOffset).toBe(0);
    await m.losePower();
    expect([0, 3, 4, 5, 6, 7]).toContain((await m.create()).logEndOffset);
  }
});

it('within the batch in which the log starts: it starts before that then', async () => {
  const m = new Machine(1, { ...defaultTopicConfig, segmentBytes: 2_000 });
  await m.open();
  const log = await m.create();
  for (const leaderEpoch of [1, 2]) {
    log.appendAsLeader(makeBatch({ values: ['a', 'b', 'c'] }), { leaderEpoch });
  }
  log.noteHighWatermark(6);
  log.deleteRecordsBefore(4);
  await m.checkpointed(log);
  await log.prepareCut(4);
  log.truncateTo(4);
  expect([log.logStartOffset, log.logEndOffset]).toEqual([3, 3]);
  await log.settleCuts();
  m.append(log, 1, 3);
  await log.flush();
  await m.losePower();
  const found = await m.create();
  expect([found.logStartOffset, found.logEndOffset]).toEqual([3, 4]);
});
