/**
 * The 61 bytes before the records of a batch (Kafka's RecordBatch v2, big-endian):
 *
 *    0 baseOffset i64      8 batchLength i32   12 leaderEpoch i32   16 magic i8   17 crc u32
 *   21 attributes i16     23 lastOffsetDelta i32                    27 baseTimestamp i64
 *   35 maxTimestamp i64   43 producerId i64    51 producerEpoch i16
 *   53 baseSequence i32   57 recordsCount i32  61 records
 *
 * The CRC covers byte 21 to the end. What stands before it may be patched in place: the leader assigns base
 * offset and leader epoch without touching the rest. Called by validator, decoder, log and clients.
 */
import { TributaryError } from '@tributary/common';
import { CODEC_NAMES, type CodecName } from './codec/codec';
import { crc32c } from './crc32c';
import { readInt64, writeInt64 } from './int64';

export const BATCH_HEADER_BYTES = 61;
/** Base offset and batch length: what `batchLength` does not count. */
export const LENGTH_PREFIX_BYTES = 12;
export const MAGIC = 2;
/** First byte that the CRC covers. */
export const CRC_FROM = 21;

export const FIELD = {
  baseOffset: 0,
  batchLength: 8,
  leaderEpoch: 12,
  magic: 16,
  crc: 17,
  attributes: 21,
  lastOffsetDelta: 23,
  baseTimestamp: 27,
  maxTimestamp: 35,
  producerId: 43,
  producerEpoch: 51,
  baseSequence: 53,
  recordsCount: 57,
} as const;

export const ATTRIBUTE = {
  codecMask: 0x07,
  logAppendTime: 0x08,
  transactional: 0x10,
  control: 0x20,
  deleteHorizon: 0x40,
  unknownMask: 0xff80,
} as const;

export type TimestampType = 'CreateTime' | 'LogAppendTime';

export interface BatchHeader {
  readonly baseOffset: number;
  readonly batchLength: number;
  /** The whole batch: 12 + batchLength. */
  readonly sizeInBytes: number;
  readonly leaderEpoch: number;
  readonly magic: number;
  readonly crc: number;
  readonly attributes: number;
  /** undefined: an id that the format does not define. */
  readonly codec: CodecName | undefined;
  readonly codecId: number;
  readonly lastOffsetDelta: number;
  readonly lastOffset: number;
  readonly baseTimestamp: number;
  readonly maxTimestamp: number;
  /** -1: none. */
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
  readonly recordsCount: number;
  readonly isControl: boolean;
  readonly isTransactional: boolean;
  readonly hasDeleteHorizon: boolean;
  readonly timestampType: TimestampType;
}

/** Throws INVALID_BATCH when fewer than 61 bytes are there, or a field cannot be. Does not check the CRC. */
export function readBatchHeader(bytes: Buffer, at = 0): BatchHeader {
  if (at < 0 || bytes.length - at < BATCH_HEADER_BYTES) {
    throw invalidBatch(
      `a batch header needs 61 bytes, ${Math.max(0, bytes.length - at)} are there`,
    );
  }
  const batchLength = bytes.readInt32BE(at + FIELD.batchLength);
  const attributes = bytes.readInt16BE(at + FIELD.attributes);
  const baseOffset = safe(readInt64(bytes, at + FIELD.baseOffset), 'base offset');
  const lastOffsetDelta = bytes.readInt32BE(at + FIELD.lastOffsetDelta);
  const codecId = attributes & ATTRIBUTE.codecMask;
  return {
    baseOffset,
    batchLength,
    sizeInBytes: LENGTH_PREFIX_BYTES + batchLength,
    leaderEpoch: bytes.readInt32BE(at + FIELD.leaderEpoch),
    magic: bytes.readInt8(at + FIELD.magic),
    crc: bytes.readUInt32BE(at + FIELD.crc),
    attributes,
    codec: CODEC_NAMES[codecId],
    codecId,
    lastOffsetDelta,
    lastOffset: safe(baseOffset + lastOffsetDelta, 'last offset'),
    baseTimestamp: safe(readInt64(bytes, at + FIELD.baseTimestamp), 'base timestamp'),
    maxTimestamp: safe(readInt64(bytes, at + FIELD.maxTimestamp), 'max timestamp'),
    producerId: safe(readInt64(bytes, at + FIELD.producerId), 'producer id'),
    producerEpoch: bytes.readInt16BE(at + FIELD.producerEpoch),
    baseSequence: bytes.readInt32BE(at + FIELD.baseSequence),
    recordsCount: bytes.readInt32BE(at + FIELD.recordsCount),
    isControl: (attributes & ATTRIBUTE.control) !== 0,
    isTransactional: (attributes & ATTRIBUTE.transactional) !== 0,
    hasDeleteHorizon: (attributes & ATTRIBUTE.deleteHorizon) !== 0,
    timestampType: attributes & ATTRIBUTE.logAppendTime ? 'LogAppendTime' : 'CreateTime',
  };
}

