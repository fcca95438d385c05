/**
 * The intervals of a segment as its seal has them: base offset and position of the first batch, and the CRC-32C of the
 * first 21 bytes of each batch. Finds where to read, and what must be found there. Invariant: in memory as on
 * disk, entries of 12 bytes that rise in offset and position, the first at position 0; sums of whole intervals
 * never change while nothing is cut, so a read that waits for its bytes may keep what it saw. Called by the segment.
 */
import { CRC_FROM, continueCrc32c } from '@tributary/record';
import { INTERVAL_BYTES } from './segment-seal';

const FIRST_ENTRIES = 4;

export class IntervalIndex {
  private entries: Buffer;
  private used: number;

  /** @param stored `intervals` of a seal. */
  constructor(
    private readonly baseOffset: number,
    stored: Buffer = Buffer.alloc(0),
  ) {
    this.entries = stored;
    this.used = stored.length / INTERVAL_BYTES;
  }

  get count(): number {
    return this.used;
  }

  get memoryBytes(): number {
    return this.entries.length;
  }

  /** As a seal holds them. */
  get bytes(): Buffer {
    return this.entries.subarray(0, this.used * INTERVAL_BYTES);
  }

  firstOffset(i: number): number {
    return this.baseOffset + this.entries.readUInt32BE(i * INTERVAL_BYTES);
  }

  position(i: number): number {
    return this.entries.readUInt32BE(i * INTERVAL_BYTES + 4);
  }

  sum(i: number): number {
    return this.entries.readUInt32BE(i * INTERVAL_BYTES + 8);
  }

  /** The interval in which `offset` lies or would lie; the first one when it is before all. */
  containing(offset: number): number {
    return this.lastWhere((i) => this.firstOffset(i) <= offset);
  }

  /** The interval in which the byte at `position` lies; the last one when it is behind all. */
  at(position: number): number {
    return this.lastWhere((i) => this.position(i) <= position);
  }

  /** The next batch begins another interval. */
  begin(firstOffset: number, position: number): void {
    const at = this.used * INTERVAL_BYTES;
    if (at === this.entries.length) {
      const bigger = Buffer.alloc(Math.max(at * 2, FIRST_ENTRIES * INTERVAL_BYTES));
      this.entries.copy(bigger, 0, 0, at);
      this.entries = bigger;
    }
    this.entries.writeUInt32BE(firstOffset - this.baseOffset, at);
    this.entries.writeUInt32BE(position, at + 4);
    this.entries.writeUInt32BE(0, at + 8);
    this.used += 1;
  }

  /** A batch follows whose header is at `at`. */
  add(bytes: Buffer, at: number): void {
    const sumAt = this.used * INTERVAL_BYTES - 4;
    const sum = continueCrc32c(this.entries.readUInt32BE(sumAt), bytes, at, at + CRC_FROM);
    this.entries.writeUInt32BE(sum, sumAt);
  }

  /** Keeps the first `count`. In a copy: reads may still hold the old ones. */
  cut(count: number): IntervalIndex {
    return new IntervalIndex(
      this.baseOffset,
      Buffer.from(this.entries.subarray(0, count * INTERVAL_BYTES)),
    );
  }

  private lastWhere(holds: (i: number) => boolean): number {
    let low = 0;
    let high = this.used - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if (holds(middle)) low = middle;
      else high = middle - 1;
    }
    return low;
  }
}
