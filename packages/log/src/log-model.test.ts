/**
 * The log against an obvious model, a list of batches and a list of epochs, under random commands: appends of both
 * kinds, epochs, truncations, restarts elsewhere, flushes, clean reopening and kill -9.
 */
import * as fc from 'fast-check';
import { seededRandom } from '@tributary/common';
import { assignOffsetAndEpoch, readBatchHeader } from '@tributary/record';
import { makeBatch, openTestLog, readWholeLog, SimulatedDisk } from '@tributary/testkit';
import type { Log } from './log';

const directory = '/data/orders-0';

type Command =
  | {
      readonly do: 'append';
      readonly count: number;
      readonly size: number;
      readonly newEpoch: boolean;
    }
  | {
      readonly do: 'replicate';
      readonly batches: number;
      readonly gap: number;
      readonly size: number;
    }
  | { readonly do: 'assignEpoch' }
  | { readonly do: 'truncate'; readonly at: number }
  | { readonly do: 'restart'; readonly at: number }
  | { readonly do: 'flush' | 'reopen' | 'kill' };

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      count: fc.integer({ min: 1, max: 4 }),
      size: fc.integer({ min: 0, max: 200 }),
      newEpoch: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant('replicate' as const),
      batches: fc.integer({ min: 1, max: 4 }),
      gap: fc.constantFrom(0, 0, 1, 7),
      size: fc.integer({ min: 0, max: 400 }),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('assignEpoch' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('truncate' as const), at: fc.nat(1000) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('restart' as const), at: fc.nat(50) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constantFrom('flush', 'reopen', 'kill') }) },
);

class Model {
  batches: { base: number; last: number; epoch: number; bytes: Buffer }[] = [];
  epochs: { epoch: number; start: number }[] = [];
  start = 0;

  get end(): number {
    const last = this.batches.at(-1);
    return last ? last.last + 1 : this.start;
  }

  get latestEpoch(): number {
    return this.epochs.at(-1)?.epoch ?? -1;
  }

  add(bytes: Buffer): void {
    const { baseOffset: base, lastOffset: last, leaderEpoch: epoch } = readBatchHeader(bytes);
    this.assign(epoch, base);
    this.batches.push({ base, last, epoch, bytes: Buffer.from(bytes) });
  }

  assign(epoch: number, start: number): void {
    if (epoch <= this.latestEpoch) return;
    this.epochs = [...this.epochs.filter((one) => one.start < start), { epoch, start }];
  }

  truncate(offset: number): void {
    if (offset < this.start) return this.restart(offset);
    this.batches = this.batches.filter((batch) => batch.last < offset);
    this.epochs = this.epochs.filter((one) => one.start < Math.min(offset, this.end));
  }

  restart(offset: number): void {
    this.batches = [];
    this.epochs = [];
    this.start = offset;
  }

  read(offset: number, maxBytes: number, below: number): Buffer {
    const parts: Buffer[] = [];
    let bytes = 0;
    for (const batch of this.batches.filter((one) => one.last >= offset)) {
      if (batch.last >= below || (parts.length > 0 && bytes + batch.bytes.length > maxBytes)) break;
      parts.push(batch.bytes);
      bytes += batch.bytes.length;
    }
    return Buffer.concat(parts);
  }

  epochEnd(epoch: number): { epoch: number; endOffset: number } | undefined {
    const at = this.epochs.findLastIndex((one) => one.epoch <= epoch);
    if (at < 0) return undefined;
    return { epoch: this.epochs[at]!.epoch, endOffset: this.epochs[at + 1]?.start ?? this.end };
  }
}

class Run {
  readonly disk = new SimulatedDisk();
  readonly model = new Model();
  log!: Log;
  private serial = 0;

  async open(recover: boolean, recoveryPoint = 0): Promise<void> {
    // As one process sees the disk: what a killed one had begun must not reach into the next life.
    this.log = await openTestLog(this.disk.mount(), directory, { recover, recoveryPoint });
  }

