/**
 * One partition of a scripted cluster: a log in memory with the broker's rules for producers, and no more.
 * Invariant: a batch is appended once; whoever is refused learns why. Called by ScriptedBroker.
 */
import { TributaryError } from '@tributary/common';
import type { ProducePartition } from '@tributary/protocol';
import {
  decodeBatch,
  readBatchHeader,
  type BatchHeader,
  type DecodedRecord,
} from '@tributary/record';

/** What brokers remember of each producer. */
const REMEMBERED_BATCHES = 5;

interface ProducerMemory {
  epoch: number;
  nextSequence: number;
  batches: { readonly sequence: number; readonly count: number; readonly baseOffset: number }[];
}

export interface MovedReplicas {
  readonly replicas: number[];
  readonly isr: number[];
  readonly eligibleLeaders: number[];
  readonly addingReplicas: number[];
  readonly removingReplicas: number[];
}

export interface Appended {
  readonly baseOffset: number;
  readonly duplicate: boolean;
}

export class ScriptedPartition {
  readonly records: DecodedRecord[] = [];
  logStartOffset = 0;
  /** Told in the metadata while replicas are moved. */
  moved: Partial<MovedReplicas> = {};
  private readonly producers = new Map<number, ProducerMemory>();

  constructor(
    readonly partition: number,
    public leader: number,
    public leaderEpoch: number,
    private readonly maxBatchBytes: number,
  ) {}

  /** The values as text: what tests compare. */
  get values(): string[] {
    return this.records.map(({ value }) => value?.toString() ?? '(tombstone)');
  }

  /** As if its state had expired. */
  forgetProducers(): void {
    this.producers.clear();
  }

  /** Throws what a broker answers. */
  append({ batch }: ProducePartition): Appended {
    if (!batch) throw new TributaryError('INVALID_BATCH', 'no batch');
    if (batch.length > this.maxBatchBytes) {
      throw new TributaryError('BATCH_TOO_LARGE', `${batch.length} bytes`, {
        outcome: 'not written',
      });
    }
    const header = readBatchHeader(batch);
    const earlier = header.producerId < 0 ? undefined : this.checkSequence(header);
    if (earlier !== undefined) return { baseOffset: earlier, duplicate: true };
    const baseOffset = this.records.length;
    for (const record of decodeBatch(batch)) this.records.push(record);
    if (header.producerId >= 0) this.remember(header, baseOffset);
    return { baseOffset, duplicate: false };
  }

  /** The offset of the same batch, if it is there already. */
  private checkSequence(header: BatchHeader): number | undefined {
    const { producerId, producerEpoch, baseSequence, recordsCount } = header;
    const memory = this.producers.get(producerId);
    if (!memory) {
      if (baseSequence !== 0) throw refused('UNKNOWN_PRODUCER_ID', `producer ${producerId}`);
      return undefined;
    }
    if (producerEpoch < memory.epoch) {
      throw refused('INVALID_PRODUCER_EPOCH', `epoch ${producerEpoch} < ${memory.epoch}`);
    }
    if (producerEpoch > memory.epoch) {
      if (baseSequence !== 0) throw refused('OUT_OF_ORDER_SEQUENCE', 'a new epoch starts at 0');
      return undefined;
    }
    const same = memory.batches.find(
      ({ sequence, count }) => sequence === baseSequence && count === recordsCount,
    );
    if (same) return same.baseOffset;
    if (baseSequence === memory.nextSequence) return undefined;
    throw refused('OUT_OF_ORDER_SEQUENCE', `${baseSequence}, expected ${memory.nextSequence}`);
  }

  private remember(header: BatchHeader, baseOffset: number): void {
    const { producerId, producerEpoch, baseSequence, recordsCount } = header;
    const before = this.producers.get(producerId);
    const batches = before?.epoch === producerEpoch ? before.batches : [];
    batches.push({ sequence: baseSequence, count: recordsCount, baseOffset });
    this.producers.set(producerId, {
      epoch: producerEpoch,
      nextSequence: (baseSequence + recordsCount) % 2 ** 31,
      batches: batches.slice(-REMEMBERED_BATCHES),
    });
  }
}

function refused(
  code: 'UNKNOWN_PRODUCER_ID' | 'INVALID_PRODUCER_EPOCH' | 'OUT_OF_ORDER_SEQUENCE',
  message: string,
): TributaryError {
  return new TributaryError(code, message, { outcome: 'not written' });
}
