/**
 * Batches of an exact size, of 1 KiB records that do not compress, ready to be appended: the next sequence of one
 * idempotent producer, and for followers the next offset. More of them than fit in a processor's cache.
 */
import { randomBytes } from 'node:crypto';
import {
  assignOffsetAndEpoch,
  BatchBuilder,
  readBatchHeader,
  rewriteProducer,
  type RecordInput,
} from '@tributary/record';

const RECORD_BYTES = 1024;
const SEQUENCE_MODULUS = 2 ** 31;
export const LEADER_EPOCH = 0;

export class BatchRing {
  readonly batches: readonly Buffer[];
  readonly recordsPerBatch: number;
  private nextSequence = 0;

  constructor(batchBytes: number, count: number, timestamp: number) {
    this.batches = Array.from({ length: count }, () => buildExactly(batchBytes, timestamp));
    this.recordsPerBatch = readBatchHeader(this.batches[0] as Buffer).recordsCount;
  }

  /** Before a fresh log is written to. */
  restart(): void {
    this.nextSequence = 0;
  }

  /** Stamps all of them as what comes next; `nextOffset` is the log's end. */
  prepare(nextOffset: number): void {
    let offset = nextOffset;
    for (const batch of this.batches) {
      rewriteProducer(batch, {
        producerId: 1,
        producerEpoch: 0,
        baseSequence: this.nextSequence,
      });
      assignOffsetAndEpoch(batch, offset, LEADER_EPOCH);
      this.nextSequence = (this.nextSequence + this.recordsPerBatch) % SEQUENCE_MODULUS;
      offset += this.recordsPerBatch;
    }
  }
}

function buildExactly(batchBytes: number, timestamp: number): Buffer {
  const count = Math.floor((batchBytes - 61) / (RECORD_BYTES + 16));
  let lastBytes = RECORD_BYTES;
  for (let attempt = 0; attempt < 4; attempt += 1) {
    const batch = build(count, lastBytes, timestamp);
    if (batch.length === batchBytes) return batch;
    lastBytes += batchBytes - batch.length;
  }
  throw new Error(`no batch of exactly ${batchBytes} bytes could be built`);
}

function build(count: number, lastBytes: number, timestamp: number): Buffer {
  const builder = new BatchBuilder({ codec: 'none', initialBytes: count * (RECORD_BYTES + 32) });
  for (let i = 1; i <= count; i += 1) {
    builder.append(record(i < count ? RECORD_BYTES : lastBytes, timestamp));
  }
  return builder.build();
}

function record(valueBytes: number, timestamp: number): RecordInput {
  return { key: null, value: randomBytes(valueBytes), headers: [], timestamp };
}
