/** What only the real disk has: processes that died, modes, users without access. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import * as fs from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NodeDisk } from './node-disk';
import { diskError } from './node-disk-error';

const directory = fs.mkdtempSync(join(tmpdir(), 'tributary-node-disk-'));
afterAll(() => fs.rmSync(directory, { recursive: true, force: true }));
const lockFile = `${directory}/.lock`;
const disk = new NodeDisk();

afterEach(() => fs.rmSync(lockFile, { force: true }));

test('a lock names its owner', () => {
  const lock = disk.lockDirectory(directory);
  expect(JSON.parse(fs.readFileSync(lockFile, 'utf8'))).toMatchObject({ pid: process.pid });
  expect(() => disk.lockDirectory(directory)).toThrow(`in use by process ${process.pid}`);
  lock.unlock();
  expect(fs.existsSync(lockFile)).toBe(false);
  expect(fs.readdirSync(directory)).toEqual([]);
});

test.each<[string, () => Promise<string> | string]>([
  [
    'a process that is gone',
    async () => {
      const child = spawn(process.execPath, ['-e', '']);
      await once(child, 'exit');
      return JSON.stringify({ pid: child.pid, start: 'whenever' });
    },
  ],
  ['an earlier process with our pid', () => JSON.stringify({ pid: process.pid, start: 'before' })],
  ['nobody: the file is empty after a power failure', () => ''],
  ['nobody: the file is noise', () => '{"pid":"x"}'],
])('a lock of %s is taken over', async (_who, text) => {
  fs.writeFileSync(lockFile, await text());
  const lock = disk.lockDirectory(directory);
  expect(JSON.parse(fs.readFileSync(lockFile, 'utf8'))).toMatchObject({ pid: process.pid });
  lock.unlock();
  expect(fs.readdirSync(directory)).toEqual([]);
});

test('a lock of a process that lives is respected, and unlocking takes away only one’s own', () => {
  const mine = disk.lockDirectory(directory);
  fs.writeFileSync(lockFile, 'somebody else’s');
  mine.unlock();
  expect(fs.readFileSync(lockFile, 'utf8')).toBe('somebody else’s');
});

test('what cannot be looked at is an error, not absent', () => {
  const path = `${directory}/loop`;
  fs.symlinkSync(path, path);
  for (const look of [disk.exists, disk.isDirectory, disk.list.bind(disk)]) {
    expect(() => look(path)).toThrow('ELOOP');
  }
  fs.rmSync(path);
  fs.writeFileSync(path, 'a file');
  expect(disk.exists(`${path}/below`)).toBe(false);
  expect(disk.isDirectory(`${path}/below`)).toBe(false);
  expect(disk.list(`${path}/below`)).toEqual([]);
  disk.remove(path);
});

test('a private file is readable by its owner alone', () => {
  disk.openFile(`${directory}/ticket`, { create: true, ownerOnly: true }).close();
  expect(fs.statSync(`${directory}/ticket`).mode & 0o777).toBe(0o600);
  disk.remove(`${directory}/ticket`);
});

test.each([
  ['ENOSPC', 'DISK_FULL'],
  ['EDQUOT', 'DISK_FULL'],
  ['EACCES', 'DATA_DIR_NOT_WRITABLE'],
  ['EPERM', 'DATA_DIR_NOT_WRITABLE'],
  ['EROFS', 'DATA_DIR_NOT_WRITABLE'],
  ['EIO', 'STORAGE_ERROR'],
])('%s is %s and names the path', (errno, code) => {
  const error = Object.assign(new Error(errno), { code: errno });
  expect(diskError(error, 'append to', '/data/x')).toMatchObject({
    code,
    details: { path: '/data/x', errno },
  });
});
