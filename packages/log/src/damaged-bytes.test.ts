/**
 * A flipped bit anywhere: in the batches, beside them, before a clean start, after a crash, under an open log. What the log
 * then gives is what was written, or it says CORRUPT_LOG.
 */
import { defaultTopicConfig, hasCode } from '@tributary/common';
import { splitBatches } from '@tributary/record';
import { makeBatch, openTestLog, readWholeLog, SimulatedDisk } from '@tributary/testkit';
import type { Log } from './log';
import type { LogOptions } from './log-options';

const directory = '/data/orders-0';
const config = { ...defaultTopicConfig, segmentBytes: 14_000, maxMessageBytes: 20_000 };
const HEADER_BYTES = 61;
const EPOCHS = 4;
const PRODUCER = 7;

type Files = ReadonlyMap<string, Buffer>;

interface Written {
  readonly files: Files;
  readonly batches: readonly Buffer[];
  readonly answers: object;
}

interface Place {
  readonly name: string;
  readonly byte: number;
}

const timestampOf = (i: number): number => 1000 + ((i * 37) % 100);

async function write(log: Log): Promise<void> {
  for (let i = 0; i < 24; i += 1) {
    // Several batches in one interval, one batch of several intervals, one alone in its segment.
    const size = i === 9 ? 9000 : i === 16 ? 13_000 : 300 + ((i * 531) % 1500);
    const values = [`${i}`.padEnd(size / 2, '.'), `${i}`.padEnd(size / 2, '-')];
    const batch = makeBatch({
      values,
      timestamp: timestampOf(i),
      producer: [PRODUCER, 0, 2 * i],
    });
    const leaderEpoch = Math.floor(i / (24 / EPOCHS));
    if (leaderEpoch > log.latestEpoch) await log.assignEpoch(leaderEpoch);
    log.appendAsLeader(batch, { leaderEpoch });
  }
}

/** What the log answers besides its batches. Asks of the disk what can be asked there. */
function answersOf(log: Log): object {
  const retry = makeBatch({ values: ['x', 'y'], producer: [PRODUCER, 0, 46] });
  return {
    range: [log.logStartOffset, log.logEndOffset],
    epochs: Array.from({ length: EPOCHS }, (_, epoch) => log.epochEnd(epoch)),
    times: [900, 1000, 1037, 1074, 1099, 1100].map((at) => log.offsetForTimestamp(at, Infinity)),
    latest: log.maxTimestamp(Infinity),
    retry: log.appendAsLeader(retry, { leaderEpoch: EPOCHS - 1 }),
  };
}

function filesOf(disk: SimulatedDisk): Files {
  const files = disk.list(directory).map((name): [string, Buffer] => {
    const file = disk.openFile(`${directory}/${name}`);
    return [name, file.read(0, file.size)];
  });
  return new Map(files);
}

function diskWith(files: Files, flipped?: Place): SimulatedDisk {
  const disk = new SimulatedDisk();
  disk.makeDirectory(directory);
  for (const [name, bytes] of files) {
    const file = disk.openFile(`${directory}/${name}`, { create: true });
    file.append([bytes]);
    file.close();
  }
  if (flipped) flip(disk, flipped);
  return disk;
}

function flip(disk: SimulatedDisk, { name, byte }: Place): void {
  disk.flipBit(`${directory}/${name}`, byte, byte % 8);
}

const open = (disk: SimulatedDisk, options: Partial<LogOptions> = {}): Promise<Log> =>
  openTestLog(disk, directory, { config, ...options });

/**
 * All header bytes of some batches and of the last ones, one byte of the records of each; every byte of what lies beside the
 * first segment and of the files of the log, some of what lies beside the others.
 */
function placesIn(files: Files): Place[] {
  const [first, ...others] = [...files.keys()].filter((name) => name.endsWith('.log'));
  const last = others.at(-1);
  return [...files].flatMap(([name, bytes]) => {
    if (!name.endsWith('.log')) {
      const step = /^0*[1-9][0-9]*\./.test(name) ? 5 : 1;
      const count = Math.ceil(bytes.length / step);
      return Array.from({ length: count }, (_, i) => ({ name, byte: i * step }));
    }
    const places: Place[] = [];
    let position = 0;
    for (const [i, { length }] of splitBatches(bytes).entries()) {
      const isLast = position + length === bytes.length;
      if ((name === first && (i < 2 || isLast)) || (name === last && isLast)) {
        for (let at = 0; at < HEADER_BYTES; at += 1) places.push({ name, byte: position + at });
      }
      places.push({ name, byte: position + HEADER_BYTES + ((i * 97) % (length - HEADER_BYTES)) });
      position += length;
    }
    return places;
  });
}

