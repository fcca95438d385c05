/** What may happen to a log while it is compacted. */
import { gunzipSync, gzipSync } from 'node:zlib';
import { seededRandom } from '@tributary/common';
import {
  BATCH_HEADER_BYTES,
  crc32c,
  CRC_FROM,
  filterBatch,
  readBatchHeader,
  splitBatches,
} from '@tributary/record';
import { settle } from '@tributary/testkit';
import { KeyedLog, keyedBatch, LOG_DIRECTORY } from './keyed-log.fixture';

const asides = (keyed: KeyedLog): string[] =>
  keyed.disk.list(LOG_DIRECTORY).filter((name) => /\.(cleaned|swap)$/.test(name));

/** Two thirds of it are superseded. */
async function dirtyLog(config = {}, limits = {}): Promise<KeyedLog> {
  const keyed = await KeyedLog.open(config, limits);
  for (let i = 0; i < 60; i += 1) keyed.append(`k${i % 20}=${`${i}`.padEnd(60, '.')}`);
  keyed.seal();
  await keyed.log.flush();
  return keyed;
}

const LAST = Array.from({ length: 20 }, (_, i) => `${40 + i} k${i}=${`${40 + i}`.padEnd(60, '.')}`);

test('a full disk ends the pass, the log goes on, and a later pass does the rest', async () => {
  const keyed = await dirtyLog();
  const before = keyed.records();
  keyed.disk.setFull(keyed.disk.usedBytes + 500);
  expect(await keyed.compact()).toMatchObject({ status: 'failed', error: { code: 'DISK_FULL' } });
  expect(asides(keyed)).toEqual([]);
  expect(keyed.log.failure).toBeUndefined();
  expect(keyed.records()).toEqual(before);
  keyed.disk.setFull(undefined);
  keyed.append('k0=new');
  expect((await keyed.compact()).status).toBe('done');
  expect(keyed.records()).toEqual([...LAST, expect.stringContaining('k0=new')]);
});

test('a disk that gets full under the pass does not hurt either', async () => {
  const keyed = await dirtyLog();
  const before = keyed.records();
  keyed.disk.failNext('append', { code: 'DISK_FULL', path: '.cleaned', partialBytes: 100 });
  expect(await keyed.compact()).toMatchObject({ status: 'failed', error: { code: 'DISK_FULL' } });
  expect(asides(keyed)).toEqual([]);
  expect(keyed.records()).toEqual(before);
  expect((await keyed.compact()).status).toBe('done');
  expect(keyed.records()).toEqual(LAST);
});

test.each(['read', 'append', 'datasync', 'rename', 'syncDirectory'] as const)(
  'an I/O error in %s takes the log offline, as it would anywhere; the next start has all',
  async (operation) => {
    const keyed = await dirtyLog();
    keyed.disk.failNext(operation);
    const outcome = await keyed.compact();
    expect(outcome).toMatchObject({ status: 'failed', error: { code: 'STORAGE_ERROR' } });
    expect(keyed.log.failure).toBeDefined();
    expect(() => keyed.append('a=1')).toThrow('offline');
    await keyed.reopen({ recover: true });
    expect(asides(keyed)).toEqual([]);
    await keyed.compact();
    expect(keyed.records()).toEqual(LAST);
  },
);

test('a flipped bit is not carried into a segment that looks sound: the log is offline', async () => {
  const keyed = await dirtyLog();
  keyed.disk.flipBit(`${LOG_DIRECTORY}/${'0'.repeat(20)}.log`, 200);
  expect((await keyed.compact()).status).toBe('failed');
  expect(keyed.log.failure).toBeDefined();
  expect(asides(keyed)).toEqual([]);
});

test('a truncation below the part that is compacted aborts the pass, whatever it is doing', async () => {
  let aborted = 0;
  for (let ticks = 0; ; ticks += 9) {
    const keyed = await dirtyLog();
    const pass = keyed.compact();
    for (let i = 0; i < ticks; i += 1) await Promise.resolve();
    keyed.log.truncateTo(45);
    const left = keyed.records();
    expect(asides(keyed).filter((name) => name.endsWith('.swap'))).toEqual([]);
    const { status } = await pass;
    if (status === 'done') break;
    aborted += 1;
    expect(status).toBe('aborted');
    expect(keyed.log.failure).toBeUndefined();
    expect(asides(keyed)).toEqual([]);
    expect(keyed.records()).toEqual(left);
    expect(keyed.log.logEndOffset).toBe(45);
    await keyed.reopen({ recover: true });
    expect(keyed.records()).toEqual(left);
  }
  expect(aborted).toBeGreaterThan(10);
});

