/** How the process before this one ended, over many kinds of ends. */
import { seededRandom } from '@tributary/common';
import { SimulatedDisk } from '@tributary/testkit';
import type { PreviousStop } from './log-store';
import { combineStops, RunningMarker } from './running-marker';

const directory = '/data';
const path = `${directory}/.tributary_running`;
let disk: SimulatedDisk;

beforeEach(async () => {
  disk = new SimulatedDisk();
  disk.makeDirectory(directory);
  await disk.syncDirectory('/');
});

interface Life {
  /** Registered in this epoch. */
  readonly epoch?: number;
  /** Ended in order, with this epoch in the marker. */
  readonly clean?: number;
  /** It had the directory open, not only read what lies there. */
  readonly opened?: boolean;
  readonly end: 'clean' | 'process' | 'machine';
}

/** Lives one after another; what each of them found, and what comes after the last. */
async function found(...lives: Life[]): Promise<PreviousStop[]> {
  const stops: PreviousStop[] = [];
  let clean: number | undefined;
  let isNew = true;
  for (const life of [...lives, undefined]) {
    const marker = RunningMarker.read(
      disk,
      directory,
      clean === undefined ? undefined : { brokerEpoch: clean },
      isNew,
    );
    stops.push(marker.previousStop);
    if (!life) break;
    isNew = false;
    clean = life.end === 'clean' ? (life.clean ?? life.epoch ?? -1) : undefined;
    if (life.opened ?? true) await marker.write();
    if (life.epoch !== undefined) await marker.write(life.epoch);
    disk.crash({ loseUnsynced: life.end === 'machine', random: seededRandom(1) });
  }
  return stops.slice(1);
}

test.each<[string, Life, PreviousStop]>([
  ['an orderly end', { epoch: 7, end: 'clean' }, { kind: 'clean', brokerEpoch: 7 }],
  ['kill -9', { epoch: 7, end: 'process' }, { kind: 'process', brokerEpoch: 7 }],
  ['a power failure', { epoch: 7, end: 'machine' }, { kind: 'machine', brokerEpoch: 7 }],
])('%s', async (_name, life, stop) => {
  expect(await found(life)).toEqual([stop]);
});

test('nothing ran here before', () => {
  expect(RunningMarker.read(disk, directory, undefined, true).previousStop).toEqual({
    kind: 'first',
  });
});

test('a power failure, then a process that died before it had registered: still a power failure', async () => {
  const stops = await found(
    { epoch: 7, end: 'machine' },
    { end: 'process' },
    { end: 'clean' },
    { epoch: 9, end: 'process' },
  );
  expect(stops).toEqual([
    { kind: 'machine', brokerEpoch: 7 },
    { kind: 'machine', brokerEpoch: 7 },
    { kind: 'machine', brokerEpoch: 7 },
    { kind: 'process', brokerEpoch: 9 },
  ]);
});

test('a power failure, then a process that died while it recovered the logs: still a power failure', async () => {
  const stops = await found(
    { epoch: 7, end: 'machine' },
    { opened: false, end: 'process' },
    { opened: false, end: 'process' },
  );
  expect(stops.map(({ kind }) => kind)).toEqual(['machine', 'machine', 'machine']);
});

test('a first life that never registered ends as what it was', async () => {
  expect(await found({ end: 'process' })).toEqual([{ kind: 'process' }]);
  expect(await found({ end: 'clean' }, { end: 'machine' })).toEqual([
    { kind: 'clean' },
    { kind: 'machine' },
  ]);
});

test('no marker in a directory that was used, or a damaged one: it may have been the machine', async () => {
  const read = (): string =>
    RunningMarker.read(disk, directory, undefined, false).previousStop.kind;
  expect(read()).toBe('machine');
  await RunningMarker.read(disk, directory, undefined, true).write(7);
  expect(read()).toBe('process');
  const { size } = disk.openFile(path);
  for (let byte = 0; byte < size; byte += 1) {
    for (let bit = 0; bit < 8; bit += 1) {
      disk.flipBit(path, byte, bit);
      expect(read()).toBe('machine');
      disk.flipBit(path, byte, bit);
    }
  }
});

test('where the boot is not known every crash counts as one of the machine', async () => {
  const nameless = Object.assign(new SimulatedDisk(), { bootId: () => undefined });
  nameless.makeDirectory(directory);
  await RunningMarker.read(nameless, directory, undefined, true).write(7);
  const { previousStop } = RunningMarker.read(nameless, directory, undefined, false);
  expect(previousStop).toEqual({ kind: 'machine', brokerEpoch: 7 });
});

test('of several directories the worst counts, and a new one among them says nothing', () => {
  expect(combineStops([{ kind: 'first' }, { kind: 'clean', brokerEpoch: 3 }])).toEqual({
    kind: 'clean',
    brokerEpoch: 3,
  });
  expect(combineStops([{ kind: 'clean', brokerEpoch: 3 }, { kind: 'machine' }])).toEqual({
    kind: 'machine',
    brokerEpoch: 3,
  });
  expect(combineStops([{ kind: 'first' }, { kind: 'first' }])).toEqual({ kind: 'first' });
});
