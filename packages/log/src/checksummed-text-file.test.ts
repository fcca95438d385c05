/** A file with its checksum beside it: a changed byte is noticed, a crash at any moment is not mistaken for one. */
import { seededRandom } from '@tributary/common';
import { SimulatedDisk } from '@tributary/testkit';
import { ChecksummedTextFile } from './checksummed-text-file';

const path = '/data/checkpoint';
let disk: SimulatedDisk;

beforeEach(async () => {
  disk = new SimulatedDisk();
  disk.makeDirectory('/data');
  await disk.syncDirectory('/');
});

const read = (): string | undefined => new ChecksummedTextFile(disk, path).read();
const write = (text: string): Promise<void> => new ChecksummedTextFile(disk, path).write(text);

function sizeOf(file: string): number {
  return disk.openFile(file).size;
}

test('what was written is read; nothing at all is no error', async () => {
  expect(read()).toBeUndefined();
  await write('0\n1\norders 0 17\n');
  expect(read()).toBe('0\n1\norders 0 17\n');
});

test.each([path, `${path}.crc`])('every flipped bit of %s is noticed', async (file) => {
  await write('0\n1\norders 0 17\n');
  const size = sizeOf(file);
  for (let byte = 0; byte < size; byte += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      disk.flipBit(file, byte, bit);
      expect(read).toThrow('its checksum does not match');
      disk.flipBit(file, byte, bit);
    }
  }
  expect(read()).toBe('0\n1\norders 0 17\n');
});

test('a damaged one stays damaged until the next one is in place, and is well then', async () => {
  await write('old');
  disk.flipBit(path, 1);
  disk.failNext('rename', { path: `${path}.tmp` });
  const file = new ChecksummedTextFile(disk, path);
  await expect(file.write('new')).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
  expect(read).toThrow('its checksum does not match');
  await file.write('new');
  expect(read()).toBe('new');
});

test('a power failure at any moment leaves the old version or the new one, and neither looks damaged', async () => {
  const seen = new Set<string | undefined>();
  for (let seed = 0; seed < 200; seed += 1) {
    await write('old'.repeat(300));
    const writing = write('new'.repeat(400));
    for (let i = 0; i < seed % 40; i += 1) await Promise.resolve();
    disk.crash({ loseUnsynced: true, random: seededRandom(seed) });
    await writing.catch(() => undefined);
    seen.add(read());
  }
  expect([...seen].map((text) => text?.slice(0, 3)).sort()).toEqual(['new', 'old']);
});

test.each(['datasync', 'rename', 'syncDirectory'] as const)(
  'a failed %s at any of its steps: what stands there is one of the versions, and the next write works',
  async (operation) => {
    for (let step = 0; step < 4; step += 1) {
      const file = new ChecksummedTextFile(disk, path);
      await file.write('a');
      for (const text of ['b', 'c']) {
        disk.failNext(operation, { path: step % 2 === 0 ? '/data' : 'checkpoint.crc' });
        await file.write(text).catch(() => undefined);
        expect(['a', 'b', 'c']).toContain(read());
        disk.crash({ loseUnsynced: false, random: seededRandom(step) }); // disarms
        expect(['a', 'b', 'c']).toContain(read());
      }
      await write('d');
      expect(read()).toBe('d');
    }
  },
);

test('writes at once are merged, the newest stands', async () => {
  const file = new ChecksummedTextFile(disk, path);
  await Promise.all(Array.from({ length: 50 }, (_, i) => file.write(`${i}`)));
  expect(read()).toBe('49');
  expect(disk.calls.datasync).toBeLessThan(10);
});

test('a file without companion is believed: Kafka and earlier versions write none', async () => {
  await write('text');
  disk.remove(`${path}.crc`);
  expect(read()).toBe('text');
});
