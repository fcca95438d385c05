/**
 * Compares the first 21 bytes of each batch (offset, length, epoch, magic, CRC: what the batch's CRC does not cover) with
 * the sums in the seal, interval by interval, and passes on headers that may be believed: those of an interval
 * that checks, or that would if the one byte that changed were put right. Called by the inspection of a segment.
 */
import { crc32c, readBatchHeader, type BatchHeader } from '@tributary/record';
import { intervalsOf, type SealInterval, type SegmentSeal } from '../segment-seal';
import type { WalkedBatch } from './batch-walk';
import { findWrongByte } from './wrong-byte';
import { MEANING, type InspectionReport } from './report';

/** First byte that a batch's own CRC covers. */
const UNCOVERED_BYTES = 21;

export interface BelievedBatch {
  readonly position: number;
  readonly header: BatchHeader;
}

export type Believed = BelievedBatch | WalkedBatch | typeof GAP;

/** Stands where something lies that is no batch. */
export const GAP = Symbol('gap');

export class IntervalCheck {
  private readonly intervals: readonly SealInterval[];
  private current = 0;
  private entries: (WalkedBatch | typeof GAP)[] = [];
  /** Something in it is wrong already and was told. */
  private isTold = false;

  constructor(
    private readonly path: string,
    seal: SegmentSeal,
    private readonly report: InspectionReport,
  ) {
    this.intervals = intervalsOf(seal);
  }

  /** Where batches begin. */
  get positions(): number[] {
    return this.intervals.map((interval) => interval.position);
  }

  /** Gives the batches of the interval that ends before this one. */
  add(batch: WalkedBatch): Believed[] {
    const believed = this.endBefore(batch.position);
    this.entries.push(batch);
    if (!batch.crcMatches) this.isTold = true;
    return believed;
  }

  /** Something that is no batch lies at `position`. */
  addBroken(position: number): Believed[] {
    const believed = this.endBefore(position);
    this.entries.push(GAP);
    this.isTold = true;
    return believed;
  }

  finish(): Believed[] {
    return this.endBefore(Infinity);
  }

  private endBefore(position: number): Believed[] {
    if (position < this.beginOf(this.current + 1)) return [];
    const believed = this.check(this.intervals[this.current]);
    while (this.current < this.intervals.length && this.beginOf(this.current + 1) <= position) {
      this.current += 1;
    }
    this.entries = [];
    this.isTold = false;
    return believed;
  }

  private beginOf(interval: number): number {
    return this.intervals[interval]?.position ?? Infinity;
  }

  private check(interval: SealInterval | undefined): Believed[] {
    const batches = this.entries.filter((entry) => entry !== GAP);
    const heads = Buffer.concat(batches.map(({ bytes }) => bytes.subarray(0, UNCOVERED_BYTES)));
    if (!interval || this.isTold || crc32c(heads) === interval.crc) return this.entries;
    const wrong = findWrongByte(heads, interval.crc);
    const damaged = wrong && batches[Math.floor(wrong.position / UNCOVERED_BYTES)];
    if (!wrong || !damaged) {
      this.report.damage({
        path: this.path,
        position: interval.position,
        problem: `the first 21 bytes of a batch in these ${batches.length} batches changed`,
        meaning: MEANING.log,
      });
      return [GAP];
    }
    const at = wrong.position % UNCOVERED_BYTES;
    this.report.damage({
      path: this.path,
      position: damaged.position + at,
      problem: `the ${fieldAt(at)} of the batch at ${damaged.position} changed: byte ${hex(wrong.is)} was ${hex(wrong.was)}`,
      meaning: MEANING.batch,
    });
    const repaired = Buffer.from(damaged.bytes.subarray(0, 61));
    repaired[at] = wrong.was;
    const header = readBatchHeader(repaired);
    return batches.map((batch) => (batch === damaged ? { ...batch, header } : batch));
  }
}

/** The field of a batch header that this byte belongs to. */
export function fieldAt(at: number): string {
  const fields: [from: number, name: string][] = [
    [0, 'base offset'],
    [8, 'length'],
    [12, 'leader epoch'],
    [16, 'magic'],
    [17, 'CRC'],
    [21, 'attributes'],
    [23, 'last offset delta'],
    [27, 'base timestamp'],
    [35, 'max timestamp'],
    [43, 'producer id'],
    [51, 'producer epoch'],
    [53, 'base sequence'],
    [57, 'count of records'],
    [61, 'records'],
  ];
  return fields.findLast(([from]) => from <= at)?.[1] ?? '';
}

export function hex(byte: number): string {
  return `0x${byte.toString(16).padStart(2, '0')}`;
}
