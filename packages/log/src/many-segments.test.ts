/** Thousands of segments: open files and the memory of indexes stay within their limits, and nothing is slower for it. */
import { defaultTopicConfig } from '@tributary/common';
import { readBatchHeader } from '@tributary/record';
import { makeBatch, openTestLog, SimulatedDisk } from '@tributary/testkit';
import { IndexMemory, type LoadedIndexes } from './index-memory';
import { LogResources } from './log-files';
import type { Log } from './log';
import { SIDE_SYNCS_MAX } from './sync-slots';

const config = { ...defaultTopicConfig, segmentBytes: 1024, maxMessageBytes: 10_000 };
const SEGMENTS = 3000;
const OPEN_FILES = 50;
const INDEX_BYTES = 5000;

test('3,000 segments of six logs take 50 files and 5,000 bytes of indexes', async () => {
  const disk = new SimulatedDisk();
  const limits = { openFilesMax: OPEN_FILES, indexBytesMax: INDEX_BYTES };
  const resources = new LogResources(disk, limits);
  const open = (name: string): Promise<Log> =>
    openTestLog(disk, `/data/${name}`, { config, resources });
  const check = (): void => {
    expect(resources.files.openFiles).toBeLessThanOrEqual(OPEN_FILES);
    expect(resources.indexes.bytes).toBeLessThanOrEqual(INDEX_BYTES);
  };
  const names = ['a-0', 'b-0', 'c-0', 'd-0', 'e-0', 'f-0'];
  for (const name of names) {
    const log = await open(name);
    for (let i = 0; i < SEGMENTS / names.length; i += 1) {
      log.appendAsLeader(makeBatch({ values: ['x'.repeat(600)] }), { leaderEpoch: 0 });
      if (i % 100 === 99) await log.flush();
    }
    await log.flush();
    check();
    await log.close();
  }
  expect([resources.files.openFiles, resources.indexes.bytes]).toEqual([0, 0]);
  const readsBefore = disk.calls.read ?? 0;
  const logs = await Promise.all(names.map(open));
  // A clean start reads the heads of the seals and the small files, and no batch.
  expect((disk.calls.read ?? 0) - readsBefore).toBeLessThan(SEGMENTS + 60);
  expect([resources.files.openFiles, resources.indexes.bytes]).toEqual([0, 0]);
  for (const log of logs) {
    for (let offset = 0; offset < log.logEndOffset; offset += 7) {
      expect(readBatchHeader(log.read(offset, 1, Infinity)).baseOffset).toBe(offset);
      if (offset % 100 === 0) check();
    }
    await Promise.all([10, 200, 400].map((offset) => log.readAsync(offset, 1, Infinity)));
    check();
    log.truncateTo(300);
    log.appendAsLeader(makeBatch({ values: ['y'] }), { leaderEpoch: 0 });
    check();
    await log.close();
  }
  expect([resources.files.openFiles, resources.indexes.bytes]).toEqual([0, 0]);
}, 60_000);

test('300 logs that roll, take an epoch and are flushed at the same time: no more files are open than these limits', async () => {
  const disk = new SimulatedDisk();
  const counted = countOpen(disk);
  const resources = new LogResources(disk, { openFilesMax: OPEN_FILES });
  const logs = await Promise.all(
    Array.from({ length: 300 }, (_, i) => openTestLog(disk, `/data/t-${i}`, { config, resources })),
  );
  disk.syncTime = () => new Promise((resolve) => setImmediate(resolve));
  for (let round = 0; round < 4; round += 1) {
    for (const log of logs) {
      log.appendAsLeader(makeBatch({ values: ['x'.repeat(900)] }), { leaderEpoch: round });
    }
    await Promise.all(logs.map((log) => log.assignEpoch(round + 1)));
  }
  await Promise.all(logs.map((log) => log.flush()));
  await Promise.all(logs.map((log) => log.close()));
  expect(counted.most).toBeGreaterThan(SIDE_SYNCS_MAX);
  // And those that are opened and closed within one call.
  expect(counted.most).toBeLessThanOrEqual(OPEN_FILES + SIDE_SYNCS_MAX + 4);
  expect(counted.now).toBe(0);
  for (const log of logs) expect(log.failure).toBeUndefined();
});

/** Descriptors as the process would have them. */
function countOpen(disk: SimulatedDisk): { now: number; most: number } {
  const counted = { now: 0, most: 0 };
  const openFile = disk.openFile.bind(disk);
  disk.openFile = (path, options) => {
    const file = openFile(path, options);
    const close = file.close.bind(file);
    let isOpen = true;
    file.close = () => {
      if (isOpen) counted.now -= 1;
      isOpen = false;
      close();
    };
    counted.now += 1;
    counted.most = Math.max(counted.most, counted.now);
    return file;
  };
  return counted;
}

test('above the limit the indexes used longest ago go, but not those that cannot, nor the one in use', () => {
  const memory = new IndexMemory(100);
  const loaded: string[] = [];
  const make = (name: string, bytes: number, canGo = true): LoadedIndexes => {
    loaded.push(name);
    const one = {
      indexBytesInMemory: bytes,
      unloadIndexes: () => {
        if (!canGo) return;
        loaded.splice(loaded.indexOf(name), 1);
        memory.dropped(one);
      },
    };
    memory.used(one);
    return one;
  };
  const a = make('a', 40);
  make('written to', 30, false);
  make('b', 20);
  memory.used(a);
  make('c', 30);
  expect([loaded, memory.bytes]).toEqual([['a', 'written to', 'c'], 100]);
  make('larger than all', 120);
  expect([loaded, memory.bytes]).toEqual([['written to', 'larger than all'], 150]);
});