/** @param mayEndEarly the damage may look like a torn end, and be cut off */
async function expectTruth(
  openLog: () => Promise<Log>,
  written: Written,
  mayEndEarly: boolean,
): Promise<'all' | 'prefix' | 'refused'> {
  let log: Log | undefined;
  try {
    log = await openLog();
    const batches = splitBatches(readWholeLog(log));
    const isWhole = batches.length === written.batches.length;
    if (!mayEndEarly) expect(batches).toHaveLength(written.batches.length);
    batches.forEach((batch, i) => {
      if (!batch.equals(written.batches[i] as Buffer)) throw new Error(`batch ${i} is wrong`);
    });
    const offset = log.logEndOffset - 1;
    expect((await log.readAsync(offset, 1, Infinity)).equals(log.read(offset, 1, Infinity))).toBe(
      true,
    );
    if (isWhole) expect(answersOf(log)).toEqual(written.answers);
    return isWhole ? 'all' : 'prefix';
  } catch (error) {
    // The version of a small file became another one.
    if (hasCode(error, 'UNKNOWN_FORMAT')) return 'refused';
    if (!hasCode(error, 'CORRUPT_LOG')) throw error;
    expect(error.details).toMatchObject({ path: expect.stringContaining(directory) as string });
    if (log) expect(log.failure).toMatchObject({ code: 'CORRUPT_LOG' });
    return 'refused';
  }
}

async function writeOnce(): Promise<{ clean: Written; killed: Written; recoveryPoint: number }> {
  const disk = new SimulatedDisk();
  const log = await open(disk);
  await write(log);
  const batches = splitBatches(readWholeLog(log)).map((batch) => Buffer.from(batch));
  const answers = answersOf(log);
  await log.flush();
  const killed = { files: filesOf(disk), batches, answers };
  await log.close();
  const clean = { files: filesOf(disk), batches, answers };
  return { clean, killed, recoveryPoint: 20 };
}

let clean: Written;
let killed: Written;
let recoveryPoint: number;

beforeAll(async () => {
  ({ clean, killed, recoveryPoint } = await writeOnce());
  expect([...clean.files.keys()].filter((name) => name.endsWith('.log')).length).toBeGreaterThan(3);
});

async function tally(
  places: readonly Place[],
  run: (place: Place) => Promise<string>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const place of places) {
    const outcome = await run(place).catch((error: unknown) => {
      throw new Error(`${place.name}, byte ${place.byte}`, { cause: error });
    });
    counts[outcome] = (counts[outcome] ?? 0) + 1;
  }
  return counts;
}

test('after a clean start: all of the truth, or CORRUPT_LOG when it is read', async () => {
  const places = placesIn(clean.files);
  const counts = await tally(places, (place) =>
    expectTruth(() => open(diskWith(clean.files, place)), clean, false),
  );
  const inLogs = places.filter(({ name }) => name.endsWith('.log')).length;
  // What lies beside the batches is made anew from them.
  expect(counts).toEqual({ refused: inLogs, all: places.length - inLogs });
}, 60_000);

test('after kill -9: all of the truth, or CORRUPT_LOG', async () => {
  const places = placesIn(killed.files);
  const options = { recover: true, recoveryPoint, unsyncedMayBeLost: false };
  const counts = await tally(places, (place) =>
    expectTruth(() => open(diskWith(killed.files, place), options), killed, false),
  );
  expect(counts.refused).toBeGreaterThan(0);
}, 60_000);

test('after a power failure: nothing below the recovery point is cut, and nothing wrong is kept', async () => {
  const places = placesIn(killed.files);
  const counts = await tally(places, (place) =>
    expectTruth(
      async () => {
        const log = await open(diskWith(killed.files, place), { recover: true, recoveryPoint });
        expect(log.logEndOffset).toBeGreaterThanOrEqual(recoveryPoint);
        return log;
      },
      killed,
      true,
    ),
  );
  expect(counts.prefix).toBeGreaterThan(0);
}, 60_000);

test('under an open log: found by the next read, whichever way, and no byte of it is given out', async () => {
  const places = placesIn(clean.files);
  const disk = diskWith(clean.files);
  const counts = await tally(places, async (place) => {
    const log = await open(disk);
    flip(disk, place);
    const outcome = await expectTruth(() => Promise.resolve(log), clean, false);
    flip(disk, place);
    // Not closed: what was damaged and is sound again must not be written over.
    return outcome;
  });
  const inLogs = places.filter(({ name }) => name.endsWith('.log')).length;
  expect(counts.refused).toBe(inLogs);
}, 60_000);

test('an asynchronous read finds it as well, and so do truncation and the search for a time', async () => {
  const [name = ''] = [...clean.files.keys()].filter((one) => one.endsWith('.log'));
  const uses: ((log: Log) => unknown)[] = [
    (log) => log.readAsync(0, 1, Infinity),
    (log) => log.truncateTo(1),
    (log) => log.offsetForTimestamp(1000, Infinity),
    (log) => log.maxTimestamp(5),
  ];
  for (const use of uses) {
    for (const byte of [3, 30, 200]) {
      const log = await open(diskWith(clean.files, { name, byte }));
      await expect((async () => use(log))()).rejects.toMatchObject({ code: 'CORRUPT_LOG' });
      expect(log.failure).toMatchObject({ code: 'CORRUPT_LOG' });
      // From now on it says so, whatever is asked of it.
      expect(() => log.read(40, 1, Infinity)).toThrow('offline on this broker');
    }
  }
});

test('the error names the file, the position and the offset', async () => {
  const [first = ''] = [...clean.files.keys()].filter((one) => one.endsWith('.log'));
  const position = (clean.batches[0] as Buffer).length;
  const log = await open(diskWith(clean.files, { name: first, byte: position + 100 }));
  const details = { path: `${directory}/${first}`, position, offset: 2, topic: 'orders' };
  expect(() => log.read(2, 1, Infinity)).toThrow(`${first}, position ${position}`);
  expect(log.failure).toMatchObject({ code: 'CORRUPT_LOG', details });
});
