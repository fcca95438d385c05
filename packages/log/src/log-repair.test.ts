/** Every way in which a log can be damaged: what is sound before and behind stays, the offsets too, and it serves again. */
import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import {
  assignOffsetAndEpoch,
  BatchBuilder,
  decodeBatch,
  readBatchHeader,
  splitBatches,
} from '@tributary/record';
import { readWholeLog, SimulatedClock, SimulatedDisk } from '@tributary/testkit';
import type { Log } from './log';
import { LogDirectory } from './log-directory';
import type { LostRange } from './log-store';
import type { PartitionLog } from './partition-log';

const TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAQ';
const PARTITION = { topic: 'orders', topicId: TOPIC_ID, partition: 0 };
const DIRECTORY = '/data/orders-0';
const config = { ...defaultTopicConfig, segmentBytes: 1_024 };
/** Several segments of four to five batches, three records each. */
const BATCHES = 20;
const END = BATCHES * 3;

function batch(number: number): Buffer {
  const builder = new BatchBuilder({ codec: 'none' });
  for (let i = 0; i < 3; i += 1) {
    const value = Buffer.from(`${number}.${i} ${'x'.repeat(40)}`);
    builder.append({ key: null, value, headers: [], timestamp: 1_700_000_000_000 + number });
  }
  return builder.build();
}

class RepairWorld {
  readonly disk = new SimulatedDisk();
  readonly clock = new SimulatedClock();
  store!: LogDirectory;

  static async filled(): Promise<RepairWorld> {
    const world = new RepairWorld();
    await world.open();
    const log = await world.within(world.store.create('orders', TOPIC_ID, 0, config));
    for (let i = 0; i < BATCHES; i += 1) {
      if (i === 7) await world.within(log.assignEpoch(1));
      log.appendAsLeader(batch(i), { leaderEpoch: i < 7 ? 0 : 1 });
    }
    await world.within(log.flush());
    return world;
  }

  async open(): Promise<void> {
    this.store = await this.within(
      LogDirectory.open({
        disk: this.disk.mount(),
        directory: '/data',
        brokerId: 1,
        clusterId: 'cluster',
        clock: this.clock,
        random: seededRandom(1),
        logger: silentLogger,
        configFor: () => config,
      }),
    );
  }

  async restart(clean = true): Promise<void> {
    if (clean) await this.within(this.store.close({ clean: true, brokerEpoch: 1 }));
    this.disk.crash({ loseUnsynced: !clean, random: seededRandom(3) });
    await this.open();
  }

  within<T>(work: Promise<T>): Promise<T> {
    return this.clock.settleWithin(work, 60_000);
  }

  get log(): PartitionLog {
    return this.store.get(TOPIC_ID, 0)!;
  }

  /** Of the log files, in order. */
  get segments(): number[] {
    const names = this.disk.list(DIRECTORY).filter((name) => name.endsWith('.log'));
    return names.map((name) => Number(name.slice(0, 20)));
  }

  path(baseOffset: number, suffix = 'log'): string {
    return `${DIRECTORY}/${String(baseOffset).padStart(20, '0')}.${suffix}`;
  }

  /** Where the batch that begins at `offset` lies. */
  find(offset: number): { path: string; position: number; size: number } {
    const base = this.segments.findLast((one) => one <= offset)!;
    const path = this.path(base);
    let position = 0;
    const file = this.disk.openFile(path);
    for (const one of splitBatches(file.read(0, file.size))) {
      if (readBatchHeader(one).baseOffset === offset) return { path, position, size: one.length };
      position += one.length;
    }
    throw new Error(`no batch begins at ${offset}`);
  }

  async repair(epoch?: number): Promise<readonly LostRange[]> {
    const stamped = epoch !== undefined;
    const options = { config, endOffset: END, highWatermark: END, epoch: epoch ?? 5, stamped };
    const { log, lost } = await this.within(this.store.repair(PARTITION, options));
    expect(log).toBe(this.log);
    return lost;
  }

  /** Base offsets of the batches that still have records, of what can be read. */
  get kept(): number[] {
    const { log } = this;
    const found: number[] = [];
    for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
      for (const one of splitBatches(log.read(offset, 1_000, log.logEndOffset))) {
        const { baseOffset, lastOffset } = readBatchHeader(one);
        const values = decodeBatch(one).map(({ value }) => value!.toString().split(' ')[0]);
        if (values.length > 0) {
          expect(values).toEqual([0, 1, 2].map((i) => `${baseOffset / 3}.${i}`));
          found.push(baseOffset);
        }
        offset = lastOffset + 1;
      }
    }
    return found;
  }
}

