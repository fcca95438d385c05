/** Small files that are always one whole version, on a disk that may lose its power at any time. */
import { seededRandom } from '@tributary/common';
import { SimulatedDisk } from '@tributary/testkit';
import { DurableTextFile, readTextFile, writePrivateFile } from './durable-text-file';

const path = '/data/checkpoint';
let disk: SimulatedDisk;

beforeEach(async () => {
  disk = new SimulatedDisk();
  disk.makeDirectory('/data');
  await disk.syncDirectory('/');
});

test('what was written is durable when the promise resolves', async () => {
  for (let seed = 0; seed < 50; seed += 1) {
    const text = `version ${seed}\n`.repeat(100);
    await new DurableTextFile(disk, path).write(text);
    disk.crash({ loseUnsynced: true, random: seededRandom(seed) });
    expect(readTextFile(disk, path)).toBe(text);
  }
});

test('a power failure in the middle leaves the old version or the new one, whole', async () => {
  const seen = new Set<string | undefined>();
  for (let seed = 0; seed < 60; seed += 1) {
    await new DurableTextFile(disk, path).write('old'.repeat(500));
    const writing = new DurableTextFile(disk, path).write('new'.repeat(400));
    for (let i = 0; i < seed % 6; i += 1) await Promise.resolve();
    disk.crash({ loseUnsynced: true, random: seededRandom(seed) });
    await writing.catch(() => undefined);
    const text = readTextFile(disk, path);
    expect(['old'.repeat(500), 'new'.repeat(400)]).toContain(text);
    seen.add(text);
  }
  expect(seen.size).toBe(2);
});

test('many writes at once are merged, and the newest one stands', async () => {
  const file = new DurableTextFile(disk, path);
  await Promise.all(Array.from({ length: 100 }, (_, i) => file.write(`${i}`)));
  expect(file.read()).toBe('99');
  expect(disk.calls.datasync).toBeLessThan(5);
});

test('a text written at once is not overtaken by an older one on its way', async () => {
  const file = new DurableTextFile(disk, path);
  const older = file.write('older');
  file.writeNow('newer');
  expect(file.read()).toBe('newer');
  await older;
  expect(file.read()).toBe('newer');
  disk.crash({ loseUnsynced: true, random: seededRandom(5) });
  expect(readTextFile(disk, path)).toBe('newer');
});

test('the same text is not written twice', async () => {
  const file = new DurableTextFile(disk, path);
  await file.write('text');
  await file.write('text');
  expect(disk.calls.datasync).toBe(1);
});

test('a failed write is told, and the next one can succeed', async () => {
  const file = new DurableTextFile(disk, path);
  disk.failNext('datasync');
  await expect(file.write('a')).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  expect(file.read()).toBeUndefined();
  await file.write('b');
  expect(file.read()).toBe('b');
});

test('private files are read back', async () => {
  expect(readTextFile(disk, path)).toBeUndefined();
  await writePrivateFile(disk, path, 'secret');
  expect(readTextFile(disk, path)).toBe('secret');
});