test('a restart elsewhere aborts the pass', async () => {
  const keyed = await dirtyLog();
  const pass = keyed.compact();
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  keyed.log.restartAt(500);
  expect((await pass).status).toBe('aborted');
  keyed.append('a=1');
  expect(keyed.records()).toEqual(['500 a=1']);
  await keyed.reopen({ recover: true });
  expect(keyed.records()).toEqual(['500 a=1']);
});

test('a log that is closed aborts the pass', async () => {
  const keyed = await dirtyLog();
  const pass = keyed.compact();
  for (let i = 0; i < 20; i += 1) await Promise.resolve();
  await keyed.log.close();
  expect((await pass).status).toBe('aborted');
  await keyed.reopen();
  await keyed.compact();
  expect(keyed.records()).toEqual(LAST);
});

test('retention may take segments from under a pass, which then does what is left', async () => {
  let met = 0;
  for (let ticks = 0; ; ticks += 11) {
    const keyed = await dirtyLog({ cleanupPolicy: 'compact,delete', retentionMs: -1 });
    const pass = keyed.compact();
    for (let i = 0; i < ticks; i += 1) await Promise.resolve();
    keyed.log.deleteRecordsBefore(25);
    const before = keyed.log.sizeBytes;
    while (keyed.log.upkeep.removeObsoleteSegment());
    if (keyed.log.sizeBytes < before) met += 1;
    const isOver = keyed.log.compaction.compactedTo > 0;
    expect((await pass).status).toBe('done');
    expect(keyed.log.failure).toBeUndefined();
    expect(asides(keyed)).toEqual([]);
    expect(keyed.records()).toEqual(LAST);
    if (isOver) break;
  }
  expect(met).toBeGreaterThan(10);
});

test('appends, and readers through the thread pool, go on between the steps of a pass', async () => {
  const keyed = await dirtyLog();
  const end = keyed.log.logEndOffset;
  const seen = new Map<number, number>();
  const read = async (): Promise<void> => {
    for (let offset = 0; offset < end;) {
      const batches = await keyed.log.readAsync(offset, 300, end);
      for (const batch of splitBatches(batches)) {
        const header = readBatchHeader(batch);
        seen.set(header.baseOffset, header.recordsCount);
        offset = header.lastOffset + 1;
      }
    }
  };
  let going = true;
  const readers = (async () => {
    while (going) await Promise.all([read(), read()]);
  })();
  let appended = 0;
  const writer = (async () => {
    for (; going; appended += 1) {
      keyed.append(`other=${appended}`);
      await Promise.resolve();
    }
  })();
  const outcome = await keyed.compact();
  going = false;
  await Promise.all([readers, writer]);
  expect(outcome.status).toBe('done');
  expect(appended).toBeGreaterThan(20);
  for (let i = 40; i < 60; i += 1) expect(seen.get(i)).toBe(1);
});

test('a pass rests after each slice, and keeps to its rate', async () => {
  const limits = { compactionSliceBytes: 1000, maxCompactionBytesPerSecond: 2000 };
  const keyed = await dirtyLog({}, limits);
  const bytes = keyed.log.sizeBytes;
  const began = keyed.clock.now();
  let done = false;
  const pass = keyed.compact().finally(() => (done = true));
  let rests = 0;
  while (!done) {
    keyed.append(`between=${rests}`);
    await keyed.clock.step();
    await settle();
    rests += 1;
  }
  const { status } = await pass;
  expect(status).toBe('done');
  // Read for the map, read again, and a part of it written.
  const seconds = (keyed.clock.now() - began) / 1000;
  expect(seconds).toBeGreaterThan((bytes * 2) / 2000);
  expect(seconds).toBeLessThan((bytes * 3) / 2000);
  expect(rests).toBeGreaterThan((bytes * 2) / 1000 - 3);
  expect(keyed.records().slice(0, 20)).toEqual(LAST);
});

test('a tombstone whose copy took long lives as long from when the copy took its place', async () => {
  const limits = { compactionSliceBytes: 100, maxCompactionBytesPerSecond: 100 };
  const keyed = await KeyedLog.open({ deleteRetentionMs: 5_000 }, limits);
  keyed.append('a=1');
  keyed.append('a=');
  keyed.seal();
  const { clock } = keyed;
  const pass = keyed.compact();
  expect(await clock.runUntil(() => !keyed.records().includes('0 a=1'), 600_000)).toBe(true);
  const stamped = keyed.headers().find(({ hasDeleteHorizon }) => hasDeleteHorizon);
  expect(stamped!.baseTimestamp).toBeGreaterThanOrEqual(clock.wallTime() + 5_000);
  await keyed.compactor.stop();
  await pass;
});

