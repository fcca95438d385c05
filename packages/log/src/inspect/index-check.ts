/**
 * Compares the entries of the two indexes with the batches that go by. Each stops at its first contradiction: what
 * follows is seldom independent of it. Called by the inspection of a segment.
 */
import type { BatchHeader } from '@tributary/record';
import type { TimestampedOffset } from '../partition-log';
import { MEANING, type InspectionReport } from './report';

const OFFSET_ENTRY_BYTES = 8;
const TIME_ENTRY_BYTES = 12;

abstract class IndexCheck {
  protected next = 0;
  protected readonly count: number;
  private stopped = false;

  protected constructor(
    readonly path: string,
    protected readonly bytes: Buffer,
    protected readonly baseOffset: number,
    private readonly entryBytes: number,
    private readonly report: InspectionReport,
  ) {
    this.count = Math.floor(bytes.length / entryBytes);
    const rest = bytes.length % entryBytes;
    if (rest > 0) this.contradiction(this.count, `it ends with ${rest} bytes of an entry`);
  }

  protected get isOver(): boolean {
    return this.stopped || this.next >= this.count;
  }

  /** Of this entry. Nothing is compared any more. */
  protected contradiction(entry: number, problem: string): void {
    if (this.stopped) return;
    this.stopped = true;
    const position = entry * this.entryBytes;
    this.report.damage({ path: this.path, position, problem, meaning: MEANING.derived });
  }
}

export class OffsetIndexCheck extends IndexCheck {
  constructor(path: string, bytes: Buffer, baseOffset: number, report: InspectionReport) {
    super(path, bytes, baseOffset, OFFSET_ENTRY_BYTES, report);
  }

  /** Where batches begin, if it is right. */
  get positions(): number[] {
    return Array.from({ length: this.count }, (_, i) => this.positionOf(i));
  }

  onBatch(position: number, { lastOffset }: BatchHeader): void {
    while (!this.isOver && this.positionOf(this.next) <= position) {
      const entry = this.next;
      const told = this.offsetOf(entry);
      if (this.positionOf(entry) < position) {
        this.contradiction(entry, `no batch begins at ${this.positionOf(entry)}`);
      } else if (told !== lastOffset) {
        const problem = `the batch at ${position} ends at offset ${lastOffset}, not at ${told}`;
        this.contradiction(entry, problem);
      }
      this.next += 1;
    }
  }

  /** All batches went by. */
  finish(): void {
    if (this.isOver) return;
    this.contradiction(this.next, `no batch begins at ${this.positionOf(this.next)}`);
  }

  private offsetOf(entry: number): number {
    return this.baseOffset + this.bytes.readInt32BE(entry * OFFSET_ENTRY_BYTES);
  }

  private positionOf(entry: number): number {
    return this.bytes.readInt32BE(entry * OFFSET_ENTRY_BYTES + 4);
  }
}

export class TimeIndexCheck extends IndexCheck {
  private latest: TimestampedOffset | undefined;
  private isInterrupted = false;

  constructor(path: string, bytes: Buffer, baseOffset: number, report: InspectionReport) {
    super(path, bytes, baseOffset, TIME_ENTRY_BYTES, report);
  }

  get maxTimestamp(): TimestampedOffset | undefined {
    return this.latest;
  }

  /** A batch could not be read: it may have had the largest timestamp of all that follow. */
  interrupt(): void {
    this.isInterrupted = true;
  }

  onBatch({ lastOffset, maxTimestamp, recordsCount }: BatchHeader): void {
    if (this.isInterrupted) return;
    if (recordsCount === 0) return; // emptied by compaction: no record has that timestamp
    if (!this.latest || maxTimestamp > this.latest.timestamp) {
      this.latest = { timestamp: maxTimestamp, offset: lastOffset };
    }
    while (!this.isOver && this.offsetOf(this.next) <= lastOffset) {
      this.compare(this.next, this.latest ?? { timestamp: -1, offset: -1 });
      this.next += 1;
    }
  }

  /** @param isSealed its last entry is the largest timestamp of the segment then. */
  finish(isSealed: boolean): void {
    if (!this.isOver) {
      this.contradiction(this.next, `no batch ends at offset ${this.offsetOf(this.next)}`);
    }
    const { latest, count } = this;
    if (!isSealed || !latest) return;
    if (count === 0 || this.timestampOf(count - 1) !== latest.timestamp) {
      const problem = `the largest timestamp, ${latest.timestamp} at offset ${latest.offset}, is not its last entry`;
      this.contradiction(Math.max(0, count - 1), problem);
    }
  }

  private compare(entry: number, latest: TimestampedOffset): void {
    const [timestamp, offset] = [this.timestampOf(entry), this.offsetOf(entry)];
    if (timestamp === latest.timestamp && offset === latest.offset) return;
    this.contradiction(
      entry,
      `it says ${timestamp} at offset ${offset}; up to there the largest timestamp is ${latest.timestamp} at ${latest.offset}`,
    );
  }

  private timestampOf(entry: number): number {
    return Number(this.bytes.readBigInt64BE(entry * TIME_ENTRY_BYTES));
  }

  private offsetOf(entry: number): number {
    return this.baseOffset + this.bytes.readInt32BE(entry * TIME_ENTRY_BYTES + 8);
  }
}
