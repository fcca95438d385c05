/**
 * What compaction does to one batch. Invariant: base offset, last offset delta, leader epoch, producer fields,
 * timestamp type and codec stay as they were, and so does every record that is kept, with its offset; a batch
 * from which nothing is dropped is the same bytes. Called by the compactor alone.
 */
import { checkFrame, inflateRecords, type InflateOptions } from './batch-decoder';
import {
  ATTRIBUTE,
  BATCH_HEADER_BYTES,
  FIELD,
  invalidBatch,
  LENGTH_PREFIX_BYTES,
  readBatchHeader,
  sealCrc,
  type BatchHeader,
} from './batch-header';
import { standardCodecs } from './codec/codec-set';
import { writeInt64 } from './int64';
import { RecordReader } from './record-reader';
import { varintSize, varlongSize, writeVarint, writeVarlong } from './varint';

export interface RecordKey {
  readonly offset: number;
  /** A view of the batch: copy what is kept. */
  readonly key: Buffer | null;
  readonly isTombstone: boolean;
}

export interface FilterOptions extends InflateOptions {
  readonly keep: (record: RecordKey) => boolean;
  /**
   * Ms since the epoch. If a tombstone is kept, the batch gets it as its delete horizon: attribute bit 6, and as
   * base timestamp, to which the timestamps of its records refer from then on (KIP-534).
   */
  readonly deleteHorizon?: number;
}

export interface FilteredBatch {
  /** undefined: no record is left. */
  readonly batch: Buffer | undefined;
  readonly keptRecords: number;
  readonly droppedRecords: number;
  readonly isStamped: boolean;
}

/** The records that stay: where each lies in the inflated block. */
interface Kept {
  readonly spans: Span[];
  readonly hasTombstone: boolean;
}

interface Span {
  readonly start: number;
  readonly offsetDeltaAt: number;
  readonly end: number;
  readonly timestampDelta: number;
}

/** Each record of one batch, in order. False from `visit`: enough. Throws INVALID_BATCH, BATCH_TOO_LARGE, UNSUPPORTED_CODEC. */
export function visitKeys(
  batch: Buffer,
  visit: (record: RecordKey) => boolean,
  options: InflateOptions = {},
): void {
  checkFrame(batch);
  const header = readBatchHeader(batch);
  const reader = new RecordReader(inflateRecords(batch, header, options));
  for (let i = 0; i < header.recordsCount; i += 1) {
    if (!visit(readRecordKey(reader, header))) return;
  }
}

/** `batch` is exactly one batch. Throws as `visitKeys`. */
export function filterBatch(batch: Buffer, options: FilterOptions): FilteredBatch {
  checkFrame(batch);
  const header = readBatchHeader(batch);
  const payload = inflateRecords(batch, header, options);
  const kept = selectRecords(payload, header, options.keep);
  const keptRecords = kept.spans.length;
  const droppedRecords = header.recordsCount - keptRecords;
  const isStamped = options.deleteHorizon !== undefined && kept.hasTombstone;
  if (droppedRecords === 0 && !isStamped) {
    return { batch, keptRecords, droppedRecords, isStamped };
  }
  if (keptRecords === 0) {
    return { batch: undefined, keptRecords, droppedRecords, isStamped };
  }
  const baseTimestamp = isStamped ? options.deleteHorizon : header.baseTimestamp;
  const shift = header.baseTimestamp - baseTimestamp;
  const records = shift === 0 ? joinSpans(payload, kept.spans) : rebase(payload, kept.spans, shift);
  const codec = (options.codecs ?? standardCodecs).byId(header.codecId);
  const rewritten = withRecords(batch, codec.compress(records));
  writeInt64(rewritten, FIELD.baseTimestamp, baseTimestamp);
  writeInt64(rewritten, FIELD.maxTimestamp, maxTimestampOf(header, kept.spans));
  rewritten.writeInt32BE(keptRecords, FIELD.recordsCount);
  if (isStamped) {
    rewritten.writeInt16BE(header.attributes | ATTRIBUTE.deleteHorizon, FIELD.attributes);
  }
  sealCrc(rewritten);
  return { batch: rewritten, keptRecords, droppedRecords, isStamped };
}

/** The same batch without any record: keeps its offsets, its sequence numbers and its epoch known. */
export function emptiedBatch(batch: Buffer): Buffer {
  const { attributes, maxTimestamp } = readBatchHeader(batch);
  const empty = withRecords(batch, Buffer.alloc(0));
  // Nothing is compressed, and there is no tombstone to wait for.
  const cleared = attributes & ~(ATTRIBUTE.codecMask | ATTRIBUTE.deleteHorizon);
  empty.writeInt16BE(cleared, FIELD.attributes);
  writeInt64(empty, FIELD.baseTimestamp, maxTimestamp);
  empty.writeInt32BE(0, FIELD.recordsCount);
  sealCrc(empty);
  return empty;
}

function selectRecords(payload: Buffer, header: BatchHeader, keep: FilterOptions['keep']): Kept {
  const reader = new RecordReader(payload);
  const spans: Span[] = [];
  let hasTombstone = false;
  for (let i = 0; i < header.recordsCount; i += 1) {
    const start = reader.position;
    const record = readRecordKey(reader, header);
    if (!keep(record)) continue;
    hasTombstone ||= record.isTombstone;
    const { offsetDeltaAt, position: end, timestampDelta } = reader;
    spans.push({ start, offsetDeltaAt, end, timestampDelta });
  }
  if (!reader.finished) throw invalidBatch('there are bytes after the last record');
  return { spans, hasTombstone };
}

function readRecordKey(reader: RecordReader, { baseOffset }: BatchHeader): RecordKey {
  const key = reader.readKey();
  return { offset: baseOffset + reader.offsetDelta, key, isTombstone: !reader.hasValue };
}

function maxTimestampOf(header: BatchHeader, spans: readonly Span[]): number {
  if (header.timestampType === 'LogAppendTime') return header.maxTimestamp;
  return spans.reduce(
    (max, { timestampDelta }) => Math.max(max, header.baseTimestamp + timestampDelta),
    -1,
  );
}

function joinSpans(payload: Buffer, spans: readonly Span[]): Buffer {
  return Buffer.concat(spans.map(({ start, end }) => payload.subarray(start, end)));
}

/** The same records, whose timestamp deltas are all greater by `shift`. */
function rebase(payload: Buffer, spans: readonly Span[], shift: number): Buffer {
  const lengthOf = ({ offsetDeltaAt, end, timestampDelta }: Span): number =>
    1 + varlongSize(timestampDelta + shift) + (end - offsetDeltaAt);
  const bytes = Buffer.allocUnsafeSlow(
    spans.reduce((sum, span) => sum + varintSize(lengthOf(span)) + lengthOf(span), 0),
  );
  let at = 0;
  for (const span of spans) {
    at = writeVarint(bytes, at, lengthOf(span));
    bytes[at++] = 0; // attributes of a record: none is defined
    at = writeVarlong(bytes, at, span.timestampDelta + shift);
    at += payload.copy(bytes, at, span.offsetDeltaAt, span.end);
  }
  return bytes;
}

/** Its header with other records; what depends on them is yet to be written. */
function withRecords(batch: Buffer, records: Buffer): Buffer {
  const rewritten = Buffer.allocUnsafeSlow(BATCH_HEADER_BYTES + records.length);
  batch.copy(rewritten, 0, 0, BATCH_HEADER_BYTES);
  records.copy(rewritten, BATCH_HEADER_BYTES);
  rewritten.writeInt32BE(rewritten.length - LENGTH_PREFIX_BYTES, FIELD.batchLength);
  return rewritten;
}
