/** How a log comes to the device: group commit, failed syncs, cuts, and what a slow device must not hold up. */
import { defaultTopicConfig, seededRandom, TributaryError } from '@tributary/common';
import { splitBatches } from '@tributary/record';
import {
  describeRecords,
  makeBatch,
  openTestLog,
  readWholeLog,
  settle,
  SimulatedClock,
  SimulatedDisk,
} from '@tributary/testkit';
import { checkDamage } from './damage-mark';
import type { Log } from './log';
import { COMMIT_RETRY_MS } from './log-flusher';
import type { LogOptions } from './log-options';
import type { LogConfig } from './partition-log';

const directory = '/data/orders-0';
const os: LogConfig = { ...defaultTopicConfig, segmentBytes: 1_000_000 };
const sync: LogConfig = { ...os, flush: 'sync' };
let disk: SimulatedDisk;
let clock: SimulatedClock;
/** Syncs of segments that are under way, in order: calling one lets it end. */
let held: (() => void)[];

beforeEach(() => {
  disk = new SimulatedDisk();
  clock = new SimulatedClock();
  held = [];
});

async function open(options: Partial<LogOptions> = {}): Promise<Log> {
  const log = await openTestLog(disk.mount(), directory, { clock, config: sync, ...options });
  await disk.syncDirectory('/');
  await disk.syncDirectory('/data');
  return log;
}

function append(log: Log, value: string, leaderEpoch = 0): void {
  log.appendAsLeader(makeBatch({ values: [value] }), { leaderEpoch });
}

/** From now on a sync of a segment ends when the test says so. */
function holdSyncs(): void {
  disk.syncTime = (path) => {
    if (!path.endsWith('.log')) return Promise.resolve();
    return new Promise((resolve) => void held.push(resolve));
  };
}

function goOn(): void {
  disk.syncTime = () => Promise.resolve();
  for (const end of held.splice(0)) end();
}

const syncs = (): number => disk.calls.datasync ?? 0;
const powerFails = (seed = 1): void =>
  disk.crash({ loseUnsynced: true, random: seededRandom(seed) });

describe('group commit', () => {
  it('with flush=sync an append goes to the device by itself, and all of one tick with one sync', async () => {
    const log = await open();
    append(log, 'first');
    await settle();
    const before = syncs();
    for (let i = 0; i < 32; i += 1) append(log, `${i}`);
    expect(log.durableEndOffset).toBe(1);
    await settle();
    expect(log.durableEndOffset).toBe(33);
    expect(syncs() - before).toBe(1);
  });

  it('what is appended while a sync is under way shares the next one', async () => {
    const log = await open();
    const moved: number[] = [];
    log.observe({
      durable: () => moved.push(log.durableEndOffset),
      failed: () => undefined,
    });
    holdSyncs();
    append(log, 'a');
    await settle();
    for (const value of ['b', 'c', 'd']) append(log, value);
    await settle();
    expect([held.length, log.durableEndOffset]).toEqual([1, 0]);
    held.shift()?.();
    await settle();
    expect([held.length, log.durableEndOffset]).toEqual([1, 1]);
    held.shift()?.();
    await settle();
    expect([held.length, moved]).toEqual([0, [1, 4]]);
  });

  it('32 appenders that each wait for their own durability: one sync a round', async () => {
    const log = await open();
    await log.flush();
    const before = syncs();
    const appender = async (): Promise<void> => {
      for (let round = 0; round < 10; round += 1) {
        append(log, 'x');
        const mine = log.logEndOffset;
        await log.flush();
        expect(log.durableEndOffset).toBeGreaterThanOrEqual(mine);
      }
    };
    await Promise.all(Array.from({ length: 32 }, appender));
    expect(log.durableEndOffset).toBe(320);
    // The first commit brings the epoch file and its companion along.
    expect(syncs() - before).toBeLessThanOrEqual(12);
  });

  it('a commit writes nothing but the batches: no epoch file, no index, no directory, where nothing changed', async () => {
    const log = await open();
    append(log, 'a');
    await log.flush();
    const before = { ...disk.calls };
    for (let i = 0; i < 20; i += 1) {
      append(log, 'b');
      await log.flush();
    }
    const spent = Object.entries(disk.calls)
      .map(([operation, count]) => [operation, count - (before[operation as 'open'] ?? 0)])
      .filter(([, count]) => count !== 0);
    expect(Object.fromEntries(spent)).toEqual({ append: 20, datasync: 20 });
  });

  it('os appends wait for nobody; the setting changes while it is open', async () => {
    const log = await open({ config: os });
    append(log, 'a');
    await settle();
    expect(log.durableEndOffset).toBe(0);
    log.configure(sync);
    await settle();
    expect(log.durableEndOffset).toBe(1);
    log.configure(os);
    append(log, 'b');
    await settle();
    expect(log.durableEndOffset).toBe(1);
  });

  it('a log that is opened with flush=sync brings the tail of the life before to the device', async () => {
    const log = await open({ config: os });
    append(log, 'a');
    disk.crash({ loseUnsynced: false, random: seededRandom(1) });
    const again = await open({ recover: true });
    expect(again.durableEndOffset).toBe(0);
    await settle();
    expect(again.durableEndOffset).toBe(1);
  });

  it('durable means durable: whatever the power takes, what was told stays, epochs included (30 seeds)', async () => {
    for (let seed = 0; seed < 30; seed += 1) {
      const dice = seededRandom(seed);
      disk = new SimulatedDisk();
      const log = await open({ config: { ...sync, segmentBytes: 1_500 } });
      disk.syncTime = () => clock.advance(0);
      for (let i = 0; i < 40; i += 1) {
        append(log, `${seed}/${i}`.padEnd(dice.next() * 400), Math.floor(i / 5));
        if (dice.next() < 0.5) await settle();
      }
      const { durableEndOffset } = log;
      const before = splitBatches(readWholeLog(log));
      powerFails(seed);
      const again = await open({ recover: true, recoveryPoint: durableEndOffset });
      const after = splitBatches(readWholeLog(again));
      expect(after.length).toBeGreaterThanOrEqual(durableEndOffset);
      expect(after.every((batch, at) => batch.equals(before[at]!))).toBe(true);
      for (let epoch = 0; epoch < 8 && epoch * 5 + 5 <= durableEndOffset; epoch += 1) {
        expect(again.epochEnd(epoch)?.endOffset).toBe(epoch * 5 + 5);
      }
    }
  });
});