const all = Array.from({ length: BATCHES }, (_, i) => i * 3);

function without(...lost: number[]): number[] {
  return all.filter((offset) => !lost.includes(offset));
}

function rangesOf(lost: readonly LostRange[]): number[][] {
  return lost.map(({ fromOffset, toOffset }) => [fromOffset, toOffset]);
}

/** In the batch at offset 15, by whoever reads it. */
function findDamage(world: RepairWorld): void {
  const { path, position } = world.find(15);
  world.disk.flipBit(path, position + 8, 7);
  expect(() => world.log.read(15, 100, END)).toThrow('orders-0');
  expect(world.log.failure).toMatchObject({ code: 'CORRUPT_LOG' });
}

/** It serves, takes more, and is the same after any restart. */
async function expectWhole(world: RepairWorld, kept: readonly number[]): Promise<void> {
  expect(world.kept).toEqual(kept);
  expect(world.log.logEndOffset).toBe(END);
  for (const clean of [true, false]) {
    await world.restart(clean);
    expect(world.store.lost()).toEqual([]);
    expect(world.log.logEndOffset).toBe(END);
    expect(world.kept).toEqual(kept);
  }
  expect(world.log.appendAsLeader(batch(BATCHES), { leaderEpoch: 9 }).baseOffset).toBe(END);
}

describe('one flipped bit', () => {
  // Of a batch's bytes: base offset, length, epoch, magic, CRC, attributes, last offset delta, a record.
  const fields = { baseOffset: 7, baseOffsetHigh: 3, length: 11, epoch: 15, epochHigh: 13, magic: 16, crc: 18, attributes: 22, lastOffsetDelta: 26, record: 80 }; // prettier-ignore

  it.each(Object.entries(fields))(
    'in the %s of a batch: that batch alone is lost',
    async (_, at) => {
      const world = await RepairWorld.filled();
      const { path, position, size } = world.find(15);
      world.disk.flipBit(path, position + at, 1);
      const lost = await world.repair();
      expect(rangesOf(lost)).toEqual([[15, 18]]);
      expect(lost[0]).toMatchObject({ path, position, bytes: size });
      await expectWhole(world, without(15));
    },
  );

  it('in the first batch of all, in the first of a segment, in the last of one', async () => {
    const world = await RepairWorld.filled();
    const second = world.segments[1]!;
    for (const offset of [0, second, second - 3]) {
      const { path, position } = world.find(offset);
      world.disk.flipBit(path, position + 70);
    }
    expect(rangesOf(await world.repair())).toEqual([
      [0, 3],
      [second - 3, second],
      [second, second + 3],
    ]);
    await expectWhole(world, without(0, second - 3, second));
  });

  it('in the last batch of all: its offsets are not given away again', async () => {
    const world = await RepairWorld.filled();
    const { path, position } = world.find(END - 3);
    world.disk.flipBit(path, position + 70);
    expect(rangesOf(await world.repair())).toEqual([[END - 3, END]]);
    await expectWhole(world, without(END - 3));
  });
});

