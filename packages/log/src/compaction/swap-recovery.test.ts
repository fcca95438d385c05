/** A directory as a crash may have left it, file by file. */
import { SimulatedDisk } from '@tributary/testkit';
import { finishSwaps } from './swap-recovery';
import { keyedBatch } from './keyed-log.fixture';

const name = (base: number, kind = 'log'): string => `${String(base).padStart(20, '0')}.${kind}`;

/** A file whose batches have these base offsets, two offsets each. */
function write(disk: SimulatedDisk, file: string, ...baseOffsets: number[]): void {
  const handle = disk.openFile(`/log/${file}`, { create: true });
  for (const baseOffset of baseOffsets) {
    handle.append([keyedBatch({ records: ['a=1', 'b=1'], baseOffset }, 1000)]);
  }
  handle.close();
}

function recovered(prepare: (disk: SimulatedDisk) => void): { files: string[]; sizes: number[] } {
  const disk = new SimulatedDisk();
  disk.makeDirectory('/log');
  prepare(disk);
  finishSwaps(disk, '/log', disk.list('/log'));
  const files = disk.list('/log');
  // A second crash, right then, changes nothing.
  expect(finishSwaps(disk, '/log', files)).toBe(false);
  return {
    files: files.map((file) => `${Number(file.slice(0, 20))}${file.slice(20)}`),
    sizes: files.map((file) => disk.openFile(`/log/${file}`).size),
  };
}

test('nothing to do', () => {
  const { files } = recovered((disk) => write(disk, name(0), 0, 2));
  expect(files).toEqual(['0.log']);
});

test('what was not committed is removed, the originals stay', () => {
  const { files } = recovered((disk) => {
    write(disk, name(0), 0);
    write(disk, name(2), 2);
    write(disk, `${name(0)}.cleaned`, 2);
    write(disk, `${name(0, 'index')}.swap`);
    write(disk, `${name(0, 'timeindex')}.cleaned`);
  });
  expect(files).toEqual(['0.log', '2.log']);
});

test('what was committed takes the place of all originals that it covers, and of no other', () => {
  const { files, sizes } = recovered((disk) => {
    write(disk, name(0), 0);
    write(disk, name(0, 'index'));
    for (const base of [2, 4]) {
      write(disk, name(base), base);
      write(disk, name(base, 'index'));
      write(disk, name(base, 'seal'));
    }
    write(disk, name(6), 6);
    write(disk, `${name(0)}.swap`, 2, 4);
    write(disk, `${name(0, 'index')}.swap`);
    write(disk, `${name(0, 'seal')}.swap`, 0);
  });
  expect(files).toEqual(['0.index', '0.log', '0.seal', '6.log']);
  const batch = keyedBatch({ records: ['a=1', 'b=1'] }, 1000).length;
  expect(sizes).toEqual([0, 2 * batch, batch, batch]);
});

test('it is finished wherever the steps were cut off: some originals gone, some names changed', () => {
  const { files } = recovered((disk) => {
    write(disk, name(0), 0);
    write(disk, name(0, 'index'), 0);
    write(disk, name(4), 4);
    write(disk, `${name(0)}.swap`, 0, 4);
    write(disk, `${name(0, 'timeindex')}.swap`);
  });
  expect(files).toEqual(['0.index', '0.log', '0.timeindex']);
});

test('a .swap at or above a .cleaned belongs to a group that was not complete', () => {
  const { files } = recovered((disk) => {
    for (const base of [0, 2, 4]) write(disk, name(base), base);
    write(disk, `${name(0)}.swap`, 0);
    write(disk, `${name(2)}.cleaned`, 2);
    write(disk, `${name(4)}.swap`, 4);
  });
  expect(files).toEqual(['0.log', '2.log', '4.log']);
});
