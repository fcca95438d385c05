/** Batches that must not be appended, each with what is wrong with it. The lies are sealed with a true CRC. */
import type { ErrorCode } from '@tributary/common';
import { rewriteProducer, standardCodecs, type CodecName } from '@tributary/record';
import { makeBatch } from '@tributary/testkit';

export interface BadBatch {
  readonly what: string;
  readonly batch: () => Buffer;
  readonly code: ErrorCode;
  readonly says: RegExp;
}

/** Where the fields of the header lie (Kafka's RecordBatch v2). */
const at = {
  baseOffset: 0,
  batchLength: 8,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  recordsCount: 57,
  records: 61,
} as const;

const nobody = { producerId: -1, producerEpoch: -1, baseSequence: -1 };
const good = (): Buffer => makeBatch({ values: ['first record', 'second record'] });
const bytes = (count: number): string => 'x'.repeat(count);
const hour = 3_600_000;

/** A sound batch of two records, then the lie, then a CRC over it. */
function lying(lie: (batch: Buffer) => void): () => Buffer {
  return () => {
    const batch = good();
    lie(batch);
    rewriteProducer(batch, nobody);
    return batch;
  };
}

function counting(records: number): () => Buffer {
  return lying((batch) => {
    batch.writeInt32BE(records, at.recordsCount);
    batch.writeInt32BE(records - 1, at.lastOffsetDelta);
  });
}

function withAttributes(bits: number): () => Buffer {
  return lying((batch) => batch.writeInt16BE(bits, at.attributes));
}

/** Header of one batch of this codec, with these bytes as its records. */
function compressedBatch(codec: CodecName, records: Buffer): Buffer {
  const header = makeBatch({ codec }).subarray(0, at.records);
  const batch = Buffer.concat([header, records]);
  batch.writeInt32BE(batch.length - 12, at.batchLength);
  rewriteProducer(batch, nobody);
  return batch;
}

const bombBytes = 65 * 1024 * 1024;
const compressed = (codec: CodecName, records: Buffer): Buffer =>
  standardCodecs.byName(codec).compress(records);
const bomb = (codec: CodecName) => (): Buffer =>
  compressedBatch(codec, compressed(codec, Buffer.alloc(bombBytes)));
const cutOff = (codec: CodecName) => (): Buffer =>
  compressedBatch(codec, compressed(codec, Buffer.alloc(500)).subarray(0, -2));
/** A block of a few bytes that says that it holds 65 MiB. */
const snappyLie = (): Buffer => compressedBatch('snappy', Buffer.from('8080c0200061', 'hex'));

// prettier-ignore
const malformed: BadBatch[] = [
  { what: 'no bytes at all', batch: () => Buffer.alloc(0), code: 'INVALID_BATCH', says: /at least 61 bytes, this one 0/ },
  { what: 'a few bytes of garbage', batch: () => Buffer.from('GET / HTTP/1.1'), code: 'INVALID_BATCH', says: /at least 61 bytes, this one 14/ },
  { what: 'much garbage', batch: () => Buffer.alloc(5000, 0xa5), code: 'INVALID_BATCH', says: /header says .* bytes, the batch has 5000/ },
  { what: 'zeros', batch: () => Buffer.alloc(100), code: 'INVALID_BATCH', says: /header says 12 bytes/ },
  { what: 'a truncated batch', batch: () => good().subarray(0, -3), code: 'INVALID_BATCH', says: /header says/ },
  { what: 'a header without its records', batch: () => good().subarray(0, at.records), code: 'INVALID_BATCH', says: /header says/ },
  { what: 'two batches in one field', batch: () => Buffer.concat([good(), good()]), code: 'INVALID_BATCH', says: /header says/ },
  { what: 'bytes behind the batch', batch: () => Buffer.concat([good(), Buffer.from([0])]), code: 'INVALID_BATCH', says: /header says/ },
  { what: 'a negative batch length', batch: lying((batch) => batch.writeInt32BE(-1, at.batchLength)), code: 'INVALID_BATCH', says: /header says 11 bytes/ },
  { what: 'magic 1', batch: lying((batch) => batch.writeInt8(1, at.magic)), code: 'INVALID_BATCH', says: /magic 1 is not 2/ },
  { what: 'magic 0', batch: lying((batch) => batch.writeInt8(0, at.magic)), code: 'INVALID_BATCH', says: /magic 0 is not 2/ },
];

