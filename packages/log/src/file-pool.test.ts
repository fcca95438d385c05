/** A bounded number of open files, whatever is done with how many. */
import { settle, SimulatedDisk } from '@tributary/testkit';
import { FilePool, type PooledFile } from './file-pool';

let disk: SimulatedDisk;
let pool: FilePool;

beforeEach(() => {
  disk = new SimulatedDisk();
  disk.makeDirectory('/d');
  pool = new FilePool(disk, 3);
});

const create = (name: string, text: string): PooledFile => {
  const file = pool.create(`/d/${name}`);
  file.append([Buffer.from(text)]);
  return file;
};

test('files beyond the limit are closed, those used last stay open, and all can be used', async () => {
  const files = ['a', 'b', 'c', 'd', 'e'].map((name) => create(name, name));
  await Promise.all(files.map((file) => file.datasync()));
  expect(pool.openFiles).toBeLessThanOrEqual(3);
  for (let round = 0; round < 3; round += 1) {
    for (const [i, file] of files.entries()) {
      expect(file.read(0, 1).toString()).toBe('abcde'[i]);
      expect(pool.openFiles).toBeLessThanOrEqual(3);
    }
  }
  const opened = disk.calls.open;
  for (const file of files.slice(-3)) file.read(0, 1);
  expect(disk.calls.open).toBe(opened);
});

test('the size is known without opening, also of a file that was there', () => {
  create('a', 'hello').close();
  const opened = disk.calls.open;
  const file = pool.file('/d/a');
  expect([file.size, disk.calls.open, pool.openFiles]).toEqual([5, opened, 0]);
  file.append([Buffer.from('!')]);
  expect(file.size).toBe(6);
  file.truncate(2);
  expect(file.size).toBe(2);
  expect(() => pool.file('/d/none')).toThrow('/d/none');
});

test('a file in the thread pool is not closed under it', async () => {
  const slow = create('slow', 'slow');
  await slow.datasync();
  const reading = [slow.readAsync(0, 4), slow.datasync()];
  for (const name of ['a', 'b', 'c', 'd']) create(name, name);
  expect((await reading[0])?.toString()).toBe('slow');
  await reading[1];
});

test('what was not synced is closed last', async () => {
  const dirty = create('dirty', 'x');
  const [a, b, c] = ['a', 'b', 'c'].map((name) => create(name, name)) as [
    PooledFile,
    PooledFile,
    PooledFile,
  ];
  await Promise.all([a, b, c].map((file) => file.datasync()));
  dirty.append([Buffer.from('y')]);
  for (const file of [a, b, c, a, b, c]) file.read(0, 1);
  const opened = disk.calls.open;
  dirty.append([Buffer.from('z')]);
  expect(disk.calls.open).toBe(opened);
});

test('a failed append tells the true size, and a failed open leaves nothing behind', () => {
  const file = create('a', '12');
  disk.failNext('append', { path: '/d/a', partialBytes: 1 });
  expect(() => file.append([Buffer.from('34')])).toThrow('injected failure');
  expect(file.size).toBe(3);
  const other = create('b', 'b');
  other.release();
  const { openFiles } = pool;
  disk.failNext('open', { path: '/d/b' });
  expect(() => other.read(0, 1)).toThrow('injected failure');
  expect(pool.openFiles).toBe(openFiles);
  expect(other.read(0, 1).toString()).toBe('b');
});

test('a closed file refuses everything; a renamed one goes on under its new name', async () => {
  const file = create('a', 'a');
  file.rename('/d/z');
  file.release();
  expect(file.read(0, 1).toString()).toBe('a');
  expect(file.path).toBe('/d/z');
  file.close();
  file.close();
  expect(pool.openFiles).toBe(0);
  expect(() => file.read(0, 1)).toThrow('is closed');
  await expect(file.datasync()).rejects.toMatchObject({ code: 'CLOSED' });
});

test('who waits for a turn and is closed meanwhile passes it on', async () => {
  const hold: (() => void)[] = [];
  disk.syncTime = () => new Promise((resolve) => void hold.push(resolve));
  const busy = ['a', 'b', 'c'].map((name) => create(name, name).datasync());
  const [closed, last] = [create('d', 'd'), create('e', 'e')];
  const waiting = [closed.datasync(), last.datasync()];
  await settle();
  expect(hold).toHaveLength(3);
  closed.close();
  disk.syncTime = () => Promise.resolve();
  // One turn becomes free, and no other one after it.
  hold.splice(0, 1).forEach((end) => end());
  await busy[0];
  await expect(waiting[0]).rejects.toMatchObject({ code: 'CLOSED' });
  await waiting[1];
  for (const end of hold) end();
  await Promise.all(busy);
});
