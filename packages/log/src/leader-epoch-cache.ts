/**
 * Which leader epoch starts at which offset of one log. Invariant: epochs and start offsets both rise strictly,
 * and the entries are those that a scan of the log would give, but for epochs in which nothing was written:
 * a leader records its epoch at the log end before it writes (KAFKA-7415). Pure; the log writes it down.
 *
 *     epoch    0        3          4
 *     offset   0 ...... 17 ....... 42 ...... log end      epoch 3 ends at 42, epoch 4 at the log end
 */
import type { EpochEnd } from './partition-log';
import { formatCheckpoint, parseCheckpoint, parseWholeNumber } from './checkpoint-format';

export interface EpochEntry {
  readonly epoch: number;
  readonly startOffset: number;
}

export class LeaderEpochCache {
  private list: EpochEntry[];

  constructor(entries: readonly EpochEntry[] = []) {
    this.list = [...entries];
  }

  /** Throws CORRUPT_LOG or UNKNOWN_FORMAT. */
  static parse(text: string, path: string): LeaderEpochCache {
    const cache = new LeaderEpochCache();
    for (const [epoch = '', startOffset = ''] of parseCheckpoint(text, path, 2)) {
      cache.assign(parseWholeNumber(epoch, path), parseWholeNumber(startOffset, path));
    }
    return cache;
  }

  format(): string {
    return formatCheckpoint(this.list.map(({ epoch, startOffset }) => [epoch, startOffset]));
  }

  get entries(): readonly EpochEntry[] {
    return this.list;
  }

  /** -1: none. */
  get latestEpoch(): number {
    return this.list.at(-1)?.epoch ?? -1;
  }

  /** `epoch` starts at `startOffset`, unless it started before; whatever contradicts that goes. True: something changed. */
  assign(epoch: number, startOffset: number): boolean {
    const latest = this.list.at(-1);
    if (latest && latest.epoch === epoch && latest.startOffset <= startOffset) return false;
    this.list = this.list.filter((one) => one.epoch < epoch && one.startOffset < startOffset);
    this.list.push({ epoch, startOffset });
    return true;
  }

  /** See PartitionLog.epochEnd. */
  endOf(epoch: number, logEndOffset: number): EpochEnd | undefined {
    for (let i = this.list.length - 1; i >= 0; i -= 1) {
      const entry = this.list[i] as EpochEntry;
      if (entry.epoch <= epoch) {
        const endOffset = this.list[i + 1]?.startOffset ?? logEndOffset;
        return { epoch: entry.epoch, endOffset };
      }
    }
    return undefined;
  }

  /** The epoch that a batch at `offset` has; -1: none is known. */
  epochOf(offset: number): number {
    return this.list.findLast((entry) => entry.startOffset <= offset)?.epoch ?? -1;
  }

  /** Removes the epochs that start at `offset` or later (KAFKA-10706: also when `offset` is the log end). */
  cutFrom(offset: number): boolean {
    const kept = this.list.filter((entry) => entry.startOffset < offset);
    const changed = kept.length < this.list.length;
    this.list = kept;
    return changed;
  }

  /** The log starts at `offset` now: the epoch that covers it starts there, older ones go. */
  cutBefore(offset: number): void {
    const covering = this.list.findLastIndex((entry) => entry.startOffset <= offset);
    if (covering < 0) return;
    const { epoch } = this.list[covering] as EpochEntry;
    this.list = [{ epoch, startOffset: offset }, ...this.list.slice(covering + 1)];
  }

  replace(entries: readonly EpochEntry[]): void {
    this.list = [...entries];
  }

  /**
   * The batches are right: takes the epoch changes that a scan found, in order, and drops entries that these contradict
   * (epoch 0 counts like any other, KAFKA-10432).
   */
  reconcile(changes: readonly EpochEntry[]): void {
    const written = this.list.filter((entry) =>
      changes.every(({ epoch, startOffset }) => {
        if (startOffset === entry.startOffset) return epoch === entry.epoch;
        return startOffset > entry.startOffset ? epoch >= entry.epoch : epoch < entry.epoch;
      }),
    );
    const known = new Set(written.map((entry) => entry.epoch));
    const missing = changes.filter((found) => !known.has(found.epoch));
    this.list = [...written, ...missing].sort((a, b) => a.epoch - b.epoch);
  }
}