/** Bytes of the whole batch at `at`; undefined when fewer than 12 bytes are there. Throws INVALID_BATCH for a length that no batch has. */
export function batchSizeAt(bytes: Buffer, at: number): number | undefined {
  if (bytes.length - at < LENGTH_PREFIX_BYTES) return undefined;
  const size = LENGTH_PREFIX_BYTES + bytes.readInt32BE(at + FIELD.batchLength);
  if (size < BATCH_HEADER_BYTES) throw invalidBatch(`a batch cannot have ${size} bytes`);
  return size;
}

/** Offset of the first record of the batch at `at`, whose first 8 bytes must be there. */
export function baseOffsetAt(bytes: Buffer, at: number): number {
  return readInt64(bytes, at + FIELD.baseOffset);
}

/** Offset of the last record of the batch at `at`, whose header must be there: for scans that need no more. */
export function lastOffsetAt(bytes: Buffer, at: number): number {
  return readInt64(bytes, at + FIELD.baseOffset) + bytes.readInt32BE(at + FIELD.lastOffsetDelta);
}

/** Stamps a batch in place. The CRC does not cover these fields. */
export function assignOffsetAndEpoch(batch: Buffer, baseOffset: number, leaderEpoch: number): void {
  writeInt64(batch, FIELD.baseOffset, baseOffset);
  batch.writeInt32BE(leaderEpoch, FIELD.leaderEpoch);
}

/** Of one whole batch. */
export function checkCrc(batch: Buffer): boolean {
  return (
    batch.length >= BATCH_HEADER_BYTES &&
    crc32c(batch.subarray(CRC_FROM)) === batch.readUInt32BE(FIELD.crc)
  );
}

export function sealCrc(batch: Buffer): void {
  batch.writeUInt32BE(crc32c(batch.subarray(CRC_FROM)), FIELD.crc);
}

export interface ProducerStamp {
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly baseSequence: number;
}

export function writeProducer(batch: Buffer, stamp: ProducerStamp): void {
  writeInt64(batch, FIELD.producerId, stamp.producerId);
  batch.writeInt16BE(stamp.producerEpoch, FIELD.producerEpoch);
  batch.writeInt32BE(stamp.baseSequence, FIELD.baseSequence);
}

/** Another producer, epoch or sequence for a batch that is built already: after an epoch bump. In place. */
export function rewriteProducer(batch: Buffer, stamp: ProducerStamp): void {
  writeProducer(batch, stamp);
  sealCrc(batch);
}

/** Views of the batches that lie one after another in `bytes`. Throws INVALID_BATCH on a torn tail. */
export function splitBatches(bytes: Buffer): Buffer[] {
  const batches: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    const size = batchSizeAt(bytes, at);
    if (size === undefined || at + size > bytes.length) {
      throw invalidBatch(`the last batch is cut off: ${bytes.length - at} bytes are left`);
    }
    batches.push(bytes.subarray(at, at + size));
    at += size;
  }
  return batches;
}

export function invalidBatch(message: string): TributaryError {
  return new TributaryError('INVALID_BATCH', message);
}

export function corruptBatch(message: string): TributaryError {
  return new TributaryError('CORRUPT_BATCH', message);
}

function safe(value: number, what: string): number {
  if (!Number.isSafeInteger(value)) throw invalidBatch(`${what} is beyond 2^53`);
  return value;
}
