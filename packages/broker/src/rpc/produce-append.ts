/**
 * One partition entry of a produce request, up to the append. Synchronous from the first check to the
 * append, so that no change of leadership comes between. Whatever it throws says what happened to the write:
 * 'not written', unless the disk failed. Called by the produce requests.
 */
import { hasCode, TributaryError } from '@tributary/common';
import type { ProducePartition } from '@tributary/protocol';
import { BATCH_HEADER_BYTES, validateBatch, type BatchLimits } from '@tributary/record';
import type { Partition } from '../partition/partition';
import { ledPartition, type Caller, type DataHost } from './data-host';
import { encodeStructured } from './produce-structured';

export interface Appended {
  readonly partition: Partition;
  readonly baseOffset: number;
  /** What the HW must reach before acks=all is answered. */
  readonly endOffset: number;
  readonly duplicate: boolean;
}

const RECORDS_COUNT_AT = 57;

export function appendEntry(
  host: DataHost,
  entry: ProducePartition,
  acks: number,
  caller: Caller,
): Appended {
  try {
    return append(host, entry, acks, caller);
  } catch (thrown) {
    const error = TributaryError.from(thrown);
    throw error.outcome ? error : error.withOutcome('not written');
  }
}

function append(host: DataHost, entry: ProducePartition, acks: number, caller: Caller): Appended {
  const { partition } = ledPartition(host, entry, caller);
  if (acks === -1) {
    partition.requireMinIsr();
  } else if (host.isIsolated) {
    throw isolated();
  }
  const waits = acks === -1 || (acks === 1 && partition.config.flush === 'sync');
  if (waits && host.budget.full) {
    throw overloaded(`${host.budget.maxWaiters} answers are owed already`);
  }
  const batch = batchOf(host, entry, partition);
  checkSize(batch, partition);
  const { maxRecordsPerBatch, maxFutureMs, maxInflatedBatchBytes: maxInflatedBytes } = host.limits;
  const now = host.clock.wallTime();
  const { maxMessageBytes: maxBatchBytes, cleanupPolicy } = partition.config;
  const keyRequired = cleanupPolicy !== 'delete';
  validate(batch, partition, {
    maxBatchBytes,
    maxRecordsPerBatch,
    maxInflatedBytes,
    now,
    maxFutureMs,
    keyRequired,
  });
  const { baseOffset, lastOffset, duplicate } = partition.append(batch, entry.expectedOffset);
  return { partition, baseOffset, endOffset: lastOffset + 1, duplicate };
}

/** Whose records lack a key: a client may have batches for many topics on their way. */
function validate(batch: Buffer, { name }: Partition, limits: BatchLimits): void {
  try {
    validateBatch(batch, limits);
  } catch (error) {
    if (!hasCode(error, 'KEY_REQUIRED')) throw error;
    const { code, message, outcome, details } = error;
    throw new TributaryError(code, `${name}: ${message}`, { outcome, details });
  }
}

function batchOf(host: DataHost, entry: ProducePartition, partition: Partition): Buffer {
  if (entry.records) return encodeStructured(host, entry.records);
  if (entry.batch) return entry.batch;
  throw new TributaryError('INVALID_ARGUMENT', `no batch and no records for ${partition.name}`);
}

/** Before the CRC: nothing is computed over what is refused anyway. */
function checkSize(batch: Buffer, partition: Partition): void {
  const { maxMessageBytes } = partition.config;
  if (batch.length <= maxMessageBytes) return;
  const single = batch.length >= BATCH_HEADER_BYTES && batch.readInt32BE(RECORDS_COUNT_AT) === 1;
  throw new TributaryError(
    single ? 'RECORD_TOO_LARGE' : 'BATCH_TOO_LARGE',
    `the ${single ? 'record' : 'batch'} has ${batch.length} bytes, ${partition.topic} takes ${maxMessageBytes}`,
    { details: { bytes: batch.length, maxBytes: maxMessageBytes } },
  );
}

export function overloaded(why: string): TributaryError {
  const outcome = 'not written';
  return new TributaryError('OVERLOADED', `this broker is overloaded: ${why}`, { outcome });
}

function isolated(): TributaryError {
  return new TributaryError(
    'UNAVAILABLE',
    'this broker has lost contact with ZooKeeper and the controller: only acks=all is accepted',
    { hint: 'Use acks=all, or wait until the broker is in contact again.' },
  );
}
