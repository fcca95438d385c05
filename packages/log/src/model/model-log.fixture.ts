/**
 * What one log should be, in the most obvious way: all batches that were ever appended to this history, in a list, and beside it
 * a few numbers. Nothing is deleted from it but by truncation: what retention, compaction and a power failure may have
 * taken is judged where the real log is compared with it. Called by the model test of the log.
 */

export interface ModelRecord {
  readonly offset: number;
  readonly key: string;
  /** null: a tombstone. */
  readonly value: string | null;
  readonly timestamp: number;
}

export interface ModelBatch {
  readonly base: number;
  readonly last: number;
  readonly epoch: number;
  readonly producer: ModelSequence | undefined;
  readonly records: readonly ModelRecord[];
}

export interface ModelSequence {
  readonly id: number;
  readonly epoch: number;
  readonly baseSequence: number;
}

export interface ModelEpoch {
  readonly epoch: number;
  readonly startOffset: number;
}

export interface ModelProducer {
  readonly producerId: number;
  readonly producerEpoch: number;
  readonly batches: readonly {
    readonly baseSequence: number;
    readonly lastSequence: number;
    readonly baseOffset: number;
    readonly lastOffset: number;
  }[];
}

const BATCHES_PER_PRODUCER = 5;

export class ModelLog {
  batches: ModelBatch[] = [];
  epochs: ModelEpoch[] = [];
  /** Where this history begins. */
  origin = 0;
  start = 0;
  /** A start after a crash may find the log start between this and `start`. */
  storedStart = 0;
  highWatermark = 0;
  /** Everything below it is on the device, as somebody was told. */
  synced = 0;
  /** Up to where compaction may have passed, and since when; rising. */
  passes: { readonly to: number; readonly at: number }[] = [];
  /** Of what went before `origin`. */
  inherited: readonly ModelProducer[] = [];
  /** Was the last epoch, in which nothing is written, assigned by a leader, and is it on the device? */
  assigned: 'not' | 'in place' | 'durable' = 'not';

  get end(): number {
    const last = this.batches.at(-1);
    return last ? last.last + 1 : this.origin;
  }

  /** -1: none. */
  get latestEpoch(): number {
    return this.epochs.at(-1)?.epoch ?? -1;
  }

  /** The latest one in which something is written; -1: none. */
  get writtenEpoch(): number {
    return this.epochs.findLast(({ startOffset }) => startOffset < this.end)?.epoch ?? -1;
  }

  /** Compaction may have taken superseded records below it. */
  get passedTo(): number {
    return this.passes.at(-1)?.to ?? 0;
  }

  get records(): ModelRecord[] {
    return this.batches.flatMap(({ records }) => records);
  }

  get producers(): Map<number, ModelProducer> {
    const found = new Map(this.inherited.map((one) => [one.producerId, one]));
    for (const { producer, base, last } of this.batches) {
      if (!producer) continue;
      const known = found.get(producer.id);
      const before = known?.producerEpoch === producer.epoch ? known.batches : [];
      const { id: producerId, epoch: producerEpoch, baseSequence } = producer;
      const lastSequence = baseSequence + last - base;
      const batch = { baseSequence, lastSequence, baseOffset: base, lastOffset: last };
      const batches = [...before, batch].slice(-BATCHES_PER_PRODUCER);
      found.set(producerId, { producerId, producerEpoch, batches });
    }
    return found;
  }

  /** The next sequence of this producer in its present epoch. */
  nextSequence(id: number): { readonly epoch: number; readonly baseSequence: number } {
    const known = this.producers.get(id);
    if (!known) return { epoch: 0, baseSequence: 0 };
    return { epoch: known.producerEpoch, baseSequence: known.batches.at(-1)!.lastSequence + 1 };
  }

  add(batch: ModelBatch): void {
    this.assign(batch.epoch, batch.base);
    this.batches.push(batch);
  }

  /** Something older is about to be written than the epoch in which nobody wrote. */
  forgetEmptyEpoch(): void {
    this.epochs = this.epochs.filter(({ startOffset }) => startOffset < this.end);
    this.assigned = 'not';
  }

  assign(epoch: number, startOffset: number): void {
    if (epoch <= this.latestEpoch) return;
    const kept = this.epochs.filter((one) => one.startOffset < startOffset);
    this.epochs = [...kept, { epoch, startOffset }];
    this.assigned = 'not';
  }

  commit(offset: number): void {
    this.highWatermark = Math.max(this.highWatermark, Math.min(offset, this.end));
  }

  /** Compaction may run now. */
  mayPass(at: number): void {
    if (this.highWatermark > this.passedTo) this.passes.push({ to: this.highWatermark, at });
  }

  /** Where it would end. */
  endAfterCut(offset: number): number {
    const kept = this.batches.findLast(({ last }) => last < offset);
    return offset >= this.end ? this.end : (kept?.last ?? this.origin - 1) + 1;
  }

  truncate(offset: number): void {
    const end = this.endAfterCut(offset);
    this.batches = this.batches.filter(({ last }) => last < end);
    this.epochs = this.epochs.filter(({ startOffset }) => startOffset < end);
    this.start = Math.min(this.start, end);
    this.storedStart = Math.min(this.storedStart, end);
    this.highWatermark = Math.min(this.highWatermark, end);
    this.synced = Math.min(this.synced, end);
    this.passes = this.passes.map(({ to, at }) => ({ to: Math.min(to, end), at }));
    this.assigned = 'not';
  }

  restart(offset: number): void {
    Object.assign(this, new ModelLog());
    this.origin = this.start = this.highWatermark = offset;
  }

  clone(): ModelLog {
    const copy = Object.assign(new ModelLog(), this);
    copy.batches = [...this.batches];
    return copy;
  }

  /** What of it ends at `end`. undefined: no batch does. */
  prefix(end: number): ModelLog | undefined {
    const copy = this.clone();
    const { epochs, assigned } = this;
    copy.truncate(end);
    if (end < this.end) return copy.end === end ? copy : undefined;
    Object.assign(copy, { epochs, assigned });
    return end === this.end ? copy : undefined;
  }
}

/** As they are seen from `start` on. */
export function epochsFrom(epochs: readonly ModelEpoch[], start: number): ModelEpoch[] {
  const covering = epochs.findLastIndex(({ startOffset }) => startOffset <= start);
  if (covering < 0) return [...epochs];
  return [{ epoch: epochs[covering]!.epoch, startOffset: start }, ...epochs.slice(covering + 1)];
}
