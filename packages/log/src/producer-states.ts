/**
 * Per producer id: epoch and the last five batches, which is as many as a producer has in flight. Invariant:
 * it is what a scan of the log gives, on every replica, so that a new leader knows a retry when it sees
 * one. `check` decides about a leader's append and changes nothing; `record` notes a batch that is
 * written, whoever wrote it. Bounded: beyond `PRODUCERS_MAX` the one that was silent longest is
 * forgotten, and refused if it comes back.
 *
 * A producer expires when it was silent for `PRODUCER_ID_EXPIRATION_MS` by the broker's clock, counted from the
 * timestamp of its last batch or from when that was written here, whichever is later: who writes records of
 * last year has not been silent since then (KAFKA-6817). When a batch was written is not in the log; after a start it is
 * taken for as late as it can have been: the time at which its segment was sealed, or the present for the
 * active segment. So a restart never makes a producer expire earlier. An expired one is refused at once, and
 * forgotten only when the seal alone says so: that depends on nothing but the files and the time, and what is
 * remembered is the same after a recovery as before it.
 */
import { TributaryError } from '@tributary/common';
import type { BatchHeader } from '@tributary/record';

export const BATCHES_PER_PRODUCER = 5;
/** Producers that one log remembers. */
export const PRODUCERS_MAX = 20_000;
/** A producer that is silent for so long may be forgotten. */
export const PRODUCER_ID_EXPIRATION_MS = 24 * 60 * 60 * 1000;

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

export interface ProducerLimits {
  readonly producersMax?: number;
  readonly expirationMs?: number;
}

export class ProducerStates {
  /** In the order of their last batch. */
  private readonly byId = new Map<number, ProducerEntry>();
  /** Wall time at which the last batch of each was written here, or at the latest. */
  private readonly writtenAt = new Map<number, number>();
  private readonly producersMax: number;
  private readonly expirationMs: number;

  constructor(limits: ProducerLimits = {}) {
    this.producersMax = limits.producersMax ?? PRODUCERS_MAX;
    this.expirationMs = limits.expirationMs ?? PRODUCER_ID_EXPIRATION_MS;
  }

  get entries(): Iterable<ProducerEntry> {
    return this.byId.values();
  }

  get count(): number {
    return this.byId.size;
  }

  /**
   * The batch that this one repeats, or undefined: it is the next. Throws what a leader answers otherwise.
   * @param now wall time
   */
  check(header: BatchHeader, now: number): ProducedBatch | undefined {
    const { producerId, producerEpoch, baseSequence } = header;
    const known = this.byId.get(producerId);
    if (!known || this.isExpired(known, now)) {
      if (baseSequence === 0) return undefined;
      const problem = known
        ? 'it was silent for too long'
        : 'nothing of this producer is in the log';
      throw refusal('UNKNOWN_PRODUCER_ID', header, problem);
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
    // The newest: one that had expired and began anew has had these sequences before.
    const repeated = known.batches.findLast(
      (batch) => batch.baseSequence === baseSequence && batch.lastSequence === lastSequence,
    );
    if (repeated) return repeated;
    const expected = nextSequence(known);
    if (baseSequence === expected) return undefined;
    throw refusal('OUT_OF_ORDER_SEQUENCE', header, `the next sequence is ${expected}`);
  }

  /** `header` with the offsets under which it is written. @param now wall time; undefined: it was written some time ago */
  record(header: BatchHeader, now?: number): void {
    if (header.producerId < 0) return;
    const { producerId, producerEpoch, lastOffset } = header;
    if (now !== undefined) this.writtenAt.set(producerId, now);
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
        this.forget(oldest);
        break;
      }
    }
  }

  /** After a load: when the batch that ends at an offset was written at the latest. */
  assumeWritten(atTheLatest: (lastOffset: number) => number): void {
    for (const { producerId, batches } of this.byId.values()) {
      this.writtenAt.set(producerId, atTheLatest(batches.at(-1)?.lastOffset ?? -1));
    }
  }

  /**
   * Forgets who expired, as long as the files say so too.
   * @param sealedAt of the segment with this offset; undefined: it is still written to
   */
  forgetExpired(now: number, sealedAt: (offset: number) => number | undefined): void {
    for (const entry of [...this.byId.values()]) {
      if (!this.isExpired(entry, now)) continue;
      const writtenBefore = sealedAt(entry.batches.at(-1)?.lastOffset ?? -1);
      if (writtenBefore === undefined || now - writtenBefore < this.expirationMs) continue;
      this.forget(entry.producerId);
    }
  }

  private isExpired({ producerId, batches }: ProducerEntry, now: number): boolean {
    const timestamp = batches.at(-1)?.timestamp ?? -1;
    return now - Math.max(timestamp, this.writtenAt.get(producerId) ?? now) >= this.expirationMs;
  }

  private forget(producerId: number): void {
    this.byId.delete(producerId);
    this.writtenAt.delete(producerId);
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
