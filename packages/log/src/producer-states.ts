/**
 * Per producer id: epoch and the last five batches, which is as many as a producer has in flight. Invariant:
 * it is what a scan of the log gives, on every replica, so that a new leader knows a retry when it sees
 * one. `check` decides about a leader's append and changes nothing; `record` notes a batch that is
 * written, whoever wrote it. Bounded: beyond `PRODUCERS_MAX` the one that was silent longest is
 * forgotten, and refused if it comes back.
 */
import { TributaryError } from '@tributary/common';
import type { BatchHeader } from '@tributary/record';

export const BATCHES_PER_PRODUCER = 5;
/** Producers that one log remembers. */
export const PRODUCERS_MAX = 20_000;

const SEQUENCE_MODULUS = 2 ** 31;

export interface ProducedBatch {
  readonly baseSequence: number;
  readonly lastSequence: number;
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly timestamp: number;
}

export interface ProducerEntry {
  readonly producerId: number;
  readonly producerEpoch: number;
  /** Oldest first; at least one. */
  readonly batches: readonly ProducedBatch[];
}

export class ProducerStates {
  /** In the order of their last batch. */
  private readonly byId = new Map<number, ProducerEntry>();

  constructor(private readonly producersMax = PRODUCERS_MAX) {}

  get entries(): Iterable<ProducerEntry> {
    return this.byId.values();
  }

  get count(): number {
    return this.byId.size;
  }

  /** The batch that this one repeats, or undefined: it is the next. Throws what a leader answers otherwise. */
  check(header: BatchHeader): ProducedBatch | undefined {
    const { producerId, producerEpoch, baseSequence } = header;
    const known = this.byId.get(producerId);
    if (!known) {
      if (baseSequence === 0) return undefined;
      throw refusal('UNKNOWN_PRODUCER_ID', header, 'nothing of this producer is in the log');
    }
    if (producerEpoch < known.producerEpoch) {
      const problem = `a newer epoch, ${known.producerEpoch}, of this producer exists`;
      throw refusal('INVALID_PRODUCER_EPOCH', header, problem);
    }
    if (producerEpoch > known.producerEpoch) {
      if (baseSequence === 0) return undefined;
      throw refusal('OUT_OF_ORDER_SEQUENCE', header, 'a new epoch starts at sequence 0');
    }
    const lastSequence = lastSequenceOf(header);
    const repeated = known.batches.find(
      (batch) => batch.baseSequence === baseSequence && batch.lastSequence === lastSequence,
    );
    if (repeated) return repeated;
    const expected = nextSequence(known);
    if (baseSequence === expected) return undefined;
    throw refusal('OUT_OF_ORDER_SEQUENCE', header, `the next sequence is ${expected}`);
  }

  /** `header` with the offsets under which it is written. */
  record(header: BatchHeader): void {
    if (header.producerId < 0) return;
    const { producerId, producerEpoch, lastOffset } = header;
    this.put(producerId, producerEpoch, {
      baseSequence: header.baseSequence,
      lastSequence: lastSequenceOf(header),
      baseOffset: header.baseOffset,
      lastOffset,
      timestamp: header.maxTimestamp,
    });
  }

  put(producerId: number, producerEpoch: number, batch: ProducedBatch): void {
    const known = this.byId.get(producerId);
    const earlier = known?.producerEpoch === producerEpoch ? known.batches : [];
    const batches = [...earlier.slice(-(BATCHES_PER_PRODUCER - 1)), batch];
    this.byId.delete(producerId); // so that it goes to the end
    this.byId.set(producerId, { producerId, producerEpoch, batches });
    if (this.byId.size > this.producersMax) {
      for (const oldest of this.byId.keys()) {
        this.byId.delete(oldest);
        break;
      }
    }
  }

  /** Is anything remembered that lies at `offset` or beyond? */
  reaches(offset: number): boolean {
    for (const { batches } of this.byId.values()) {
      if ((batches.at(-1)?.lastOffset ?? -1) >= offset) return true;
    }
    return false;
  }
}

export function lastSequenceOf(header: BatchHeader): number {
  return (header.baseSequence + header.lastOffsetDelta) % SEQUENCE_MODULUS;
}

/** The inverse: of a batch with so many records. */
export function baseSequenceOf(lastSequence: number, lastOffsetDelta: number): number {
  return (lastSequence - lastOffsetDelta + SEQUENCE_MODULUS) % SEQUENCE_MODULUS;
}

function nextSequence(entry: ProducerEntry): number {
  return ((entry.batches.at(-1)?.lastSequence ?? -1) + 1) % SEQUENCE_MODULUS;
}

function refusal(
  code: 'UNKNOWN_PRODUCER_ID' | 'INVALID_PRODUCER_EPOCH' | 'OUT_OF_ORDER_SEQUENCE',
  { producerId, producerEpoch, baseSequence }: BatchHeader,
  problem: string,
): TributaryError {
  return new TributaryError(
    code,
    `producer ${producerId} epoch ${producerEpoch} sent sequence ${baseSequence}: ${problem}`,
    { outcome: 'not written', details: { producerId, producerEpoch, baseSequence } },
  );
}
