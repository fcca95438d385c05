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
  await file.write(SECOND);
  disk.failNext(operation, { path, partialBytes: 3 });
  expect(() => file.writeNow(THIRD)).toThrow('injected failure');
  disk.crash({ loseUnsynced: false, random: seededRandom(1) });
  expect(read()).toBe(SECOND);
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

test('what the life before left in place is not written again, and is on the device all the same', async () => {
  new EpochFile(disk, DIRECTORY).writeNow(SECOND);
  disk.crash({ loseUnsynced: false, random: seededRandom(1) });
  disk.failNext('append', { path: 'checkpoint' });
  await new EpochFile(disk.mount(), DIRECTORY).write(SECOND);
  disk.crash({ loseUnsynced: true, random: seededRandom(1) });
  expect(read()).toBe(SECOND);
});

describe('entries that are only added', () => {
  const FOURTH = '0\n3\n0 0\n3 17\n5 40\n';
  const COMPANION = `${DIRECTORY}/${EPOCH_FILE}.crc`;

  test('cost one line; nothing is made and nothing renamed; the next life finds and goes on with them', async () => {
    const file = new EpochFile(disk, DIRECTORY);
    await file.write(FIRST);
    const before = disk.list(DIRECTORY);
    disk.failNext('rename', { path: 'checkpoint' });
    file.writeNow(SECOND);
    expect(read()).toBe(SECOND);
    new EpochFile(disk, DIRECTORY).writeNow(FOURTH);
    expect(read()).toBe(FOURTH);
    expect(disk.list(DIRECTORY)).toEqual(before);
  });

  test('are in the file itself once it is written anew: as Kafka would read it', async () => {
    const file = new EpochFile(disk, DIRECTORY);
    await file.write(FIRST);
    file.writeNow(SECOND);
    await file.write(SECOND);
    const main = disk.openFile(file.path);
    expect(main.read(0, main.size).toString()).toBe(SECOND);
    disk.crash({ loseUnsynced: true, random: seededRandom(1) });
    expect(read()).toBe(SECOND);
  });

  test('a changed byte of them is noticed, the end of their line too', async () => {
    const file = new EpochFile(disk, DIRECTORY);
    await file.write(FIRST);
    file.writeNow(SECOND);
    file.writeNow(FOURTH);
    for (let position = 0; position < disk.fileSize(COMPANION); position += 1) {
      for (let bit = 0; bit < 8; bit += 1) {
        disk.flipBit(COMPANION, position, bit);
        expect(read).toThrow('its checksum does not match');
        disk.flipBit(COMPANION, position, bit);
      }
    }
    expect(read()).toBe(FOURTH);
  });

  test('the power fails with them: what is there is a beginning of them, whatever of a line got to the device', async () => {
    const found = new Set<string | undefined>();
    for (let seed = 0; seed < 100; seed += 1) {
      const file = new EpochFile(disk.mount(), DIRECTORY);
      await file.write(FIRST);
      file.writeNow(SECOND);
      file.writeNow(FOURTH);
      disk.crash({ loseUnsynced: true, random: seededRandom(seed) });
      found.add(read());
    }
    for (const text of found) expect([FIRST, SECOND, FOURTH]).toContain(text);
    expect(found.size).toBeGreaterThan(1);
  });

  test('what was added and taken back does not come back, though the content is again the one it was added to', async () => {
    const file = new EpochFile(disk, DIRECTORY);
    await file.write(FIRST);
    file.writeNow(SECOND);
    file.writeNow(FIRST);
    expect(read()).toBe(FIRST);
    file.writeNow(THIRD);
    expect(read()).toBe(THIRD);
    await file.write(FIRST);
    disk.crash({ loseUnsynced: true, random: seededRandom(1) });
    expect(read()).toBe(FIRST);
  });

  test.each(['checkpoint.crc.now.tmp', 'checkpoint.now.tmp'])(
    'the process dies at the rename of %s, when they are replaced: they are still there',
    async (path) => {
      const file = new EpochFile(disk.mount(), DIRECTORY);
      await file.write(FIRST);
      file.writeNow(SECOND);
      disk.failNext('rename', { path });
      expect(() => file.writeNow(THIRD)).toThrow('injected failure');
      disk.crash({ loseUnsynced: false, random: seededRandom(1) });
      expect(read()).toBe(SECOND);
    },
  );

  test('half a line that a full disk left is no damage, and nothing is written behind it', async () => {
    const file = new EpochFile(disk, DIRECTORY);
    await file.write(FIRST);
    disk.failNext('append', { path: '.crc', code: 'DISK_FULL', partialBytes: 9 });
    expect(() => file.writeNow(SECOND)).toThrow('injected failure');
    expect(read()).toBe(FIRST);
    file.writeNow(FOURTH);
    expect(read()).toBe(FOURTH);
  });

  test('after very many of them the file is written anew', async () => {
    const file = new EpochFile(disk, DIRECTORY);
    await file.write(FIRST);
    const entries = ['0 0'];
    let longest = 0;
    for (let epoch = 1; epoch < 100; epoch += 1) {
      entries.push(`${epoch} ${epoch * 10}`);
      const text = `0\n${entries.length}\n${entries.join('\n')}\n`;
      file.writeNow(text);
      expect(read()).toBe(text);
      longest = Math.max(longest, disk.fileSize(COMPANION));
    }
    expect(longest).toBeLessThan(1_200);
  });
});
