/** What every Disk promises, run on the real one and on the simulated one. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SimulatedDisk } from '@tributary/testkit';
import type { Disk } from '../disk';
import { NodeDisk } from './node-disk';

const temporary = mkdtempSync(join(tmpdir(), 'tributary-disk-'));
afterAll(() => rmSync(temporary, { recursive: true, force: true }));

const kinds: [string, () => Disk][] = [
  ['NodeDisk', () => new NodeDisk()],
  ['SimulatedDisk', () => new SimulatedDisk()],
  ['a mounted SimulatedDisk', () => new SimulatedDisk().mount()],
];

describe.each(kinds)('%s', (kind, make) => {
  let disk: Disk;
  let root: string;
  let made = 0;

  beforeEach(() => {
    disk = make();
    root = `${temporary}/${kind.replaceAll(' ', '-')}-${(made += 1)}`;
    disk.makeDirectory(root);
  });

  const text = (path: string): string => {
    const file = disk.openFile(path);
    const bytes = file.read(0, file.size);
    file.close();
    return bytes.toString();
  };

  test('appends, reads, overwrites and truncates', async () => {
    const file = disk.openFile(`${root}/a`, { create: true });
    expect(file.size).toBe(0);
    file.append([Buffer.from('hello'), Buffer.alloc(0), Buffer.from(' world')]);
    expect(file.size).toBe(11);
    file.append([Buffer.from('!')]);
    file.append([]);
    expect(file.read(6, 100).toString()).toBe('world!');
    expect((await file.readAsync(0, 5)).toString()).toBe('hello');
    const into = Buffer.alloc(20, '-');
    expect((await file.readAsync(6, 100, into)).toString()).toBe('world!');
    expect(into.toString()).toBe('world!--------------');
    expect(file.read(12, 5)).toHaveLength(0);
    expect(file.read(100, 5)).toHaveLength(0);
    file.writeAt(0, Buffer.from('J'));
    expect(codeOf(() => file.writeAt(8, Buffer.from('12345')))).toBe('STORAGE_ERROR');
    file.truncate(4);
    file.append([Buffer.from('y')]);
    expect(file.read(0, 100).toString()).toBe('Jelly');
    await file.datasync();
    file.close();
    expect(text(`${root}/a`)).toBe('Jelly');
  });

  test('appends many buffers at once, in order', () => {
    const file = disk.openFile(`${root}/a`, { create: true });
    const parts = Array.from({ length: 3000 }, (_, i) => Buffer.from(`${i},`));
    file.append(parts);
    expect(file.read(0, file.size)).toEqual(Buffer.concat(parts));
    file.close();
  });

  test('opening: an existing file is kept, a missing one needs `create`', () => {
    expect(codeOf(() => disk.openFile(`${root}/a`))).toBe('STORAGE_ERROR');
    const first = disk.openFile(`${root}/a`, { create: true });
    first.append([Buffer.from('kept')]);
    const second = disk.openFile(`${root}/a`, { create: true, ownerOnly: true });
    expect(second.size).toBe(4);
    expect(disk.fileSize(`${root}/a`)).toBe(4);
    expect(codeOf(() => disk.fileSize(`${root}/none`))).toBe('STORAGE_ERROR');
    expect(codeOf(() => disk.openFile(`${root}/none/a`, { create: true }))).toBe('STORAGE_ERROR');
    first.close();
    second.close();
  });

  test('a closed file refuses everything; closing twice is harmless', async () => {
    const file = disk.openFile(`${root}/a`, { create: true });
    file.append([Buffer.from('12345')]);
    const reading = file.readAsync(0, 5);
    file.close();
    file.close();
    expect((await reading).toString()).toBe('12345');
    expect(codeOf(() => file.append([Buffer.from('x')]))).toBe('CLOSED');
    expect(codeOf(() => file.read(0, 1))).toBe('CLOSED');
    expect(codeOf(() => file.truncate(0))).toBe('CLOSED');
    await expect(file.datasync()).rejects.toMatchObject({ code: 'CLOSED' });
    await expect(file.readAsync(0, 1)).rejects.toMatchObject({ code: 'CLOSED' });
  });

  test('directories: list is sorted, removal is recursive, both forgive what is not there', async () => {
    disk.makeDirectory(`${root}/d/e/f`);
    disk.makeDirectory(`${root}/d/e`);
    for (const name of ['b', 'a', 'c'])
      disk.openFile(`${root}/d/${name}`, { create: true }).close();
    expect(disk.list(`${root}/d`)).toEqual(['a', 'b', 'c', 'e']);
    expect(disk.list(`${root}/none`)).toEqual([]);
    expect(disk.isDirectory(`${root}/d/e`)).toBe(true);
    expect(disk.isDirectory(`${root}/d/a`)).toBe(false);
    expect(disk.isDirectory(`${root}/d/none`)).toBe(false);
    expect(disk.exists(`${root}/d/a`)).toBe(true);
    disk.remove(`${root}/d`);
    disk.remove(`${root}/d`);
    expect(disk.exists(`${root}/d`)).toBe(false);
    await disk.syncDirectory(root);
    await expect(disk.syncDirectory(`${root}/none`)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
    });
  });

  test('removal through the thread pool takes all that is in it, and forgives what is not there', async () => {
    disk.makeDirectory(`${root}/d/e`);
    disk.openFile(`${root}/d/e/a`, { create: true }).close();
    disk.openFile(`${root}/f`, { create: true }).close();
    await Promise.all(['d', 'f', 'none'].map((name) => disk.removeAsync(`${root}/${name}`)));
    expect(disk.list(root)).toEqual([]);
  });

  test('rename replaces a file, moves a directory, and an open file goes along', () => {
    for (const name of ['new', 'old']) {
      const file = disk.openFile(`${root}/${name}`, { create: true });
      file.append([Buffer.from(name)]);
      file.close();
    }
    disk.rename(`${root}/new`, `${root}/old`);
    expect(disk.list(root)).toEqual(['old']);
    expect(text(`${root}/old`)).toBe('new');
    disk.makeDirectory(`${root}/d`);
    const open = disk.openFile(`${root}/d/a`, { create: true });
    disk.rename(`${root}/d`, `${root}/moved`);
    open.append([Buffer.from('still')]);
    open.close();
    expect(text(`${root}/moved/a`)).toBe('still');
    expect(codeOf(() => disk.rename(`${root}/none`, `${root}/x`))).toBe('STORAGE_ERROR');
  });

  test('a directory is locked once, and again after unlock', () => {
    const lock = disk.lockDirectory(root);
    expect(codeOf(() => disk.lockDirectory(root))).toBe('DATA_DIR_LOCKED');
    lock.unlock();
    lock.unlock();
    disk.lockDirectory(root).unlock();
    expect(disk.freeBytes(root)).toBeGreaterThan(0);
  });
});

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'no error';
  } catch (error) {
    return (error as { code: string }).code;
  }
}
