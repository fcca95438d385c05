/**
 * Largest timestamp so far -> last offset of the batch that has it. Entry (T, O) says: what is later than T
 * lies behind O. Entry: timestamp i64, offset minus base offset i32. A sealed segment's last entry is its
 * largest timestamp. Called by the segment.
 */
import type { Disk } from './disk';
import type { TimestampedOffset } from './partition-log';
import { SparseIndex } from './sparse-index';

const ENTRY_BYTES = 12;

export class TimeIndex extends SparseIndex {
  constructor(
    disk: Disk,
    path: string,
    private readonly baseOffset: number,
  ) {
    super(disk, path, ENTRY_BYTES);
  }

  /** Nothing when `timestamp` is not later than the last entry's. */
  append(timestamp: number, offset: number): void {
    if (this.count > 0 && timestamp <= this.timestamp(this.count - 1)) return;
    const at = this.extend();
    this.bytes.writeBigInt64BE(BigInt(timestamp), at);
    this.bytes.writeInt32BE(offset - this.baseOffset, at + 8);
  }

  /** From which offset on to look for the first timestamp at or after this. */
  lookup(timestamp: number): number {
    const below = this.countWhile((i) => this.timestamp(i) <= timestamp);
    return below === 0 ? this.baseOffset : this.offset(below - 1);
  }

  get last(): TimestampedOffset | undefined {
    if (this.count === 0) return undefined;
    const i = this.count - 1;
    return { timestamp: this.timestamp(i), offset: this.offset(i) };
  }

  cutFrom(offset: number): void {
    this.keep(this.countWhile((i) => this.offset(i) < offset));
  }

  private timestamp(i: number): number {
    return Number(this.bytes.readBigInt64BE(i * ENTRY_BYTES));
  }

  private offset(i: number): number {
    return this.baseOffset + this.bytes.readInt32BE(i * ENTRY_BYTES + 8);
  }
}
