/**
 * Compaction against an obvious model, the list of all records that were ever appended, under random commands: appends
 * with keys, tombstones and producers, commits, truncations, time, passes with small key maps, reopening, kill -9,
 * and readers from the beginning that go on between all that. The invariants are C10 and what stands at each check.
 */
import * as fc from 'fast-check';
import { seededRandom, type Random } from '@tributary/common';
import { compactedConfig, KeyedLog, LOG_DIRECTORY } from './keyed-log.fixture';

const KEYS = 7;
const DELETE_RETENTION_MS = compactedConfig.deleteRetentionMs;
const SMALL_MAP = { maxKeyMapBytes: 24 * 8 };

type Command =
  | { readonly do: 'append'; readonly records: number; readonly producer: number }
  | { readonly do: 'pass'; readonly ms: number }
  | { readonly do: 'truncate'; readonly share: number }
  | { readonly do: 'read'; readonly steps: number }
  | {
      readonly do:
        | 'seal'
        | 'commit'
        | 'compact'
        | 'cycle'
        | 'delete'
        | 'newEpoch'
        | 'flush'
        | 'reopen'
        | 'kill'
        | 'startReading';
    };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      records: fc.integer({ min: 1, max: 4 }),
      producer: fc.integer({ min: -1, max: 2 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(10, 3_000, 9_000, 12_000),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('truncate' as const), share: fc.nat(100) }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('read' as const),
      steps: fc.integer({ min: 1, max: 6 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({ do: fc.constantFrom('compact', 'commit', 'seal', 'cycle') }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('startReading' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom('newEpoch', 'flush', 'reopen', 'kill', 'startReading'),
    }),
  },
);

interface Written {
  readonly offset: number;
  readonly key: string;
  readonly value: string;
}

/** From the beginning to the end of what is committed, some batches at a time. */
interface Reader {
  position: number;
  readonly startedAt: number;
  readonly seen: Map<string, string>;
}

class Run {
  private readonly random: Random;
  private all: Written[] = [];
  private highWatermark = 0;
  /** The furthest that any pass came; the checkpoint may have forgotten. */
  private passedTo = 0;
  private checkpoint = { recoveryPoint: 0, compactedTo: 0 };
  private sequences = [0, 0, 0];
  private reader: Reader | undefined;
  private serial = 0;
  finishedReaders = 0;

  private constructor(
    private readonly keyed: KeyedLog,
    seed: number,
  ) {
    this.random = seededRandom(seed);
    keyed.commitsAtOnce = false;
  }

  static async start(seed: number): Promise<Run> {
    return new Run(await KeyedLog.open({}, SMALL_MAP), seed);
  }

  async apply(command: Command): Promise<void> {
    const { keyed } = this;
    const { log, clock } = keyed;
    switch (command.do) {
      case 'append':
        return this.append(command.records, command.producer);
      case 'seal':
        // As many batches as it takes; the last one begins the next segment.
        for (let i = 0; i < 4; i += 1) this.append(1, -1, 300);
        return;
      case 'commit':
        return this.commit();
      case 'delete':
        return this.write([{ key: this.randomKey(), value: '' }], -1);
      case 'cycle':
        // What was written is passed at once.
        for (let i = 0; i < 4; i += 1) this.write([{ key: 'filler', value: 'x'.repeat(300) }], -1);
        this.highWatermark = log.logEndOffset;
        log.noteHighWatermark(this.highWatermark);
        return this.compact();
      case 'pass':
        return clock.advance(command.ms);
      case 'newEpoch':
        return log.assignEpoch(log.latestEpoch + 1);
      case 'flush':
        return log.flush();
      case 'compact':
        return this.compact();
      case 'truncate':
        return this.truncate(command.share);
      case 'reopen':
        await log.close();
        this.store();
        return this.open(false);
      case 'kill':
        keyed.disk.crash({ loseUnsynced: false, random: this.random });
        if (this.random.next() < 0.3) this.checkpoint = { recoveryPoint: 0, compactedTo: 0 };
        return this.open(true);
      case 'startReading':
        this.reader = {
          position: log.logStartOffset,
          startedAt: clock.wallTime(),
          seen: new Map(),
        };
        return;
      case 'read':
        return this.read(command.steps);
    }
  }

  check(): void {
    const { log } = this.keyed;
    expect(log.failure).toBeUndefined();
    expect(log.logEndOffset).toBe((this.all.at(-1)?.offset ?? -1) + 1);
    const left = this.left();
    const written = new Map(this.all.map((record) => [record.offset, record]));
    for (const record of left) expect(record).toEqual(written.get(record.offset));
    expect(latestOf(left)).toEqual(latestOf(this.all));
    // What was not passed is all there.
    expect(this.passedTo).toBeLessThanOrEqual(this.highWatermark);
    const head = (record: Written): boolean => record.offset >= this.passedTo;
    expect(left.filter(head)).toEqual(this.all.filter(head));
    const names = this.keyed.disk.list(LOG_DIRECTORY);
    expect(names.filter((name) => /\.(cleaned|swap)$/.test(name))).toEqual([]);
  }

  private append(records: number, producer: number, size = 20): void {
    const made = Array.from({ length: records }, () => {
      this.serial += 1;
      const value = this.random.next() < 0.3 ? '' : `${this.serial}`.padEnd(size, '.');
      return { key: this.randomKey(), value };
    });
    this.write(made, producer);
  }

  private randomKey(): string {
    return `k${Math.floor(this.random.next() * KEYS)}`;
  }

  private write(made: readonly Omit<Written, 'offset'>[], producer: number): void {
    const baseSequence = this.sequences[producer] ?? -1;
    if (producer >= 0) this.sequences[producer] = baseSequence + made.length;
    const base = this.keyed.appendBatch({
      records: made.map(({ key, value }) => `${key}=${value}`),
      producer: producer >= 0 ? [producer, 0, baseSequence] : undefined,
      codec: this.random.next() < 0.3 ? 'gzip' : 'none',
    });
    made.forEach((record, i) => this.all.push({ offset: base + i, ...record }));
  }

  private commit(): void {
    const { log } = this.keyed;
    const ends = this.batchEnds();
    this.highWatermark = ends[Math.floor(this.random.next() * ends.length)] as number;
    log.noteHighWatermark(this.highWatermark);
  }

  private async compact(): Promise<void> {
    const { log } = this.keyed;
    const before = this.state();
    const outcome = await this.keyed.compact();
    if (outcome.status === 'nothing') return;
    if (outcome.status !== 'done') throw new Error('a pass failed', { cause: outcome });
    if (this.random.next() < 0.7) this.store();
    expect(this.state()).toEqual(before);
    // Of each key one record is left below the end of the pass, the last one, or none after a tombstone.
    const { to } = outcome.result;
    expect(log.compaction.compactedTo).toBe(to);
    this.passedTo = Math.max(this.passedTo, to);
    const last = new Map(this.all.filter(({ offset }) => offset < to).map((one) => [one.key, one]));
    for (const record of this.left().filter(({ offset }) => offset < to)) {
      expect(record).toEqual(last.get(record.key));
    }
  }

  private truncate(share: number): void {
    const { log } = this.keyed;
    const ends = this.batchEnds();
    const offset = ends[Math.floor((share / 101) * ends.length)] as number;
    log.truncateTo(offset);
    this.all = this.all.filter((record) => record.offset < log.logEndOffset);
    // Their producers go on from what is there: a new epoch each would do the same.
    const known = new Map(
      [...log['state'].producers.states.entries].map((one) => [one.producerId, one]),
    );
    this.sequences = this.sequences.map(
      (_, id) => (known.get(id)?.batches.at(-1)?.lastSequence ?? -1) + 1,
    );
    const { recoveryPoint, compactedTo } = this.checkpoint;
    this.checkpoint = {
      recoveryPoint: Math.min(recoveryPoint, offset),
      compactedTo: Math.min(compactedTo, offset),
    };
  }

  private store(): void {
    const { log } = this.keyed;
    this.checkpoint = {
      recoveryPoint: log.recoveryPoint,
      compactedTo: log.compaction.compactedTo,
    };
  }

  private async open(recover: boolean): Promise<void> {
    const before = this.state();
    await this.keyed.reopen({ recover, ...this.checkpoint });
    this.keyed.log.noteHighWatermark(this.highWatermark);
    expect(this.state()).toEqual(before);
  }

  private read(steps: number): void {
    const { reader, highWatermark } = this;
    if (!reader) return;
    for (let i = 0; i < steps && reader.position < highWatermark; i += 1) {
      reader.position = this.keyed.readSome(reader.position, highWatermark, ({ key, value }) => {
        reader.seen.set(key, value);
      });
    }
    const tookMs = this.keyed.clock.wallTime() - reader.startedAt;
    if (tookMs > DELETE_RETENTION_MS) {
      this.reader = undefined;
    } else if (reader.position >= highWatermark) {
      const committed = this.all.filter(({ offset }) => offset < highWatermark);
      const withValue = [...reader.seen].filter(([, value]) => value !== '');
      expect(new Map(withValue)).toEqual(latestOf(committed));
      this.finishedReaders += 1;
      this.reader = undefined;
    }
  }

  /** The high watermark and the ends of what is not committed. */
  private batchEnds(): number[] {
    const ends = this.keyed.headers().map(({ lastOffset }) => lastOffset + 1);
    return [this.highWatermark, ...ends.filter((end) => end > this.highWatermark)];
  }

  private left(): Written[] {
    const left: Written[] = [];
    const { log } = this.keyed;
    for (let position = log.logStartOffset; position < log.logEndOffset;) {
      position = this.keyed.readSome(position, Infinity, (record) => left.push(record));
    }
    return left;
  }

  private state(): unknown {
    const { epochs, producers } = this.keyed.log['state'];
    return {
      epochs: [...epochs.entries],
      producers: [...producers.states.entries].map(({ batches, ...entry }) => ({
        ...entry,
        batches: batches.map(({ timestamp: _, ...batch }) => batch),
      })),
    };
  }
}

function latestOf(records: readonly Written[]): Map<string, string> {
  const latest = new Map<string, string>();
  for (const { key, value } of records) {
    if (value === '') latest.delete(key);
    else latest.set(key, value);
  }
  return latest;
}

test('log and model agree after every command', async () => {
  let finishedReaders = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(command, { minLength: 10, maxLength: 60 }),
      fc.nat(),
      async (commands, seed) => {
        const run = await Run.start(seed);
        for (const one of commands) {
          await run.apply(one);
          run.check();
        }
        finishedReaders += run.finishedReaders;
      },
    ),
    { numRuns: Number(process.env['COMPACTION_RUNS'] ?? 25) },
  );
  expect(finishedReaders).toBeGreaterThan(0);
}, 600_000);

/** Much is deleted and passed while somebody reads, slowly at first. */
const whileReading: fc.Arbitrary<Command> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom('delete', 'cycle') }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('pass' as const),
      ms: fc.constantFrom(10, 1_500, 4_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('read' as const), steps: fc.constant(1) }) },
);

test('a reader from the beginning that ends in time sees every key at its last', async () => {
  let finishedReaders = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(whileReading, { minLength: 8, maxLength: 20 }),
      fc.nat(),
      async (commands, seed) => {
        const run = await Run.start(seed);
        for (let i = 0; i < 12; i += 1) await run.apply({ do: 'append', records: 3, producer: -1 });
        const before: Command[] = [{ do: 'cycle' }, { do: 'startReading' }];
        const after: Command[] = [{ do: 'read', steps: 1_000 }];
        for (const one of [...before, ...commands, ...after]) await run.apply(one);
        finishedReaders += run.finishedReaders;
      },
    ),
    { numRuns: Number(process.env['COMPACTION_RUNS'] ?? 60) },
  );
  expect(finishedReaders).toBeGreaterThan(0);
}, 600_000);