// prettier-ignore
const corrupt: BadBatch[] = [
  { what: 'a wrong CRC', batch: () => flipped(at.crc), code: 'CORRUPT_BATCH', says: /CRC does not match/ },
  { what: 'a bit that flipped in a record', batch: () => flipped(at.records + 8), code: 'CORRUPT_BATCH', says: /CRC does not match/ },
  { what: 'a bit that flipped in the header', batch: () => flipped(at.recordsCount + 3), code: 'CORRUPT_BATCH', says: /CRC does not match/ },
];

function flipped(index: number): Buffer {
  const batch = good();
  batch[index]! ^= 1;
  return batch;
}

// prettier-ignore
const lies: BadBatch[] = [
  { what: 'a count that the last offset delta contradicts', batch: lying((batch) => batch.writeInt32BE(7, at.recordsCount)), code: 'INVALID_BATCH', says: /counts 7 records and says the last offset delta is 1/ },
  { what: 'a last offset delta that the count contradicts', batch: lying((batch) => batch.writeInt32BE(0, at.lastOffsetDelta)), code: 'INVALID_BATCH', says: /counts 2 records and says the last offset delta is 0/ },
  { what: 'fewer records than counted', batch: counting(3), code: 'INVALID_BATCH', says: /a record/ },
  { what: 'more records than counted', batch: counting(1), code: 'INVALID_BATCH', says: /more records than the 1/ },
  { what: 'more records than its bytes can hold', batch: counting(900_000), code: 'INVALID_BATCH', says: /900000 records cannot lie in/ },
  { what: 'more records than a batch may have', batch: counting(2_000_000_000), code: 'BATCH_TOO_LARGE', says: /2000000000 records, the limit is 1000000/ },
  { what: 'a count of none', batch: counting(0), code: 'INVALID_BATCH', says: /counts 0 records/ },
  { what: 'a negative count', batch: counting(-5), code: 'INVALID_BATCH', says: /counts -5 records/ },
  { what: 'a record that is longer than the batch', batch: lying((batch) => batch.writeUInt8(0x7e, at.records)), code: 'INVALID_BATCH', says: /a record of 63 bytes reaches beyond its batch/ },
  { what: 'a negative record length', batch: lying((batch) => batch.writeUInt8(0x01, at.records)), code: 'INVALID_BATCH', says: /a record of -1 bytes/ },
  { what: 'records that are not in the order of their offsets', batch: lying((batch) => batch.writeUInt8(6, at.records + 3)), code: 'INVALID_BATCH', says: /record 0 says that its offset delta is 3/ },
  { what: 'a base offset beyond what a number can hold', batch: lying((batch) => batch.writeBigInt64BE(-(2n ** 63n), at.baseOffset)), code: 'INVALID_BATCH', says: /base offset is beyond 2\^53/ },
  { what: 'a control bit', batch: withAttributes(0x20), code: 'INVALID_BATCH', says: /control batches/ },
  { what: 'a transactional bit', batch: withAttributes(0x10), code: 'INVALID_BATCH', says: /transactions are not supported/ },
  { what: 'the broker\'s own timestamp type', batch: withAttributes(0x08), code: 'INVALID_BATCH', says: /timestamp type is not CreateTime/ },
  { what: 'a delete horizon', batch: withAttributes(0x40), code: 'INVALID_BATCH', says: /delete horizon/ },
  { what: 'attribute bits that nobody knows', batch: withAttributes(0x400), code: 'INVALID_BATCH', says: /unknown attribute bits/ },
  { what: 'a producer id without an epoch', batch: () => makeBatch({ producer: [7, -1, -1] }), code: 'INVALID_BATCH', says: /producer id 7, epoch -1 and sequence -1 do not go together/ },
  { what: 'a negative sequence', batch: () => makeBatch({ producer: [7, 0, -3] }), code: 'INVALID_BATCH', says: /sequence -3 do not go together/ },
];

