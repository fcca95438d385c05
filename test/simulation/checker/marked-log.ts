/**
 * What a log holds, without its records: one mark per batch, kept in step with each append and truncation. Invariant: marks
 * rise in offset and do not overlap. Called by PartitionModel, which compares the logs of all replicas by it.
 */
import { readBatchHeader } from '@tributary/record';

export interface BatchMark {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly epoch: number;
  readonly crc: number;
  readonly bytes: Buffer;
}

export function markOf(batch: Buffer): BatchMark {
  const { baseOffset, lastOffset, leaderEpoch, crc } = readBatchHeader(batch);
  return { baseOffset, lastOffset, epoch: leaderEpoch, crc, bytes: batch };
}

export function isSame(one: BatchMark, other: BatchMark): boolean {
  return (
    one.baseOffset === other.baseOffset &&
    one.lastOffset === other.lastOffset &&
    one.epoch === other.epoch &&
    one.crc === other.crc &&
    one.bytes.equals(other.bytes)
  );
}

export function describe({ baseOffset, lastOffset, epoch, crc }: BatchMark): string {
  return `[${baseOffset}..${lastOffset} epoch ${epoch} crc ${crc.toString(16)}]`;
}

export class MarkedLog {
  marks: BatchMark[] = [];

  constructor(
    public start = 0,
    public end = 0,
  ) {}

  get last(): BatchMark | undefined {
    return this.marks.at(-1);
  }

  append(mark: BatchMark): void {
    this.marks.push(mark);
    this.end = mark.lastOffset + 1;
  }

  truncate(end: number): void {
    while (this.last && this.last.lastOffset >= end) this.marks.pop();
    this.end = end;
  }

  restart(at: number): void {
    this.marks = [];
    this.start = at;
    this.end = at;
  }

  /** Those that hold an offset from `from` (inclusive) to `below`. */
  between(from: number, below: number): BatchMark[] {
    const found: BatchMark[] = [];
    for (let at = this.indexOf(from); at < this.marks.length; at += 1) {
      const mark = this.marks[at]!;
      if (mark.baseOffset >= below) break;
      found.push(mark);
    }
    return found;
  }

  /** Of the first mark that reaches to `offset` or beyond. */
  private indexOf(offset: number): number {
    let low = 0;
    let high = this.marks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.marks[middle]!.lastOffset < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