describe('more than a bit', () => {
  it('a run of bytes over several batches', async () => {
    const world = await RepairWorld.filled();
    const from = world.find(3);
    const to = world.find(9);
    for (let at = from.position + 30; at < to.position + 10; at += 1) {
      world.disk.flipBit(from.path, at, at % 8);
    }
    expect(rangesOf(await world.repair())).toEqual([[3, 12]]);
    await expectWhole(world, without(3, 6, 9));
  });

  it('a whole segment is nothing but noise', async () => {
    const world = await RepairWorld.filled();
    const [, base, next] = world.segments;
    const file = world.disk.openFile(world.path(base!));
    file.writeAt(0, Buffer.alloc(file.size, 0xa5));
    expect(rangesOf(await world.repair())).toEqual([[base, next]]);
    await expectWhole(world, all.filter((offset) => offset < base! || offset >= next!)); // prettier-ignore
  });

  it.each(['first', 'middle', 'last'])('the %s segment file is gone', async (which) => {
    const world = await RepairWorld.filled();
    const { segments } = world;
    const at = { first: 0, middle: 2, last: segments.length - 1 }[which]!;
    const base = segments[at]!;
    const next = segments[at + 1] ?? END;
    world.disk.remove(world.path(base));
    expect(rangesOf(await world.repair())).toEqual([[base, next]]);
    if (which === 'first') expect(world.log.logStartOffset).toBe(next);
    await expectWhole(world, all.filter((offset) => offset < base || offset >= next)); // prettier-ignore
  });

  it('all files are gone: it begins with a gap up to where it ended', async () => {
    const world = await RepairWorld.filled();
    for (const name of world.disk.list(DIRECTORY)) world.disk.remove(`${DIRECTORY}/${name}`);
    expect(rangesOf(await world.repair())).toEqual([[0, END]]);
    await expectWhole(world, []);
  });

  it('a file that is cut short', async () => {
    const world = await RepairWorld.filled();
    const [base, next] = world.segments;
    const { path, position } = world.find(next! - 3);
    world.disk.openFile(path).truncate(position + 20);
    expect(rangesOf(await world.repair())).toEqual([[next! - 3, next]]);
    expect(base).toBe(0);
    await expectWhole(world, without(next! - 3));
  });

  it('partition.metadata and leader-epoch-checkpoint: nothing is lost', async () => {
    const world = await RepairWorld.filled();
    await world.within(world.store.close({ clean: true, brokerEpoch: 1 }));
    world.disk.flipBit(`${DIRECTORY}/partition.metadata`, 20);
    world.disk.flipBit(`${DIRECTORY}/leader-epoch-checkpoint`, 2, 6);
    world.disk.crash({ loseUnsynced: false, random: seededRandom(1) });
    await world.open();
    expect(world.store.lost()).toMatchObject([{ topic: 'orders', partition: 0, damaged: true }]);
    expect(await world.repair()).toEqual([]);
    expect(world.log.epochEnd(0)).toEqual({ epoch: 0, endOffset: 21 });
    await expectWhole(world, all);
  });
});

describe('gaps that compaction has left', () => {
  /** A copy of a compacted log: of every two batches one is there, and of the last ones each. */
  async function withGaps(): Promise<{ world: RepairWorld; bytes: Buffer }> {
    const world = new RepairWorld();
    await world.open();
    const log = await world.within(world.store.create('orders', TOPIC_ID, 0, config));
    for (let i = 1; i < BATCHES; i += i < 15 ? 2 : 1) {
      const one = batch(i);
      assignOffsetAndEpoch(one, i * 3, 0);
      log.appendAsFollower(one);
    }
    await world.within(log.flush());
    return { world, bytes: readWholeLog(log as Log) };
  }

  const afterKill = (world: RepairWorld): Promise<void> => {
    world.disk.crash({ loseUnsynced: false, random: seededRandom(1) });
    return world.open();
  };

  it.each([true, false])(
    'the file that tells of them is gone: nothing is lost (clean: %s)',
    async (clean) => {
      const { world, bytes } = await withGaps();
      if (clean) await world.within(world.store.close({ clean: true, brokerEpoch: 1 }));
      world.disk.remove(`${DIRECTORY}/offset-gaps`);
      // Otherwise a clean stop is believed, and nobody looks.
      for (const base of world.segments.slice(0, 2)) world.disk.remove(world.path(base, 'seal'));
      await afterKill(world);
      expect(world.store.lost()).toMatchObject([{ topic: 'orders', damaged: true }]);
      expect(await world.repair()).toEqual([]);
      for (const cleanStop of [true, false]) {
        expect(readWholeLog(world.log as Log).equals(bytes)).toBe(true);
        await world.restart(cleanStop);
        expect(world.store.lost()).toEqual([]);
      }
    },
  );

  it('a base offset that was lifted in the last batch of all is no gap: that batch is lost', async () => {
    const { world } = await withGaps();
    const { path, position } = world.find(END - 3);
    world.disk.flipBit(path, position + 6, 0);
    await afterKill(world);
    expect(world.store.lost()).toMatchObject([{ topic: 'orders', damaged: true }]);
    expect(rangesOf(await world.repair())).toEqual([[END - 3, END]]);
    expect(world.log.logEndOffset).toBe(END);
    expect(world.kept.at(-1)).toBe(END - 6);
  });
});

