/** One partition of a FetchCluster: whole batches in memory. Called by the cluster and its tests. */
import { TributaryError } from '@tributary/common';
import {
  assignOffsetAndEpoch,
  BatchBuilder,
  readBatchHeader,
  type RecordInput,
} from '@tributary/record';

export class FetchedLog {
  leaderEpoch = 1;
  start = 0;
  end = 0;
  private batches: Buffer[] = [];
  private waiters: (() => void)[] = [];

  constructor(
    readonly topic: string,
    readonly topicId: string,
    readonly partition: number,
    public leader: number,
  ) {}

  append(values: readonly (string | RecordInput)[]): void {
    const builder = new BatchBuilder({ codec: 'none', initialBytes: 256 });
    for (const value of values) {
      builder.append(
        typeof value === 'string'
          ? { key: null, value: Buffer.from(value), headers: [], timestamp: 1_000 + this.end }
          : value,
      );
    }
    const batch = builder.build();
    assignOffsetAndEpoch(batch, this.end, this.leaderEpoch);
    this.appendBytes(batch);
  }

  /** As they are, for tests of damaged or gapped batches. */
  appendBytes(batch: Buffer): void {
    this.batches.push(batch);
    this.end = readBatchHeader(batch).lastOffset + 1;
    this.wake();
  }

  /** The batch that holds this offset, changed in place. */
  damage(offset: number, change: (batch: Buffer) => void): void {
    const found = this.batches.find((batch) => readBatchHeader(batch).lastOffset >= offset);
    if (found) change(found);
  }

  moveTo(leader: number): void {
    this.leader = leader;
    this.leaderEpoch += 1;
    this.wake();
  }

  /** As retention would. */
  deleteBefore(offset: number): void {
    this.start = offset;
    this.batches = this.batches.filter((batch) => readBatchHeader(batch).lastOffset >= offset);
  }

  /** Whole batches from the one that holds the offset; the first one whatever its size. Throws OFFSET_OUT_OF_RANGE. */
  read(offset: number, maxBytes: number): Buffer {
    if (offset < this.start || offset > this.end) {
      throw new TributaryError(
        'OFFSET_OUT_OF_RANGE',
        `offset ${offset} is not within ${this.start} to ${this.end}`,
      );
    }
    const found: Buffer[] = [];
    let bytes = 0;
    for (const batch of this.batches) {
      if (readBatchHeader(batch).lastOffset < offset) continue;
      if (found.length > 0 && bytes + batch.length > maxBytes) break;
      found.push(batch);
      bytes += batch.length;
    }
    return Buffer.concat(found);
  }

  /** An unclean election: the new leader has nothing from `offset` (of the start of a batch) on. */
  truncate(offset: number, leader: number): void {
    this.batches = this.batches.filter((batch) => readBatchHeader(batch).lastOffset < offset);
    this.end = offset;
    this.moveTo(leader);
  }

  /** Where this log parts from one that ends at `offset` with a record of `lastEpoch`; undefined: it does not. */
  divergence(offset: number, lastEpoch: number): { readonly offset: number } | undefined {
    const headers = this.batches.map((batch) => readBatchHeader(batch));
    const before = headers.findLast((header) => header.baseOffset < offset);
    if (!before || (before.leaderEpoch === lastEpoch && before.lastOffset >= offset - 1))
      return undefined;
    const floor = headers.findLast(({ leaderEpoch }) => leaderEpoch <= lastEpoch);
    const end = floor ? floor.lastOffset + 1 : this.start;
    return { offset: floor?.leaderEpoch === lastEpoch ? end : Math.min(end, offset - 1) };
  }

  /** Once, at the next change. */
  onChange(listener: () => void): void {
    this.waiters.push(listener);
  }

  private wake(): void {
    for (const listener of this.waiters.splice(0)) listener();
  }
}
