/** Thousands of segments: open files and the memory of indexes stay within their limits, and nothing is slower for it. */
import { defaultTopicConfig } from '@tributary/common';
import { readBatchHeader } from '@tributary/record';
import { makeBatch, openTestLog, SimulatedDisk } from '@tributary/testkit';
import { IndexMemory, type LoadedIndexes } from './index-memory';
import { LogResources } from './log-files';
import type { Log } from './log';

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