describe('the mark of the damage', () => {
  it('a log that found damage is damaged after a restart, too, whatever is read then', async () => {
    const world = await RepairWorld.filled();
    findDamage(world);
    await world.restart();
    expect(world.log).toBeUndefined();
    expect(world.store.lost()).toMatchObject([{ topicId: TOPIC_ID, damaged: true }]);
    expect(rangesOf(await world.repair())).toEqual([[15, 18]]);
    await expectWhole(world, without(15));
  });

  it('a refill ends it', async () => {
    const world = await RepairWorld.filled();
    findDamage(world);
    await world.within(world.store.setAsideDamaged(PARTITION));
    const log = await world.within(world.store.create('orders', TOPIC_ID, 0, config));
    expect(log.logEndOffset).toBe(0);
    await world.restart();
    expect(world.store.lost()).toEqual([]);
    expect(world.store.damaged()).toEqual([PARTITION]);
  });
});

it('set aside by its name, where partition.metadata is damaged, too', async () => {
  const world = await RepairWorld.filled();
  world.disk.flipBit(`${DIRECTORY}/partition.metadata`, 20);
  findDamage(world);
  await world.within(world.store.setAsideDamaged(PARTITION));
  expect(world.log).toBeUndefined();
  const log = await world.within(world.store.create('orders', TOPIC_ID, 0, config));
  expect(log.logEndOffset).toBe(0);
  expect(world.store.damaged()).toEqual([PARTITION]);
});

it('set aside without room for both: it is removed at once, and the refill has room', async () => {
  const world = await RepairWorld.filled();
  world.disk.setFull(world.disk.usedBytes + 1_000);
  await world.within(world.store.setAsideDamaged(PARTITION));
  expect(world.store.damaged()).toEqual([]);
  const log = await world.within(world.store.create('orders', TOPIC_ID, 0, config));
  for (let i = 0; i < BATCHES; i += 1) log.appendAsLeader(batch(i), { leaderEpoch: 0 });
  expect(log.logEndOffset).toBe(END);
});

describe('the stamp', () => {
  it('everything from the first loss on is in an epoch of its own: a replica with more parts there', async () => {
    const world = await RepairWorld.filled();
    const { path, position } = world.find(15);
    world.disk.flipBit(path, position + 80);
    await world.repair(5);
    for (const clean of [true, false]) {
      await world.restart(clean);
      expect(world.log.epochEnd(0)).toEqual({ epoch: 0, endOffset: 15 });
      expect(world.log.epochEnd(4)).toEqual({ epoch: 0, endOffset: 15 });
      expect(world.log.epochEnd(5)).toEqual({ epoch: 5, endOffset: END });
    }
    await expectWhole(world, without(15));
  });

  it('nothing was lost: nothing is stamped', async () => {
    const world = await RepairWorld.filled();
    expect(await world.repair(5)).toEqual([]);
    expect(world.log.epochEnd(5)).toEqual({ epoch: 1, endOffset: END });
  });
});

describe('a crash in the middle of the repair', () => {
  it('at every write: it is damaged still, or repaired, and the next repair ends the same', async () => {
    let crashes = 0;
    let repaired = 0;
    for (let call = 1; ; call += 1) {
      const world = await RepairWorld.filled();
      const { path } = world.find(15);
      findDamage(world);
      await world.within(world.disk.openFile(path).datasync());
      const stopped = await failAt(world, call);
      if (!stopped) break;
      crashes += 1;
      world.disk.crash({ loseUnsynced: call % 2 === 0, random: seededRandom(call) });
      await world.open();
      // The power may have failed before the mark was on the device: then it is found again.
      const isRepaired = world.log !== undefined && !stillDamaged(world);
      if (!isRepaired) await world.repair(5);
      repaired += isRepaired ? 1 : 0;
      expect(world.kept).toEqual(without(15));
      expect(world.log.logEndOffset).toBe(END);
      expect(world.log.epochEnd(4)).toEqual({ epoch: 0, endOffset: 15 });
    }
    expect(crashes).toBeGreaterThan(10);
    expect(repaired).toBeLessThan(crashes);
  });
});

function stillDamaged(world: RepairWorld): boolean {
  try {
    return world.kept.length === 0;
  } catch {
    return true;
  }
}

/** The disk refuses its `call`th change. False: there are not so many. */
async function failAt(world: RepairWorld, call: number): Promise<boolean> {
  let left = call;
  const enter = world.disk.enter.bind(world.disk);
  const changes = ['append', 'rename', 'remove', 'datasync', 'syncDirectory', 'truncate'];
  world.disk.enter = (operation, path, partial) => {
    if (changes.includes(operation)) left -= 1;
    if (left <= 0 && changes.includes(operation)) world.disk.failNext(operation);
    enter(operation, path, partial);
  };
  try {
    await world.repair(5);
    return false;
  } catch {
    return true; // the crash
  } finally {
    world.disk.enter = enter;
  }
}