test('a batch that inflates beyond the limit fails the pass, not the log', async () => {
  const keyed = await KeyedLog.open({}, { maxInflatedBytes: 2_000 });
  keyed.appendBatch({ records: [`a=${'x'.repeat(3_000)}`], codec: 'gzip' });
  keyed.append('a=2');
  keyed.seal();
  const outcome = await keyed.compact();
  expect(outcome).toMatchObject({ status: 'failed', error: { code: 'BATCH_TOO_LARGE' } });
  expect(keyed.log.failure).toBeUndefined();
  expect(keyed.records()).toHaveLength(2);
});

test('a truncation at the very end of a pass, when all is in its place: nothing behind it counts as compacted', async () => {
  /** @param at which sync of the directory; 0: none. Resolves to how many there were. */
  const passCutAt = async (at: number): Promise<{ keyed: KeyedLog; syncs: number }> => {
    const keyed = await dirtyLog();
    let syncs = 0;
    const syncDirectory = keyed.disk.syncDirectory.bind(keyed.disk);
    keyed.disk.syncDirectory = async (path) => {
      await syncDirectory(path);
      syncs += 1;
      if (syncs === at) keyed.log.truncateTo(45);
    };
    expect((await keyed.compact()).status).toBe(at === 0 ? 'done' : 'aborted');
    return { keyed, syncs };
  };
  const { syncs } = await passCutAt(0);
  const { keyed } = await passCutAt(syncs);
  expect([keyed.log.logEndOffset, keyed.log.compaction.compactedTo]).toEqual([45, 0]);
});

test('a truncation into what was compacted is told to the checkpoint before anything is appended', async () => {
  const keyed = await dirtyLog();
  const told: number[] = [];
  let write = (): Promise<void> => Promise.resolve();
  const lowerCheckpoint = (): Promise<void> => {
    told.push(keyed.log.compaction.compactedTo);
    return write();
  };
  await keyed.log.close();
  await keyed.reopen({ lowerCheckpoint });
  await keyed.compact();
  expect(keyed.log.compaction.compactedTo).toBeGreaterThan(45);
  await keyed.log.prepareCut(45);
  let written = (): void => undefined;
  write = () => new Promise((resolve) => (written = resolve));
  keyed.log.truncateTo(45);
  await settle();
  expect([told.at(-1), keyed.log.cutsAreSettled]).toEqual([45, false]);
  written();
  await keyed.log.settleCuts();
});

test('records are dropped also where what is left takes as many bytes as before, compressed anew', async () => {
  const keyed = await KeyedLog.open();
  const random = seededRandom(1);
  const words = Array.from({ length: 60 }, () => `${Math.floor(random.next() * 1e6)} `);
  const text = (): string =>
    Array.from({ length: 200 }, () => words[Math.floor(random.next() * 60)]).join('');
  const records = Array.from({ length: 8 }, (_, i) => `k${i}=${i === 0 ? 'old' : text()}`);
  const original = keyedBatch({ records, codec: 'gzip' }, 1);
  const filtered = filterBatch(original, { keep: ({ offset }) => offset > 0 }).batch!;
  const inflated = gunzipSync(original.subarray(BATCH_HEADER_BYTES));
  const packed = gzipSync(inflated, { level: 9 });
  const room = filtered.length - BATCH_HEADER_BYTES - packed.length - 2;
  expect(room).toBeGreaterThan(0);
  // A gzip header may carry bytes that say nothing: RFC 1952, FEXTRA.
  const extra = Buffer.alloc(2 + room);
  extra.writeUInt16LE(room);
  packed.writeUInt8(0x04, 3);
  const payload = Buffer.concat([packed.subarray(0, 10), extra, packed.subarray(10)]);
  const batch = Buffer.concat([original.subarray(0, BATCH_HEADER_BYTES), payload]);
  batch.writeInt32BE(batch.length - 12, 8);
  batch.writeUInt32BE(crc32c(batch.subarray(CRC_FROM)), 17);
  expect(batch).toHaveLength(filtered.length);
  keyed.log.appendAsLeader(batch, { leaderEpoch: 0 });
  keyed.seal();
  keyed.append('k0=new');
  keyed.seal();
  await keyed.log.flush();
  await keyed.compact();
  expect(keyed.records().filter((record) => record.includes('k0='))).toEqual([
    expect.stringContaining('k0=new'),
  ]);
});
