/**
 * The process dies, or the power fails, at every write of a compaction pass. Afterwards every key has its last value, every
 * record that is left has its offset, nothing half done lies about, and epochs and producers are what they were.
 */
import { seededRandom } from '@tributary/common';
import { KeyedLog, LOG_DIRECTORY } from './keyed-log.fixture';

const TEARS = 1;

interface Known {
  readonly records: readonly string[];
  readonly latest: ReadonlyMap<string, string>;
  readonly logEndOffset: number;
  readonly checkpoint: { readonly recoveryPoint: number; readonly compactedTo: number };
  readonly state: unknown;
}

/** All writes up to the pass under test; the same ones each time. */
async function prepare(): Promise<{ keyed: KeyedLog; known: Known }> {
  const keyed = await KeyedLog.open();
  const random = seededRandom(11);
  const sequences = [0, 0];
  const work = (batches: number): void => {
    for (let i = 0; i < batches; i += 1) {
      const keys = [0, 1, 2].map(() => `k${Math.floor(random.next() * 9)}`);
      const producer = i % 3;
      keyed.appendBatch({
        records: keys.map((key) => (random.next() < 0.25 ? `${key}=` : `${key}=${i}`.padEnd(40))),
        producer: producer < 2 ? [producer, 0, (sequences[producer]! += 3) - 3] : undefined,
        codec: i % 4 === 0 ? 'gzip' : 'none',
        leaderEpoch: keyed.log.latestEpoch + (i % 6 === 0 ? 1 : 0),
      });
    }
    keyed.seal();
  };
  work(16);
  await keyed.compact();
  await keyed.clock.advance(20_000);
  work(12);
  const { log } = keyed;
  await log.flush();
  const records = keyed.records();
  const known = {
    records,
    latest: latestOf(records),
    logEndOffset: log.logEndOffset,
    checkpoint: { recoveryPoint: log.recoveryPoint, compactedTo: log.compaction.compactedTo },
    state: stateOf(keyed),
  };
  return { keyed, known };
}

/** As a reader from the beginning has it at the end: keys with a value. */
function latestOf(records: readonly string[]): Map<string, string> {
  const latest = new Map<string, string>();
  for (const record of records) {
    const [, key = '', value = ''] = /^[0-9]+ ([^=]*)=(.*)$/.exec(record) ?? [];
    if (value === '') latest.delete(key);
    else latest.set(key, value);
  }
  return latest;
}

function stateOf({ log }: KeyedLog): unknown {
  const { epochs, producers } = log['state'];
  return {
    epochs: epochs.entries,
    producers: [...producers.states.entries].map(({ batches, ...entry }) => ({
      ...entry,
      // The largest timestamp of a batch may be one of a record that was dropped.
      batches: batches.map(({ timestamp: _, ...batch }) => batch),
    })),
  };
}

function check(keyed: KeyedLog, known: Known): void {
  const records = keyed.records();
  const written = new Set(known.records);
  expect(records.filter((record) => !written.has(record))).toEqual([]);
  expect(latestOf(records)).toEqual(known.latest);
  expect(keyed.log.logEndOffset).toBe(known.logEndOffset);
  expect(stateOf(keyed)).toEqual(known.state);
  const names = keyed.disk.list(LOG_DIRECTORY);
  expect(names.filter((name) => /\.(cleaned|swap)$/.test(name))).toEqual([]);
}

async function crashAndCheck(crash: (disk: KeyedLog['disk'], firstWrite: number) => void) {
  const { keyed, known } = await prepare();
  crash(keyed.disk, keyed.disk.writes);
  await keyed.compact();
  await keyed.reopen({ recover: true, ...known.checkpoint });
  check(keyed, known);
  // The next one is not in the way of what the one before has left.
  expect((await keyed.compact()).status).toBe('done');
  check(keyed, known);
  await keyed.reopen({ recover: true, recoveryPoint: 0 });
  check(keyed, known);
}

test('a crash at every write of a pass', async () => {
  const whole = await prepare();
  const before = whole.keyed.disk.writes;
  expect(await whole.keyed.compact()).toMatchObject({ status: 'done' });
  check(whole.keyed, whole.known);
  expect(whole.keyed.records().length).toBeLessThan(whole.known.records.length / 2);
  const writes = whole.keyed.disk.writes - before;
  expect(writes).toBeGreaterThan(40);
  for (let write = 1; write <= writes; write += 1) {
    try {
      await crashAndCheck((disk, first) => disk.killAt(first + write, seededRandom(write)));
      for (let tear = 0; tear < TEARS; tear += 1) {
        const random = seededRandom(write * 31 + tear);
        await crashAndCheck((disk, first) => disk.cutPowerAt(first + write, random));
      }
    } catch (error) {
      throw new Error(`crash at write ${write} of ${writes}`, { cause: error });
    }
  }
  process.stdout.write(`a compaction pass crashed at ${writes} writes, ${TEARS + 1} times each\n`);
}, 120_000);
