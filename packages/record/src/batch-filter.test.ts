import { BatchBuilder } from './batch-builder';
import { decodeBatch } from './batch-decoder';
import { emptiedBatch, filterBatch, visitKeys } from './batch-filter';
import { assignOffsetAndEpoch, checkCrc, readBatchHeader } from './batch-header';
import type { CodecName } from './codec/codec';

/** "key=value" or "key=" for a tombstone; one ms apart from 1000 on; base offset 40, epoch 3, producer 7. */
function batchOf(records: readonly string[], codec: CodecName = 'none'): Buffer {
  const builder = new BatchBuilder({ codec });
  records.forEach((text, i) => {
    const [key = '', value = ''] = text.split('=');
    builder.append({
      key: key === '' ? null : Buffer.from(key),
      value: value === '' ? null : Buffer.from(value),
      headers: [{ key: 'trace', value: Buffer.from(`${i}`) }],
      timestamp: 1000 + i,
    });
  });
  const batch = builder.build({ producerId: 7, producerEpoch: 2, baseSequence: 10 });
  assignOffsetAndEpoch(batch, 40, 3);
  return batch;
}

const shown = (batch: Buffer): string[] =>
  decodeBatch(batch).map(
    ({ offset, timestamp, key, value, headers }) =>
      `${offset} ${key?.toString()}=${value?.toString() ?? ''} at ${timestamp} ${headers[0]?.value?.toString()}`,
  );

const keepOnly = (...offsets: number[]) => ({
  keep: ({ offset }: { offset: number }) => offsets.includes(offset),
});

test('a batch from which nothing is dropped is the very same bytes', () => {
  const batch = batchOf(['a=1', 'b=2'], 'gzip');
  const filtered = filterBatch(batch, { keep: () => true, deleteHorizon: 5000 });
  expect(filtered).toEqual({ batch, keptRecords: 2, droppedRecords: 0, isStamped: false });
  expect(filtered.batch).toBe(batch);
});

test.each<CodecName>(['none', 'gzip'])('what is kept keeps its offset, also with %s', (codec) => {
  const batch = batchOf(['a=1', 'b=2', 'a=3', 'c=4'], codec);
  const { batch: left } = filterBatch(batch, keepOnly(41, 42));
  expect(shown(left!)).toEqual(['41 b=2 at 1001 1', '42 a=3 at 1002 2']);
  expect(checkCrc(left!)).toBe(true);
  expect(readBatchHeader(left!)).toMatchObject({
    baseOffset: 40,
    lastOffset: 43,
    lastOffsetDelta: 3,
    leaderEpoch: 3,
    codec,
    baseTimestamp: 1000,
    maxTimestamp: 1002,
    producerId: 7,
    producerEpoch: 2,
    baseSequence: 10,
    recordsCount: 2,
    timestampType: 'CreateTime',
    hasDeleteHorizon: false,
  });
});

test('a kept tombstone stamps the horizon, and every record keeps its timestamp', () => {
  const horizon = 1_704_067_200_000;
  const { batch: left, isStamped } = filterBatch(batchOf(['a=1', 'b=', 'c=3'], 'gzip'), {
    ...keepOnly(41, 42),
    deleteHorizon: horizon,
  });
  expect(isStamped).toBe(true);
  expect(shown(left!)).toEqual(['41 b= at 1001 1', '42 c=3 at 1002 2']);
  expect(readBatchHeader(left!)).toMatchObject({
    hasDeleteHorizon: true,
    baseTimestamp: horizon,
    maxTimestamp: 1002,
    recordsCount: 2,
  });

  const again = filterBatch(left!, { keep: () => true, deleteHorizon: horizon + 5 });
  expect(readBatchHeader(again.batch!).baseTimestamp).toBe(horizon + 5);
  expect(shown(again.batch!)).toEqual(shown(left!));

  const later = filterBatch(left!, { keep: ({ isTombstone }) => !isTombstone });
  expect(shown(later.batch!)).toEqual(['42 c=3 at 1002 2']);
});

test('a batch with nothing left can be emptied: offsets, epoch and sequence stay known', () => {
  const batch = batchOf(['a=1', 'b=2', 'c=3'], 'gzip');
  expect(filterBatch(batch, keepOnly())).toMatchObject({ batch: undefined, droppedRecords: 3 });
  const empty = emptiedBatch(batch);
  expect(empty).toHaveLength(61);
  expect(checkCrc(empty)).toBe(true);
  expect(decodeBatch(empty)).toEqual([]);
  expect(readBatchHeader(empty)).toMatchObject({
    baseOffset: 40,
    lastOffset: 42,
    leaderEpoch: 3,
    codec: 'none',
    maxTimestamp: 1002,
    producerId: 7,
    baseSequence: 10,
    recordsCount: 0,
  });
  expect(filterBatch(empty, { keep: () => false })).toMatchObject({
    batch: empty,
    keptRecords: 0,
    droppedRecords: 0,
  });
});

test('keys are visited in order until it is enough', () => {
  const seen: string[] = [];
  visitKeys(batchOf(['a=1', '=2', 'c=', 'd=4'], 'gzip'), ({ offset, key, isTombstone }) => {
    seen.push(`${offset} ${key?.toString()} ${isTombstone}`);
    return offset < 42;
  });
  expect(seen).toEqual(['40 a false', '41 undefined false', '42 c true']);
});

test('what would inflate beyond the limit is refused', () => {
  const batch = batchOf([`a=${'x'.repeat(10_000)}`], 'gzip');
  expect(() => filterBatch(batch, { keep: () => true, maxInflatedBytes: 5000 })).toThrow('5000');
});