describe('KAFKA-15046: a slow device delays acknowledgements, nothing else', () => {
  it('appends, rolls, reads and truncations go on while a sync hangs', async () => {
    const log = await open({ config: { ...sync, segmentBytes: 1_024 } });
    append(log, 'a');
    await settle();
    holdSyncs();
    for (let i = 0; i < 20; i += 1) append(log, `${i}`.padEnd(200));
    await settle();
    expect(held.length).toBeGreaterThan(0);
    expect(log.logEndOffset).toBe(21);
    expect(describeRecords(log.read(0, 10, Infinity))[0]).toBe('0:a');
    expect((await log.readAsync(10, 10, Infinity)).length).toBeGreaterThan(0);
    log.truncateTo(15);
    append(log, 'b', 1);
    expect([log.logEndOffset, log.durableEndOffset]).toEqual([16, 1]);
    goOn();
    await log.flush();
    expect(log.durableEndOffset).toBe(16);
  });
});

describe('a sync that fails', () => {
  const failing = async (): Promise<{ log: Log; failures: Error[] }> => {
    const log = await open();
    const failures: Error[] = [];
    log.observe({ durable: () => undefined, failed: (error) => failures.push(error) });
    append(log, 'a');
    await settle();
    return { log, failures };
  };

  it('takes the log offline at once, and is told to whoever observes it', async () => {
    const { log, failures } = await failing();
    disk.failNext('datasync');
    append(log, 'b');
    await settle();
    expect(failures).toHaveLength(1);
    expect(log.failure).toBe(failures[0]);
    expect(log.durableEndOffset).toBe(1);
    expect(() => append(log, 'c')).toThrow('offline');
    await expect(log.flush()).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  });

  it('is remembered: the next start takes the log for damaged, for the system may show bytes that the device has not', async () => {
    const { log } = await failing();
    disk.failNext('datasync', { path: '.log' });
    append(log, 'b');
    await settle();
    disk.crash({ loseUnsynced: false, random: seededRandom(1) });
    expect(() => checkDamage(disk, directory)).toThrow('injected failure');
  });

  it('is never tried again: the next one might succeed without the bytes', async () => {
    const { log } = await failing();
    holdSyncs();
    append(log, 'b');
    await settle();
    append(log, 'c');
    disk.failNext('datasync');
    const waiting = log.flush().catch((error: unknown) => TributaryError.from(error).code);
    const before = syncs();
    held.shift()?.();
    await settle();
    await clock.advance(60_000);
    expect(await waiting).toBe('STORAGE_ERROR');
    expect(syncs() - before).toBe(1);
    expect(log.durableEndOffset).toBe(2);
  });

  it('also where the device says that it is full, and also after a roll with flush=os', async () => {
    for (const config of [sync, { ...os, segmentBytes: 1_024 }]) {
      const log = await open({ config });
      await settle();
      disk.failNext('datasync', { code: 'DISK_FULL', path: '.log' });
      for (let i = 0; i < 8 && !log.failure; i += 1) {
        append(log, 'x'.repeat(200));
        await settle();
      }
      expect(log.failure).toMatchObject({ code: 'STORAGE_ERROR' });
      disk = new SimulatedDisk();
    }
  });

  it('also when a truncation came meanwhile; but not for a segment that is gone', async () => {
    const { log } = await failing();
    append(log, 'b');
    disk.failNext('datasync', { path: '.log' });
    const flushed = log.flush();
    log.truncateTo(1);
    await expect(flushed).rejects.toMatchObject({ code: 'STORAGE_ERROR' });

    disk = new SimulatedDisk();
    const other = await failing();
    disk.syncTime = async (path) => {
      if (path.endsWith('00.log')) throw new TributaryError('STORAGE_ERROR', 'EIO');
    };
    append(other.log, 'b');
    const gone = other.log.flush();
    await Promise.resolve();
    other.log.restartAt(50);
    await gone;
    expect(other.log.failure).toBeUndefined();
  });

  it('a full disk for the epoch file is no failure: the commit is tried again when there may be room', async () => {
    const { log } = await failing();
    disk.failNext('append', { code: 'DISK_FULL', path: 'leader-epoch-checkpoint.tmp', times: 3 });
    append(log, 'b', 1);
    await clock.advance(COMMIT_RETRY_MS * 2.5);
    expect([log.failure, log.durableEndOffset]).toEqual([undefined, 1]);
    await clock.advance(COMMIT_RETRY_MS);
    expect(log.durableEndOffset).toBe(2);
    await log.close();
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('a cut that is announced and does not come', () => {
  it('holds back what it would have taken away only until that is known', async () => {
    const log = await open();
    for (const value of ['a', 'b', 'c']) append(log, value);
    await log.flush();
    await log.prepareCut(1);
    expect(log.durableEndOffset).toBe(1);
    await log.flush();
    expect(log.durableEndOffset).toBe(1);
    log.withdrawCut();
    await settle();
    expect([log.durableEndOffset, log.logEndOffset]).toEqual([3, 3]);
  });
});
