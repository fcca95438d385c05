import {
  assignOffsetAndEpoch,
  BatchBuilder,
  decodeBatch,
  readBatchHeader,
} from '@tributary/record';
import { retainBatch, type PassBounds } from './batch-retention';
import { KeyMap } from './key-map';

/** "key=value", "key=" for a tombstone, "=value" without a key. */
function batchOf(baseOffset: number, ...records: string[]): Buffer {
  const builder = new BatchBuilder({ codec: 'none' });
  records.forEach((text, i) => {
    const [key = '', value = ''] = text.split('=');
    builder.append({
      key: key === '' ? null : Buffer.from(key),
      value: value === '' ? null : Buffer.from(value),
      headers: [],
      timestamp: 1000 + i,
    });
  });
  const batch = builder.build();
  assignOffsetAndEpoch(batch, baseOffset, 0);
  return batch;
}

function pass(
  batch: Buffer,
  last: Record<string, number>,
  options: Partial<PassBounds> & { needed?: boolean } = {},
) {
  const keyMap = new KeyMap(10_000, 100);
  for (const [key, offset] of Object.entries(last)) keyMap.put(Buffer.from(key), offset);
  const bounds = {
    firstDirtyOffset: 0,
    mapEnd: 100,
    now: 50_000,
    deleteHorizon: 60_000,
    ...options,
  };
  const isNeeded = () => options.needed ?? false;
  return retainBatch(batch, readBatchHeader(batch), { keyMap, bounds, isNeeded });
}

const shown = (batch: Buffer | undefined): string[] | undefined =>
  batch &&
  decodeBatch(batch).map(
    ({ offset, key, value }) => `${offset} ${key?.toString()}=${value?.toString() ?? ''}`,
  );

test('the last record of a key stays, earlier ones and those without a key go', () => {
  const { batch, droppedRecords } = pass(batchOf(10, 'a=1', 'a=2', 'b=3', '=4', 'c=5'), {
    a: 11,
    b: 40,
  });
  expect(shown(batch)).toEqual(['11 a=2', '14 c=5']);
  expect(droppedRecords).toBe(3);
});

test('from the end of the map on nothing is touched', () => {
  const batch = batchOf(98, 'a=1', 'b=2', 'a=3', '=4');
  expect(shown(pass(batch, { a: 98, b: 99 }).batch)).toEqual([
    '98 a=1',
    '99 b=2',
    '100 a=3',
    '101 undefined=4',
  ]);
  const behind = batchOf(100, 'a=', 'a=');
  expect(pass(behind, { a: 99 }).batch).toBe(behind);
});

test('a tombstone is stamped when it is passed, stays while readers may need it, and goes', () => {
  const first = pass(batchOf(10, 'a=1', 'a='), { a: 11 });
  expect(first.isStamped).toBe(true);
  expect(shown(first.batch)).toEqual(['11 a=']);
  expect(readBatchHeader(first.batch!)).toMatchObject({
    hasDeleteHorizon: true,
    baseTimestamp: 60_000,
  });

  const clean = { firstDirtyOffset: 50, needed: false };
  expect(pass(first.batch!, {}, { ...clean, now: 60_000 }).batch).toBe(first.batch);
  expect(pass(first.batch!, {}, { ...clean, now: 60_001 }).batch).toBeUndefined();
});

test('a horizon that a leader had set does not count before this replica has passed the tombstone', () => {
  const fromLeader = pass(batchOf(10, 'a='), {}).batch!;
  const { batch, isStamped } = pass(fromLeader, { a: 10 }, { now: 90_000, deleteHorizon: 99_000 });
  expect(isStamped).toBe(true);
  expect(readBatchHeader(batch!).baseTimestamp).toBe(99_000);
});

test('a batch that reaches beyond the map is not stamped: what its later tombstones delete is still there', () => {
  const batch = batchOf(99, 'a=', 'b=');
  expect(pass(batch, { a: 99 }).batch).toBe(batch);
});

test('a tombstone in the clean part without a horizon stays: nobody knows whether it was ever passed', () => {
  const batch = batchOf(10, 'a=');
  expect(pass(batch, {}, { firstDirtyOffset: 50, now: 99_999 }).batch).toBe(batch);
});

test('a batch with nothing left stays, emptied, only if it is needed', () => {
  const batch = batchOf(10, 'a=1', 'a=2');
  expect(pass(batch, { a: 20 }).batch).toBeUndefined();
  const empty = pass(batch, { a: 20 }, { needed: true }).batch!;
  expect(readBatchHeader(empty)).toMatchObject({ baseOffset: 10, lastOffset: 11, recordsCount: 0 });
  expect(pass(empty, {}, { needed: true }).batch).toBe(empty);
  expect(pass(empty, {}).batch).toBeUndefined();
});
