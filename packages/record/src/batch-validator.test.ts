/** Headers that lie, one lie at a time, each with a CRC that matches it. */
import { gzipSync } from 'node:zlib';
import { BatchBuilder } from './batch-builder';
import { decodeBatch } from './batch-decoder';
import { FIELD, sealCrc } from './batch-header';
import { validateBatch } from './batch-validator';
import { writeInt64 } from './int64';
import type { CodecName } from './codec/codec';
import { CodecSet } from './codec/codec-set';
import { noneCodec } from './codec/none';

const now = 1_700_000_000_000;
const limits = { maxBatchBytes: 10_000, maxRecordsPerBatch: 10, now, maxFutureMs: 1000 };

function batchOf(count: number, codec: CodecName = 'none', value = Buffer.from('value')): Buffer {
  const builder = new BatchBuilder({ codec });
  for (let i = 0; i < count; i += 1) {
    builder.append({ key: null, value, headers: [], timestamp: now + i });
  }
  return builder.build();
}

function lie(change: (batch: Buffer) => void, codec: CodecName = 'none'): Buffer {
  const batch = batchOf(3, codec);
  change(batch);
  sealCrc(batch);
  return batch;
}

function refusal(batch: Buffer, overrides: object = {}): string {
  try {
    validateBatch(batch, { ...limits, ...overrides });
    return 'accepted';
  } catch (error) {
    const { code, outcome } = error as { code: string; outcome: string };
    expect(outcome).toBe('not written');
    return code;
  }
}

test.each<[string, string, (batch: Buffer) => void]>([
  ['nothing', 'accepted', () => undefined],
  ['magic', 'INVALID_BATCH', (b) => b.writeInt8(1, FIELD.magic)],
  ['more records than there are', 'INVALID_BATCH', (b) => count(b, 4)],
  ['fewer records than there are', 'INVALID_BATCH', (b) => count(b, 2)],
  ['no record', 'INVALID_BATCH', (b) => count(b, 0)],
  ['a negative count', 'INVALID_BATCH', (b) => count(b, -1)],
  ['a huge count', 'BATCH_TOO_LARGE', (b) => count(b, 2 ** 31 - 1)],
  ['a gap after the last offset', 'INVALID_BATCH', (b) => b.writeInt32BE(9, FIELD.lastOffsetDelta)],
  ['the control bit', 'INVALID_BATCH', (b) => b.writeInt16BE(0x20, FIELD.attributes)],
  ['the transactional bit', 'INVALID_BATCH', (b) => b.writeInt16BE(0x10, FIELD.attributes)],
  ['the delete horizon bit', 'INVALID_BATCH', (b) => b.writeInt16BE(0x40, FIELD.attributes)],
  ['log append time', 'INVALID_BATCH', (b) => b.writeInt16BE(0x08, FIELD.attributes)],
  ['an attribute of the future', 'INVALID_BATCH', (b) => b.writeInt16BE(0x80, FIELD.attributes)],
  ['zstd, which it does not use', 'INVALID_BATCH', (b) => b.writeInt16BE(4, FIELD.attributes)],
  ['a codec that nobody has', 'UNSUPPORTED_CODEC', (b) => b.writeInt16BE(7, FIELD.attributes)],
  ['a codec that it does not use', 'INVALID_BATCH', (b) => b.writeInt16BE(1, FIELD.attributes)],
  ['a time far ahead', 'INVALID_TIMESTAMP', (b) => writeInt64(b, FIELD.maxTimestamp, now + 2000)],
  [
    'a time that is not its records’',
    'INVALID_TIMESTAMP',
    (b) => writeInt64(b, FIELD.maxTimestamp, now + 9),
  ],
  ['times upside down', 'INVALID_TIMESTAMP', (b) => writeInt64(b, FIELD.maxTimestamp, 5)],
  ['a time before time', 'INVALID_TIMESTAMP', (b) => writeInt64(b, FIELD.baseTimestamp, -2)],
  ['a time beyond 2^53', 'INVALID_BATCH', (b) => b.writeInt8(0x7f, FIELD.maxTimestamp)],
  ['a producer without epoch', 'INVALID_BATCH', (b) => writeInt64(b, FIELD.producerId, 1)],
  ['an epoch without producer', 'INVALID_BATCH', (b) => b.writeInt16BE(1, FIELD.producerEpoch)],
  ['a sequence without producer', 'INVALID_BATCH', (b) => b.writeInt32BE(0, FIELD.baseSequence)],
  ['a record length beyond the end', 'INVALID_BATCH', (b) => b.writeInt8(0x7e, 61)],
  ['a record length of nothing', 'INVALID_BATCH', (b) => b.writeInt8(0, 61)],
])('a header that lies about: %s -> %s', (_what, code, change) => {
  expect(refusal(lie(change))).toBe(code);
});