  async apply(command: Command): Promise<void> {
    const { log, model } = this;
    const { recoveryPoint } = log;
    switch (command.do) {
      case 'append': {
        const leaderEpoch = Math.max(0, model.latestEpoch) + (command.newEpoch ? 1 : 0);
        const batch = this.batch(command.count, command.size);
        const { baseOffset } = log.appendAsLeader(batch, { leaderEpoch });
        expect(baseOffset).toBe(model.end);
        return model.add(batch);
      }
      case 'replicate':
        return this.replicate(command);
      case 'assignEpoch': {
        const epoch = model.latestEpoch + 1;
        await log.assignEpoch(epoch);
        return model.assign(epoch, model.end);
      }
      case 'truncate': {
        const offset = command.at % (model.end + 3);
        log.truncateTo(offset);
        return model.truncate(offset);
      }
      case 'restart':
        log.restartAt(command.at);
        return model.restart(command.at);
      case 'flush':
        await log.flush();
        return expect(log.recoveryPoint).toBe(model.end);
      case 'reopen':
        await log.close();
        return this.open(false, log.recoveryPoint);
      case 'kill':
        this.disk.crash({ loseUnsynced: false, random: seededRandom(1) });
        return this.open(true, recoveryPoint);
    }
  }

  check(dice: () => number): void {
    const { log, model } = this;
    expect([log.logStartOffset, log.logEndOffset]).toEqual([model.start, model.end]);
    expect(log.latestEpoch).toBe(model.latestEpoch);
    expect(log.lastBatchEpoch).toBe(model.batches.at(-1)?.epoch ?? -1);
    const all = Buffer.concat(model.batches.map((batch) => batch.bytes));
    expect(readWholeLog(log).equals(all)).toBe(true);
    expect(log.sizeBytes).toBe(all.length);
    const offset = model.start + Math.floor(dice() * (model.end - model.start + 1));
    const below = model.start + Math.floor(dice() * (model.end - model.start + 2));
    // One read stays within a segment, so it may give less than the model, but never nothing instead of something.
    const expected = model.read(offset, 500, below);
    const given = log.read(offset, 500, below);
    expect(expected.subarray(0, given.length).equals(given)).toBe(true);
    expect(given.length > 0).toBe(expected.length > 0);
    const epoch = Math.floor(dice() * (model.latestEpoch + 2));
    expect(log.epochEnd(epoch)).toEqual(model.epochEnd(epoch));
  }

  private replicate(command: { batches: number; gap: number; size: number }): void {
    const { log, model } = this;
    const parts: Buffer[] = [];
    let base = model.end + command.gap;
    for (let i = 0; i < command.batches; i += 1) {
      const batch = this.batch(2, command.size);
      assignOffsetAndEpoch(batch, base, Math.max(0, model.latestEpoch));
      parts.push(batch);
      base += 2 + command.gap;
    }
    log.appendAsFollower(Buffer.concat(parts));
    parts.forEach((batch) => model.add(batch));
  }

  private batch(count: number, size: number): Buffer {
    const values = Array.from({ length: count }, () => `${(this.serial += 1)}`.padEnd(size));
    return makeBatch({ values });
  }
}

/** The epoch file of the killed life was still on its way when the next life wrote its own. */
const killedWhileEpochsAreWritten: Command[] = [
  { do: 'replicate', batches: 1, gap: 0, size: 45 },
  { do: 'reopen' },
  { do: 'replicate', batches: 2, gap: 0, size: 391 },
  { do: 'kill' },
  { do: 'assignEpoch' },
];

test('log and model agree after every command', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(command, { maxLength: 40 }), fc.nat(), async (commands, seed) => {
      const random = seededRandom(seed);
      const run = new Run();
      await run.open(false);
      for (const one of commands) {
        await run.apply(one);
        run.check(() => random.next());
      }
    }),
    { numRuns: 60, examples: [[killedWhileEpochsAreWritten, 0]] },
  );
});
