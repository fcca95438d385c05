/**
 * Encodes records straight into one growing buffer, so that a record costs no garbage. Invariant: the buffer
 * always holds 61 free bytes, then whole records with offset deltas 0, 1, 2 ... `build` writes the header
 * and hands the buffer over; the builder is used up. Called by the producer's accumulator and by the broker
 * for structured records.
 */
import { assert, TributaryError } from '@tributary/common';
import {
  BATCH_HEADER_BYTES,
  FIELD,
  LENGTH_PREFIX_BYTES,
  MAGIC,
  sealCrc,
  writeProducer,
  type ProducerStamp,
} from './batch-header';
import type { Codec, CodecName } from './codec/codec';
import { standardCodecs, type CodecSet } from './codec/codec-set';
import { writeInt64 } from './int64';
import { MAX_TIMESTAMP, recordSizeBound, type RecordHeader, type RecordInput } from './record';
import { varintSize, varlongSize, writeVarint, writeVarlong } from './varint';

export interface BatchBuilderOptions extends Partial<ProducerStamp> {
  readonly codec: CodecName;
  /** Where the codec comes from. Default: the standard set. */
  readonly codecs?: CodecSet;
  /** `tryAppend` refuses what would make the uncompressed batch larger. Default: no limit. */
  readonly maxBytes?: number;
  /** First size of the buffer. Default 16 KiB. */
  readonly initialBytes?: number;
}

export class BatchBuilder {
  private bytes: Buffer;
  private at = BATCH_HEADER_BYTES;
  private count = 0;
  private baseTimestamp = -1;
  private maxTimestamp = -1;
  private built = false;
  private readonly codec: Codec;

  /** Throws UNSUPPORTED_CODEC, also where the package of the codec is missing: not only once records are in. */
  constructor(private readonly options: BatchBuilderOptions) {
    this.codec = (options.codecs ?? standardCodecs).byName(options.codec);
    this.codec.load();
    this.bytes = Buffer.allocUnsafeSlow(Math.max(options.initialBytes ?? 16_384, 256));
  }

  get recordsCount(): number {
    return this.count;
  }

  /** Uncompressed, header included; exact for codec `none`. */
  get sizeInBytes(): number {
    return this.at;
  }

  /** False, and nothing happens, when the batch would outgrow `maxBytes`; the first record always goes in. */
  tryAppend(record: RecordInput): boolean {
    const { maxBytes } = this.options;
    if (maxBytes !== undefined && this.count > 0) {
      const bound = recordSizeBound(record.key, record.value, record.headers);
      if (this.at + bound > maxBytes) return false;
    }
    this.append(record);
    return true;
  }

  append(record: RecordInput): void {
    assert(!this.built, 'append to a batch that is built');
    const { key, value, headers, timestamp } = record;
    if (!Number.isInteger(timestamp) || timestamp < -1 || timestamp > MAX_TIMESTAMP) {
      throw new TributaryError(
        'INVALID_TIMESTAMP',
        `record timestamp ${timestamp} is not a count of milliseconds from -1 to ${MAX_TIMESTAMP}`,
      );
    }
    const baseTimestamp = this.count === 0 ? timestamp : this.baseTimestamp;
    const delta = timestamp - baseTimestamp;
    const headersSize = headers.length === 0 ? 1 : sizeOfHeaders(headers);
    const length =
      1 +
      varlongSize(delta) +
      varintSize(this.count) +
      sizeOfField(key) +
      sizeOfField(value) +
      headersSize;
    this.reserve(length + 5);

    const bytes = this.bytes;
    let at = writeVarint(bytes, this.at, length);
    bytes[at++] = 0; // attributes of a record: none is defined
    at = writeVarlong(bytes, at, delta);
    at = writeVarint(bytes, at, this.count);
    at = writeField(bytes, at, key);
    at = writeField(bytes, at, value);
    at = writeHeaders(bytes, at, headers);
    this.at = at;
    this.baseTimestamp = baseTimestamp;
    this.maxTimestamp = Math.max(this.maxTimestamp, timestamp);
    this.count += 1;
  }

  /** The finished batch, base offset 0 and leader epoch -1. Once only. */
  build(producer: Partial<ProducerStamp> = {}): Buffer {
    assert(!this.built, 'a batch is built once');
    assert(this.count > 0, 'an empty batch cannot be built');
    this.built = true;
    const batch = this.wholeBatch();
    writeInt64(batch, FIELD.baseOffset, 0);
    batch.writeInt32BE(batch.length - LENGTH_PREFIX_BYTES, FIELD.batchLength);
    batch.writeInt32BE(-1, FIELD.leaderEpoch);
    batch.writeInt8(MAGIC, FIELD.magic);
    batch.writeInt16BE(this.codec.id, FIELD.attributes);
    batch.writeInt32BE(this.count - 1, FIELD.lastOffsetDelta);
    writeInt64(batch, FIELD.baseTimestamp, this.baseTimestamp);
    writeInt64(batch, FIELD.maxTimestamp, this.maxTimestamp);
    writeProducer(batch, {
      producerId: producer.producerId ?? this.options.producerId ?? -1,
      producerEpoch: producer.producerEpoch ?? this.options.producerEpoch ?? -1,
      baseSequence: producer.baseSequence ?? this.options.baseSequence ?? -1,
    });
    batch.writeInt32BE(this.count, FIELD.recordsCount);
    sealCrc(batch);
    return batch;
  }

  /** Room for the header, then the records, compressed. */
  private wholeBatch(): Buffer {
    if (this.codec.name === 'none') return this.bytes.subarray(0, this.at);
    const records = this.codec.compress(this.bytes.subarray(BATCH_HEADER_BYTES, this.at));
    const batch = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + records.length);
    records.copy(batch, BATCH_HEADER_BYTES);
    return batch;
  }

  private reserve(more: number): void {
    const needed = this.at + more;
    if (needed <= this.bytes.length) return;
    const bigger = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.length * 2));
    this.bytes.copy(bigger, 0, 0, this.at);
    this.bytes = bigger;
  }
}

function sizeOfField(field: Buffer | null): number {
  return field === null ? 1 : varintSize(field.length) + field.length;
}

function writeField(bytes: Buffer, at: number, field: Buffer | null): number {
  if (field === null) return writeVarint(bytes, at, -1);
  const from = writeVarint(bytes, at, field.length);
  bytes.set(field, from);
  return from + field.length;
}

function sizeOfHeaders(headers: readonly RecordHeader[]): number {
  let size = varintSize(headers.length);
  for (const header of headers) {
    const keyLength = Buffer.byteLength(header.key);
    size += varintSize(keyLength) + keyLength + sizeOfField(header.value);
  }
  return size;
}

function writeHeaders(bytes: Buffer, at: number, headers: readonly RecordHeader[]): number {
  let next = writeVarint(bytes, at, headers.length);
  for (const header of headers) {
    next = writeVarint(bytes, next, Buffer.byteLength(header.key));
    next += bytes.write(header.key, next);
    next = writeField(bytes, next, header.value);
  }
  return next;
}