test('a gzip batch whose header lies about its count is inflated, walked and refused', () => {
  expect(refusal(lie(() => undefined, 'gzip'))).toBe('accepted');
  expect(refusal(lie((batch) => count(batch, 2), 'gzip'))).toBe('INVALID_BATCH');
  expect(refusal(lie((batch) => count(batch, 4), 'gzip'))).toBe('INVALID_BATCH');
});

test('sizes: more than one batch, less than one, too large as stored, too large inflated', () => {
  const batch = batchOf(1);
  expect(refusal(Buffer.concat([batch, batch]))).toBe('INVALID_BATCH');
  expect(refusal(batch.subarray(0, batch.length - 1))).toBe('INVALID_BATCH');
  expect(refusal(batch.subarray(0, 60))).toBe('INVALID_BATCH');
  expect(refusal(Buffer.alloc(0))).toBe('INVALID_BATCH');
  expect(refusal(batch, { maxBatchBytes: batch.length })).toBe('accepted');
  expect(refusal(batch, { maxBatchBytes: batch.length - 1 })).toBe('BATCH_TOO_LARGE');
  const bomb = batchOf(1, 'gzip', Buffer.alloc(5_000_000));
  expect(bomb.length).toBeLessThan(limits.maxBatchBytes * 3);
  const small = { maxBatchBytes: bomb.length, maxInflatedBytes: 1_000_000 };
  expect(refusal(bomb, small)).toBe('BATCH_TOO_LARGE');
  expect(codeOf(() => decodeBatch(bomb, { maxInflatedBytes: 1_000_000 }))).toBe('BATCH_TOO_LARGE');
});

test('limits at their edge: records per batch, codecs that a topic allows', () => {
  expect(refusal(batchOf(10))).toBe('accepted');
  expect(refusal(batchOf(11))).toBe('BATCH_TOO_LARGE');
  expect(refusal(batchOf(1, 'gzip'), { allowedCodecs: ['none'] })).toBe('UNSUPPORTED_CODEC');
});

test('records without a key are refused where one is required', () => {
  expect(refusal(batchOf(2))).toBe('accepted');
  expect(refusal(batchOf(2), { keyRequired: true })).toBe('KEY_REQUIRED');
  const keyed = new BatchBuilder({ codec: 'gzip' });
  keyed.append({ key: Buffer.alloc(0), value: null, headers: [], timestamp: now });
  expect(refusal(keyed.build(), { keyRequired: true })).toBe('accepted');
});

test('gzip from another encoder is accepted as it is', () => {
  const plain = batchOf(2);
  const records = gzipSync(plain.subarray(61), { level: 9 });
  const batch = Buffer.concat([plain.subarray(0, 61), records]);
  batch.writeInt32BE(batch.length - 12, FIELD.batchLength);
  batch.writeInt16BE(1, FIELD.attributes);
  sealCrc(batch);
  expect(refusal(batch)).toBe('accepted');
  expect(decodeBatch(batch)).toHaveLength(2);
});

test('a builder refuses times that no record has, and codecs that it lacks', () => {
  const builder = new BatchBuilder({ codec: 'none' });
  const record = { key: null, value: null, headers: [] };
  for (const timestamp of [-2, 1.5, NaN, 9e15]) {
    expect(codeOf(() => builder.append({ ...record, timestamp }))).toBe('INVALID_TIMESTAMP');
  }
  expect(builder.recordsCount).toBe(0);
  const codecs = new CodecSet([noneCodec]);
  expect(codeOf(() => new BatchBuilder({ codec: 'zstd', codecs }))).toBe('UNSUPPORTED_CODEC');
  expect(refusal(batchOf(1, 'gzip'), { codecs })).toBe('UNSUPPORTED_CODEC');
  expect(codeOf(() => decodeBatch(batchOf(1, 'gzip'), { codecs }))).toBe('UNSUPPORTED_CODEC');
});

function count(batch: Buffer, records: number): void {
  batch.writeInt32BE(records, FIELD.recordsCount);
  batch.writeInt32BE(records - 1, FIELD.lastOffsetDelta);
}

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'no error';
  } catch (error) {
    return (error as { code: string }).code;
  }
}
