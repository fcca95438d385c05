/**
 * A batch back into records. Keys, values and header values are views of the batch (or of the inflated
 * block), not copies. Bounded: never inflates beyond `maxInflatedBytes`, never trusts a count. Called by
 * consumers and by structured fetches; the broker's own paths leave batches opaque.
 */
import {
  BATCH_HEADER_BYTES,
  checkCrc,
  corruptBatch,
  invalidBatch,
  MAGIC,
  readBatchHeader,
  type BatchHeader,
} from './batch-header';
import { standardCodecs, type CodecSet } from './codec/codec-set';
import { RECORD_BYTES_MIN, type DecodedRecord } from './record';
import { RecordReader } from './record-reader';

/** What one batch may inflate to, unless the caller says otherwise. */
export const MAX_INFLATED_BYTES = 64 * 1024 * 1024;

export interface InflateOptions {
  /** Default 64 MiB. */
  readonly maxInflatedBytes?: number;
  /** Default: the standard set. */
  readonly codecs?: CodecSet;
}

export interface DecodeOptions extends InflateOptions {
  /** Default true. */
  readonly checkCrc?: boolean;
}

/** `batch` is exactly one batch. Throws CORRUPT_BATCH, INVALID_BATCH, BATCH_TOO_LARGE (inflated), UNSUPPORTED_CODEC. */
export function decodeBatch(batch: Buffer, options: DecodeOptions = {}): DecodedRecord[] {
  checkFrame(batch);
  if (options.checkCrc !== false && !checkCrc(batch)) throw corruptBatch('CRC mismatch');
  const header = readBatchHeader(batch);
  const payload = inflateRecords(batch, header, options);
  const reader = new RecordReader(payload);
  const { baseOffset, baseTimestamp, leaderEpoch, lastOffsetDelta, recordsCount } = header;
  const records: DecodedRecord[] = [];
  let previous = -1;
  for (let i = 0; i < recordsCount; i += 1) {
    const { key, value, headers } = reader.readRecord();
    if (reader.offsetDelta <= previous || reader.offsetDelta > lastOffsetDelta) {
      throw invalidBatch(`record ${i} has offset delta ${reader.offsetDelta}`);
    }
    previous = reader.offsetDelta;
    records.push({
      offset: baseOffset + previous,
      timestamp:
        header.timestampType === 'LogAppendTime'
          ? header.maxTimestamp
          : baseTimestamp + reader.timestampDelta,
      key,
      value,
      headers,
      leaderEpoch,
    });
  }
  if (!reader.finished) throw invalidBatch('there are bytes after the last record');
  return records;
}

/** Exactly one batch of magic 2 in the buffer; says nothing about what the CRC covers. */
export function checkFrame(batch: Buffer): void {
  if (batch.length < BATCH_HEADER_BYTES) {
    throw invalidBatch(`a batch has at least 61 bytes, this one ${batch.length}`);
  }
  const size = 12 + batch.readInt32BE(8);
  if (size !== batch.length) {
    throw invalidBatch(`the header says ${size} bytes, the batch has ${batch.length}`);
  }
  const magic = batch.readInt8(16);
  if (magic !== MAGIC) throw invalidBatch(`magic ${magic} is not ${MAGIC}`);
}

/** The records' bytes, inflated; checks that the count could fit. */
export function inflateRecords(
  batch: Buffer,
  header: BatchHeader,
  { maxInflatedBytes = MAX_INFLATED_BYTES, codecs = standardCodecs }: InflateOptions,
): Buffer {
  const codec = codecs.byId(header.codecId);
  const payload = codec.decompress(batch.subarray(BATCH_HEADER_BYTES), maxInflatedBytes);
  const { recordsCount } = header;
  if (recordsCount < 0 || recordsCount > payload.length / RECORD_BYTES_MIN) {
    throw invalidBatch(`${recordsCount} records cannot lie in ${payload.length} bytes`);
  }
  return payload;
}