// prettier-ignore
const times: BadBatch[] = [
  { what: 'a timestamp far in the future', batch: () => makeBatch({ timestamp: Date.now() + 48 * hour }), code: 'INVALID_TIMESTAMP', says: /ms ahead of the broker's clock/ },
  { what: 'the last instant that a number can hold', batch: lying((batch) => batch.writeBigInt64BE(2n ** 53n - 1n, at.maxTimestamp)), code: 'INVALID_TIMESTAMP', says: /ms ahead/ },
  { what: 'a max timestamp before the base timestamp', batch: lying((batch) => batch.writeBigInt64BE(5n, at.maxTimestamp)), code: 'INVALID_TIMESTAMP', says: /base timestamp 1000 and max timestamp 5 do not go together/ },
  { what: 'a max timestamp that no record has', batch: lying((batch) => batch.writeBigInt64BE(5000n, at.maxTimestamp)), code: 'INVALID_TIMESTAMP', says: /header says max timestamp 5000, the records 1001/ },
  { what: 'a timestamp before the epoch', batch: lying((batch) => batch.writeBigInt64BE(-9n, at.baseTimestamp)), code: 'INVALID_TIMESTAMP', says: /base timestamp -9/ },
];

// prettier-ignore
const codecs: BadBatch[] = [
  { what: 'a codec that nobody knows', batch: withAttributes(0x07), code: 'UNSUPPORTED_CODEC', says: /codec 7 is not supported here; supported: none, gzip, snappy, lz4, zstd/ },
  { what: 'a gzip batch that is not gzip', batch: withAttributes(0x01), code: 'INVALID_BATCH', says: /not gzip/ },
  { what: 'a snappy batch that is not snappy', batch: withAttributes(0x02), code: 'INVALID_BATCH', says: /not snappy/ },
  { what: 'an lz4 batch that is not lz4', batch: withAttributes(0x03), code: 'INVALID_BATCH', says: /not lz4/ },
  { what: 'a zstd batch that is not zstd', batch: withAttributes(0x04), code: 'INVALID_BATCH', says: /not zstd/ },
  { what: 'a gzip batch that is cut off', batch: cutOff('gzip'), code: 'INVALID_BATCH', says: /not gzip/ },
  { what: 'a snappy batch that is cut off', batch: cutOff('snappy'), code: 'INVALID_BATCH', says: /not snappy/ },
  { what: 'an lz4 batch that is cut off', batch: cutOff('lz4'), code: 'INVALID_BATCH', says: /not lz4/ },
  { what: 'a zstd batch that is cut off', batch: cutOff('zstd'), code: 'INVALID_BATCH', says: /not zstd/ },
  { what: 'a gzip bomb', batch: bomb('gzip'), code: 'BATCH_TOO_LARGE', says: /inflates to more than 67108864 bytes/ },
  { what: 'a snappy block that lies about its size', batch: snappyLie, code: 'INVALID_BATCH', says: /says that it holds 68157440/ },
  { what: 'an lz4 bomb', batch: bomb('lz4'), code: 'BATCH_TOO_LARGE', says: /inflates to more than 67108864 bytes/ },
  { what: 'a zstd bomb', batch: bomb('zstd'), code: 'BATCH_TOO_LARGE', says: /inflates to more than 67108864 bytes/ },
];

// prettier-ignore
const sizes: BadBatch[] = [
  { what: 'a record over the limit', batch: () => makeBatch({ values: [bytes(1_100_000)] }), code: 'RECORD_TOO_LARGE', says: /record has 11000\d\d bytes, .* takes 1048588/ },
  { what: 'a huge record', batch: () => makeBatch({ values: [bytes(10_000_000)] }), code: 'RECORD_TOO_LARGE', says: /takes 1048588/ },
  { what: 'a batch over max.message.bytes', batch: () => makeBatch({ values: [bytes(600_000), bytes(600_000)] }), code: 'BATCH_TOO_LARGE', says: /batch has 1200\d\d\d bytes, .* takes 1048588/ },
];

export const badBatches: readonly BadBatch[] = [
  ...malformed,
  ...corrupt,
  ...lies,
  ...times,
  ...codecs,
  ...sizes,
];
