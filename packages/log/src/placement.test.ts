/** The placement record: every byte counts; and which copy of a replica counts, case by case. */
import { partitionKey } from '@tributary/common';
import { planPlacement, type FoundDirectory } from './placement-plan';
import { formatPlacement, parsePlacement, type PlacementRecord } from './placement-record';

const ORDERS = 'ordersAAAAAAAAAAAAAAAA';
const replica = { topic: 'orders', topicId: ORDERS, partition: 0 };
const key = partitionKey(ORDERS, 0);

function record(directoryId: string | undefined, generation = 5): PlacementRecord {
  const placements = directoryId ? [[key, { ...replica, directoryId }] as const] : [];
  return { generation, paths: new Map([['A', '/a b']]), placements: new Map(placements) };
}

test('what was written is read, with spaces in paths', () => {
  const text = formatPlacement(record('A'));
  expect(parsePlacement(text, '/p')).toEqual(record('A'));
  expect(text).toMatch(
    /^placement 0\ngeneration 5\ndirectory A \/a b\nreplica A ordersA+ 0 orders\ncrc32c [0-9a-f]{8}\n$/,
  );
});

test('every flipped bit is noticed, and every end that is cut off', () => {
  const bytes = Buffer.from(formatPlacement(record('A')));
  for (let at = 0; at < bytes.length * 8; at += 1) {
    const flipped = Buffer.from(bytes);
    flipped[at >> 3]! ^= 1 << (at & 7);
    expect(() => parsePlacement(flipped.toString(), '/p')).toThrow('checksum');
  }
  for (let length = 0; length < bytes.length; length += 1) {
    expect(() => parsePlacement(bytes.subarray(0, length).toString(), '/p')).toThrow('checksum');
  }
});

/** Directory ids that hold the replica; a `-` behind: it missed the last changes of the record. */
function directories(...holders: string[]): FoundDirectory[] {
  return ['A', 'B', 'C'].map((id) => ({
    id,
    path: `/${id}`,
    generation: holders.includes(`${id}-`) || holders.includes(`-${id}`) ? 4 : 5,
    found: holders.some((holder) => holder.replace('-', '') === id) ? [replica] : [],
  }));
}

interface Verdict {
  readonly home?: string;
  readonly strays?: string[];
  readonly refused?: string[];
}

function verdict(found: FoundDirectory[], known: PlacementRecord | undefined): Verdict {
  const plan = planPlacement(found, known);
  const home = plan.placements.get(key)?.directoryId;
  return {
    ...(home ? { home } : {}),
    ...(plan.strays.size > 0 ? { strays: [...plan.strays.keys()] } : {}),
    ...(plan.refused.size > 0 ? { refused: [...plan.refused.keys()] } : {}),
  };
}

test.each<[string, string[], string | undefined, Verdict]>([
  ['where the record says', ['A'], 'A', { home: 'A' }],
  ['nowhere: it is lost, its place is kept', [], 'A', { home: 'A' }],
  ['made just before the process died', ['B'], undefined, { home: 'B' }],
  ['twice: the record decides', ['A', 'B'], 'A', { home: 'A', strays: ['B'] }],
  ['moved by hand to another disk', ['B'], 'A', { home: 'B' }],
  ['moved by hand from a disk that is gone', ['B'], 'Z', { home: 'B' }],
  ['in a directory that comes back, given up meanwhile', ['B-'], undefined, { strays: ['B'] }],
  ['in a directory that comes back, and made elsewhere meanwhile', ['A', 'B-'], 'A', { home: 'A', strays: ['B'] }],
  ['in a directory that comes back, lost elsewhere', ['B-'], 'A', { home: 'A', strays: ['B'] }],
  ['in a directory that comes back, where it belongs', ['B-'], 'B', { home: 'B' }],
  ['twice, and the record does not know it', ['A', 'B'], undefined, { refused: ['A', 'B'] }],
  ['twice, in other places than the record says', ['B', 'C'], 'A', { refused: ['B', 'C'] }],
  ['three times, one of them old', ['A', 'B', 'C-'], undefined, { strays: ['C'], refused: ['A', 'B'] }],
])('a replica %s', (_case, holders, placed, expected) => {
  expect(verdict(directories(...holders), record(placed))).toEqual(expected);
}); // prettier-ignore

test('the first start with several directories takes in what is there, but nothing twice', () => {
  expect(verdict(directories('B'), undefined)).toEqual({ home: 'B' });
  expect(verdict(directories('A', 'B'), undefined)).toEqual({ refused: ['A', 'B'] });
});
