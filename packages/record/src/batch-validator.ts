/**
 * The whole check of a batch that a client sent. Invariant: what passes is safe to stamp, append and hand to
 * every follower and consumer unread, because nobody after the leader looks into it again. Cheap things
 * first, the CRC before any field that it covers, the walk over the records last. Called by the produce
 * handler for each batch.
 */
import { TributaryError } from '@tributary/common';
import {
  ATTRIBUTE,
  checkCrc,
  corruptBatch,
  invalidBatch,
  readBatchHeader,
  type BatchHeader,
} from './batch-header';
import { checkFrame, inflateRecords, type InflateOptions } from './batch-decoder';
import type { CodecName } from './codec/codec';
import { standardCodecs, unsupportedCodec } from './codec/codec-set';
import { MAX_TIMESTAMP } from './record';
import { RecordReader } from './record-reader';

/** How far ahead of the clock a timestamp may be: producers refuse it at once, brokers in any case. */
export const MAX_FUTURE_MS = 60 * 60 * 1000;

export interface BatchLimits extends InflateOptions {
  /** As stored, header included. */
  readonly maxBatchBytes: number;
  readonly maxRecordsPerBatch: number;
  /** Wall time, ms. */
  readonly now: number;
  /** How far maxTimestamp may lie beyond `now`. */
  readonly maxFutureMs: number;
  /** Default: all of the set. */
  readonly allowedCodecs?: readonly CodecName[];
  /** Refuses records without one: of a topic that is compacted. Default false. */
  readonly keyRequired?: boolean;
}

/** Throws CORRUPT_BATCH, INVALID_BATCH, BATCH_TOO_LARGE, UNSUPPORTED_CODEC, KEY_REQUIRED or INVALID_TIMESTAMP; all mean 'not written'. */
export function validateBatch(batch: Buffer, limits: BatchLimits): BatchHeader {
  try {
    checkFrame(batch);
    if (batch.length > limits.maxBatchBytes) {
      throw new TributaryError(
        'BATCH_TOO_LARGE',
        `the batch has ${batch.length} bytes, the limit is ${limits.maxBatchBytes}`,
        { details: { bytes: batch.length, maxBytes: limits.maxBatchBytes } },
      );
    }
    if (!checkCrc(batch)) throw corruptBatch('the CRC does not match the bytes of the batch');
    const header = readBatchHeader(batch);
    checkAttributes(header, limits);
    checkCount(header, limits);
    checkProducer(header);
    checkTimestamps(header, limits);
    walkRecords(batch, header, limits);
    return header;
  } catch (error) {
    throw TributaryError.from(error).withOutcome('not written');
  }
}

function checkAttributes(header: BatchHeader, limits: BatchLimits): void {
  const { attributes, codec, codecId } = header;
  if (header.isControl) throw invalidBatch('clients may not send control batches');
  if (header.isTransactional) throw invalidBatch('transactions are not supported');
  if (header.hasDeleteHorizon) throw invalidBatch('clients may not set a delete horizon');
  if (header.timestampType !== 'CreateTime') throw invalidBatch('timestamp type is not CreateTime');
  if (attributes & ATTRIBUTE.unknownMask) throw invalidBatch('unknown attribute bits are set');
  const allowed = limits.allowedCodecs ?? (limits.codecs ?? standardCodecs).names;
  if (codec === undefined || !allowed.includes(codec)) {
    throw unsupportedCodec(codec ?? codecId, allowed);
  }
}

function checkCount(header: BatchHeader, limits: BatchLimits): void {
  const { recordsCount, lastOffsetDelta } = header;
  if (recordsCount < 1) throw invalidBatch(`the header counts ${recordsCount} records`);
  if (recordsCount !== lastOffsetDelta + 1) {
    throw invalidBatch(
      `the header counts ${recordsCount} records and says the last offset delta is ${lastOffsetDelta}`,
    );
  }
  if (recordsCount > limits.maxRecordsPerBatch) {
    throw new TributaryError(
      'BATCH_TOO_LARGE',
      `the batch has ${recordsCount} records, the limit is ${limits.maxRecordsPerBatch}`,
      { hint: 'Send fewer records per batch.' },
    );
  }
}

function checkProducer(header: BatchHeader): void {
  const { producerId, producerEpoch, baseSequence } = header;
  const idempotent = producerId >= 0 && producerEpoch >= 0 && baseSequence >= 0;
  const plain = producerId === -1 && producerEpoch === -1 && baseSequence === -1;
  if (!idempotent && !plain) {
    throw invalidBatch(
      `producer id ${producerId}, epoch ${producerEpoch} and sequence ${baseSequence} do not go together`,
    );
  }
}

function checkTimestamps(header: BatchHeader, limits: BatchLimits): void {
  const { baseTimestamp, maxTimestamp } = header;
  const latest = Math.min(limits.now + limits.maxFutureMs, MAX_TIMESTAMP);
  if (maxTimestamp > latest) {
    throw new TributaryError(
      'INVALID_TIMESTAMP',
      `timestamp ${maxTimestamp} is more than ${limits.maxFutureMs} ms ahead of the broker's clock`,
    );
  }
  if (baseTimestamp < -1 || maxTimestamp < baseTimestamp) {
    throw new TributaryError(
      'INVALID_TIMESTAMP',
      `base timestamp ${baseTimestamp} and max timestamp ${maxTimestamp} do not go together`,
    );
  }
}

/** Every record has a sound shape, offset deltas are 0, 1, 2 ..., and the header's maxTimestamp is true. */
function walkRecords(batch: Buffer, header: BatchHeader, limits: BatchLimits): void {
  const reader = new RecordReader(inflateRecords(batch, header, limits));
  const { recordsCount, baseTimestamp, maxTimestamp } = header;
  let largestDelta = -Infinity;
  let smallestDelta = Infinity;
  for (let i = 0; i < recordsCount; i += 1) {
    reader.skipRecord();
    if (limits.keyRequired && !reader.hasKey) {
      throw new TributaryError('KEY_REQUIRED', `record ${i} of the batch has no key`);
    }
    if (reader.offsetDelta !== i) {
      throw invalidBatch(`record ${i} says that its offset delta is ${reader.offsetDelta}`);
    }
    if (reader.timestampDelta > largestDelta) largestDelta = reader.timestampDelta;
    if (reader.timestampDelta < smallestDelta) smallestDelta = reader.timestampDelta;
  }
  if (!reader.finished) {
    throw invalidBatch(`there are more records than the ${recordsCount} that the header counts`);
  }
  if (baseTimestamp + largestDelta !== maxTimestamp || baseTimestamp + smallestDelta < -1) {
    throw new TributaryError(
      'INVALID_TIMESTAMP',
      `the header says max timestamp ${maxTimestamp}, the records ${baseTimestamp + largestDelta}`,
    );
  }
}
