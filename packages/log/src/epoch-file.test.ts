/** The file of the leader epochs: what a crash leaves of it, and that no byte of it changes unseen. */
import { seededRandom } from '@tributary/common';
import { SimulatedDisk } from '@tributary/testkit';
import { EPOCH_FILE, EpochFile } from './epoch-file';

const DIRECTORY = '/data/orders-0';
const FIRST = '0\n1\n0 0\n';
const SECOND = '0\n2\n0 0\n3 17\n';
const THIRD = '0\n2\n0 0\n4 12\n';

let disk: SimulatedDisk;

beforeEach(async () => {
  disk = new SimulatedDisk();
  disk.makeDirectory(DIRECTORY);
  await disk.syncDirectory('/');
  await disk.syncDirectory('/data');
});

const read = (): string | undefined => new EpochFile(disk.mount(), DIRECTORY).read();

test('a changed byte is noticed, in the file and in its companion', async () => {
  await new EpochFile(disk, DIRECTORY).write(SECOND);
  for (const name of [EPOCH_FILE, `${EPOCH_FILE}.crc`]) {
    const path = `${DIRECTORY}/${name}`;
    for (let position = 0; position < disk.fileSize(path); position += 1) {
      disk.flipBit(path, position);
      expect(read).toThrow('its checksum does not match');
      disk.flipBit(path, position);
    }
  }
  expect(read()).toBe(SECOND);
});

test('a file without companion is believed: an earlier version, or Kafka, wrote it', () => {
  const file = disk.openFile(`${DIRECTORY}/${EPOCH_FILE}`, { create: true });
  file.append([Buffer.from(FIRST)]);
  expect(read()).toBe(FIRST);
});

test('the power fails at any write: the text before it or the new one, and no damage', async () => {
  const found = new Set<string | undefined>();
  for (let write = 1; write <= 10; write += 1) {
    for (let seed = 0; seed < 20; seed += 1) {
      disk = new SimulatedDisk();
      disk.makeDirectory(DIRECTORY);
      const file = new EpochFile(disk, DIRECTORY);
      await file.write(FIRST);
      await disk.syncDirectory('/');
      await disk.syncDirectory('/data');
      disk.cutPowerAt(disk.writes + write, seededRandom(write * 100 + seed));
      const outcome = await file.write(SECOND).then(
        () => 'durable',
        () => 'unknown',
      );
      disk.crash({ loseUnsynced: true, random: seededRandom(seed) });
      const text = read();
      if (outcome === 'durable') expect(text).toBe(SECOND);
      found.add(text);
    }
  }
  expect(found).toEqual(new Set([FIRST, SECOND]));
});

test.each([
  ['append', 'checkpoint.crc.now.tmp'],
  ['append', 'checkpoint.now.tmp'],
  ['rename', 'checkpoint.crc.now.tmp'],
  ['rename', 'checkpoint.now.tmp'],
] as const)('the process dies at the %s of %s: it is as it was before', async (operation, path) => {
  const file = new EpochFile(disk.mount(), DIRECTORY);
  await file.write(FIRST);
  disk.failNext(operation, { path, partialBytes: 3 });
  expect(() => file.writeNow(SECOND)).toThrow('injected failure');
  disk.crash({ loseUnsynced: false, random: seededRandom(1) });
  expect(read()).toBe(FIRST);
});

test('a text that is written at once while another is on its way to the device wins', async () => {
  const file = new EpochFile(disk, DIRECTORY);
  const writing = file.write(FIRST);
  file.writeNow(SECOND);
  expect(read()).toBe(SECOND);
  await writing;
  disk.crash({ loseUnsynced: true, random: seededRandom(1) });
  expect(read()).toBe(SECOND);
});

test('many that were only written at once, then one that is durable: the last one is found', async () => {
  for (let seed = 0; seed < 20; seed += 1) {
    const file = new EpochFile(disk, DIRECTORY);
    for (const text of [FIRST, SECOND, THIRD, FIRST, THIRD]) file.writeNow(text);
    await file.write(SECOND);
    disk.crash({ loseUnsynced: true, random: seededRandom(seed) });
    expect(read()).toBe(SECOND);
  }
});
