/**
 * One batch of a producer from its first record to its fate: the open builder, then the encoded bytes, and who
 * waits for each record. Invariant: every record is told once. Called by PartitionSender.
 */
import { assert, type TributaryError } from '@tributary/common';
import {
  BatchBuilder,
  decodeBatch,
  rewriteProducer,
  type CodecName,
  type CodecSet,
  type RecordInput,
} from '@tributary/record';
import type { NewBatch, Stamp } from './sender/sender-state';

/** Who waits for a record. Neither method throws. */
export interface Delivery {
  written(partition: number, offset: number, timestamp: number): void;
  failed(error: TributaryError): void;
}

export interface AcceptedRecord {
  readonly record: RecordInput;
  readonly delivery: Delivery;
  /** What it takes of the producer's budget. */
  readonly bytes: number;
  /** When its delivery timeout began, on the monotonic clock. */
  readonly acceptedAt: number;
}

export interface BatchSettings {
  readonly codec: CodecName;
  readonly codecs: CodecSet;
  readonly batchBytes: number;
}

interface Waiting {
  readonly delivery: Delivery;
  readonly timestamp: number;
  readonly bytes: number;
}

export class RecordBatch {
  private builder: BatchBuilder | undefined;
  private encoded: Buffer | undefined;
  private stamp: Stamp | undefined;
  private readonly waiting: Waiting[] = [];
  private reserved = 0;
  private readonly settledCallbacks: (() => void)[] = [];

  constructor(
    readonly id: number,
    private readonly settings: BatchSettings,
    readonly acceptedAt: number,
  ) {
    const { codec, codecs, batchBytes } = settings;
    this.builder = new BatchBuilder({ codec, codecs, maxBytes: batchBytes });
  }

  get records(): number {
    return this.waiting.length;
  }

  /** Budget that it holds. */
  get bytes(): number {
    return this.reserved;
  }

  get full(): boolean {
    return (this.builder?.sizeInBytes ?? 0) >= this.settings.batchBytes;
  }

  /** False: it does not fit any more. Throws INVALID_TIMESTAMP. */
  tryAppend(accepted: AcceptedRecord): boolean {
    assert(this.builder, 'append to a batch that is sealed');
    if (!this.builder.tryAppend(accepted.record)) return false;
    const { delivery, bytes, record } = accepted;
    this.waiting.push({ delivery, bytes, timestamp: record.timestamp });
    this.reserved += bytes;
    return true;
  }

  summary(deliveryTimeoutMs: number): NewBatch {
    return {
      id: this.id,
      records: this.waiting.length,
      deadline: this.acceptedAt + deliveryTimeoutMs,
    };
  }

  /** The bytes as they go out, under these numbers. */
  encode(stamp: Stamp | undefined): Buffer {
    if (!this.encoded) {
      assert(this.builder, 'a batch has a builder or bytes');
      this.encoded = this.builder.build(stamp);
      this.builder = undefined;
    } else if (stamp && !sameStamp(stamp, this.stamp)) {
      rewriteProducer(this.encoded, stamp);
    }
    this.stamp = stamp;
    return this.encoded;
  }

  /** Two batches with its records, in order. This one is empty then, and settled by them. */
  split(firstId: number): [RecordBatch, RecordBatch] {
    assert(this.encoded && this.records > 1, 'only an encoded batch of several records is split');
    const records = decodeBatch(this.encoded, {
      checkCrc: false,
      codecs: this.settings.codecs,
    });
    const middle = Math.ceil(records.length / 2);
    const first = this.part(firstId, records.slice(0, middle), 0);
    const second = this.part(firstId + 1, records.slice(middle), middle);
    let open = 2;
    const partSettled = (): void => {
      open -= 1;
      if (open === 0) this.settled();
    };
    first.onSettled(partSettled);
    second.onSettled(partSettled);
    return [first, second];
  }

  written(partition: number, baseOffset: number): void {
    this.waiting.forEach(({ delivery, timestamp }, index) => {
      delivery.written(partition, baseOffset < 0 ? -1 : baseOffset + index, timestamp);
    });
    this.settled();
  }

  failed(error: TributaryError): void {
    for (const { delivery } of this.waiting) delivery.failed(error);
    this.settled();
  }

  onSettled(callback: () => void): void {
    this.settledCallbacks.push(callback);
  }

  private part(id: number, records: readonly RecordInput[], from: number): RecordBatch {
    // Without a limit of its own: these records were together in one batch already.
    const settings = { ...this.settings, batchBytes: Number.MAX_SAFE_INTEGER };
    const part = new RecordBatch(id, settings, this.acceptedAt);
    records.forEach((record, index) => {
      const { delivery, bytes } = this.waiting[from + index] as Waiting;
      part.tryAppend({ record, delivery, bytes, acceptedAt: this.acceptedAt });
    });
    return part;
  }

  private settled(): void {
    for (const callback of this.settledCallbacks.splice(0)) callback();
  }
}

function sameStamp(one: Stamp, other: Stamp | undefined): boolean {
  return (
    one.producerId === other?.producerId &&
    one.producerEpoch === other.producerEpoch &&
    one.baseSequence === other.baseSequence
  );
}
