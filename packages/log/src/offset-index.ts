/**
 * Last offset of a batch -> its position in the segment, for one batch about every 4 KiB. Entry: offset
 * minus base offset i32, position i32. Called by the segment.
 */
import type { Disk } from './disk';
import { SparseIndex } from './sparse-index';

const ENTRY_BYTES = 8;

export class OffsetIndex extends SparseIndex {
  constructor(
    disk: Disk,
    path: string,
    private readonly baseOffset: number,
  ) {
    super(disk, path, ENTRY_BYTES);
  }

  append(lastOffset: number, position: number): void {
    const at = this.extend();
    this.bytes.writeInt32BE(lastOffset - this.baseOffset, at);
    this.bytes.writeInt32BE(position, at + 4);
  }

  /** A batch boundary at or before the batch that contains `offset`. */
  lookup(offset: number): number {
    const below = this.countWhile((i) => this.offset(i) <= offset);
    return below === 0 ? 0 : this.position(below - 1);
  }

  get lastPosition(): number {
    return this.count === 0 ? 0 : this.position(this.count - 1);
  }

  cutFrom(offset: number): void {
    this.keep(this.countWhile((i) => this.offset(i) < offset));
  }

  protected rises(i: number): boolean {
    if (i === 0) return this.offset(0) >= this.baseOffset && this.position(0) > 0;
    return this.offset(i) > this.offset(i - 1) && this.position(i) > this.position(i - 1);
  }

  private offset(i: number): number {
    return this.baseOffset + this.bytes.readInt32BE(i * ENTRY_BYTES);
  }

  private position(i: number): number {
    return this.bytes.readInt32BE(i * ENTRY_BYTES + 4);
  }
}
