/**
 * Last offset of a batch -> its position in the segment, for one batch about every 4 KiB. Entry: offset
 * minus base offset i32, position i32. Kept for Kafka's tools; we find batches by the intervals of the seal, which
 * know where each begins, and so need not read one too many. Called by the segment.
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
}
