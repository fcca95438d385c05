/** How a simulated disk fails. That it works is in the Disk contract, beside the port. */
import { seededRandom } from '@tributary/common';
import { SimulatedDisk } from './simulated-disk';

let disk: SimulatedDisk;

beforeEach(async () => {
  disk = new SimulatedDisk();
  disk.makeDirectory('/data');
  await disk.syncDirectory('/');
});

const powerFails = (seed: number): void =>
  disk.crash({ loseUnsynced: true, random: seededRandom(seed) });

function write(path: string, text: string): void {
  const file = disk.openFile(path, { create: true });
  file.append([Buffer.from(text)]);
}

function text(path: string): string {
  const file = disk.openFile(path);
  return file.read(0, file.size).toString();
}

test('when only the process dies, nothing is lost, but its handles and locks are', () => {
  const file = disk.openFile('/data/a', { create: true });
  file.append([Buffer.from('x')]);
  disk.lockDirectory('/data');
  const mounted = disk.mount();
  disk.crash({ loseUnsynced: false, random: seededRandom(1) });
  expect(text('/data/a')).toBe('x');
  expect(() => file.append([Buffer.from('y')])).toThrow('is dead');
  expect(() => mounted.openFile('/data/a')).toThrow('is dead');
  expect(() => disk.lockDirectory('/data')).not.toThrow();
});

test('when the power fails, what was synced stays, and the rest is any mixture', async () => {
  const ends = new Set<number>();
  for (let seed = 0; seed < 50; seed += 1) {
    disk.remove('/data/a');
    const file = disk.openFile('/data/a', { create: true });
    file.append([Buffer.alloc(1000, 's')]);
    await file.datasync();
    await disk.syncDirectory('/data');
    file.append([Buffer.alloc(1000, 'u')]);
    powerFails(seed);
    const left = text('/data/a');
    expect(left.slice(0, 1000)).toBe('s'.repeat(1000));
    expect(left.slice(1000)).toMatch(/^[u\0]*$/);
    ends.add(left.length);
  }
  expect(ends.size).toBeGreaterThan(10);
});

test('a bit that flips is no write: what was synced survives the power, with that bit', async () => {
  for (let seed = 0; seed < 20; seed += 1) {
    disk.remove('/data/a');
    const file = disk.openFile('/data/a', { create: true });
    file.append([Buffer.alloc(100, 'a')]);
    await file.datasync();
    await disk.syncDirectory('/data');
    disk.flipBit('/data/a', 10, 1);
    expect(disk.rotten('/data')).toEqual(['a']);
    expect(disk.synced('/data/a').toString()).toBe(text('/data/a'));
    expect(disk.written('/data/a').toString()).toBe('a'.repeat(100));
    powerFails(seed);
    expect(text('/data/a')).toBe(`${'a'.repeat(10)}c${'a'.repeat(89)}`);
    expect(disk.rotten('/data')).toEqual(['a']);
  }
});

test('a flipped bit is gone once it is written over, cut off, or its file replaced', () => {
  const flipped = (): void => {
    write('/data/a', 'aaaa');
    disk.flipBit('/data/a', 2);
  };
  flipped();
  disk.openFile('/data/a').writeAt(1, Buffer.from('bb'));
  expect(disk.rotten('/data')).toEqual([]);
  flipped();
  disk.openFile('/data/a').truncate(2);
  expect(disk.rotten('/data')).toEqual([]);
  flipped();
  write('/data/b', 'b');
  disk.rename('/data/b', '/data/a');
  expect(disk.rotten('/data')).toEqual([]);
});

test('an entry that was not synced may vanish; a rename happens wholly or not at all', async () => {
  const seen = new Set<string>();
  for (let seed = 0; seed < 50; seed += 1) {
    disk.remove('/data');
    disk.makeDirectory('/data');
    write('/data/old', 'old');
    await disk.openFile('/data/old').datasync();
    await disk.syncDirectory('/');
    await disk.syncDirectory('/data');
    write('/data/aside', 'new');
    await disk.openFile('/data/aside').datasync();
    disk.rename('/data/aside', '/data/old');
    powerFails(seed);
    seen.add(`${disk.list('/data').join()} ${text('/data/old')}`);
  }
  expect([...seen].sort()).toEqual(['aside,old old', 'old new', 'old old']);
});

test('a sync that was under way when the power failed promises nothing', async () => {
  const file = disk.openFile('/data/a', { create: true });
  const syncing = file.datasync();
  powerFails(1);
  await expect(syncing).rejects.toMatchObject({ code: 'STORAGE_ERROR' });
});

test('a full disk takes what fits, and the rest when there is room', () => {
  const file = disk.openFile('/data/a', { create: true });
  disk.setFull(4);
  expect(() => file.append([Buffer.from('123456')])).toThrow('the disk is full');
  expect([file.size, disk.freeBytes('/data')]).toEqual([4, 0]);
  disk.setFull(undefined);
  file.append([Buffer.from('56')]);
  expect(text('/data/a')).toBe('123456');
});

test('armed failures strike once, at the operation and path that was named', () => {
  const file = disk.openFile('/data/a', { create: true });
  disk.failNext('append', { path: '/b' });
  file.append([Buffer.from('1')]);
  disk.failNext('append', { path: '/a', partialBytes: 2, code: 'DISK_FULL' });
  expect(() => file.append([Buffer.from('234')])).toThrow('injected failure');
  expect(file.size).toBe(3);
  file.append([Buffer.from('4')]);
  expect(text('/data/a')).toBe('1234');
});

test('one seed gives one outcome', () => {
  const outcome = (): string => {
    disk = new SimulatedDisk();
    disk.makeDirectory('/data');
    for (const name of ['a', 'b', 'c']) write(`/data/${name}`, name.repeat(2000));
    powerFails(9);
    return disk
      .list('/data')
      .map((name) => text(`/data/${name}`))
      .join('|');
  };
  expect(outcome()).toBe(outcome());
});

describe('a datasync that takes time makes durable what was written before it began, and only that', () => {
  /** "one " is written and synced, "two " too while that is under way, then "three"; what the power leaves of it. */
  async function left(ended: 'first' | 'second', seed: number): Promise<string> {
    const file = disk.openFile(`/data/${ended}-${seed}`, { create: true });
    await disk.syncDirectory('/data');
    const ends: (() => void)[] = [];
    disk.syncTime = () => new Promise((resolve) => void ends.push(resolve));
    file.append([Buffer.from('one ')]);
    const first = file.datasync();
    file.append([Buffer.from('two ')]);
    const second = file.datasync();
    file.append([Buffer.from('three')]);
    if (ended === 'second') {
      ends[1]?.();
      await second;
    }
    ends[0]?.();
    await first;
    powerFails(seed);
    const found = disk.openFile(file.path);
    return found.read(0, found.size).toString();
  }

  test.each([
    ['first', 'one '],
    ['second', 'one two '],
  ] as const)('the %s of two', async (ended, synced) => {
    const found: string[] = [];
    for (let seed = 0; seed < 50; seed += 1) found.push(await left(ended, seed));
    expect(found.filter((text) => !text.startsWith(synced))).toEqual([]);
    expect(found).toContain(synced);
    expect(found).toContain('one two three');
  });
});
