/**
 * The producer states of one log and their snapshots on disk. Invariant: at any time they are what a scan of the
 * log would give; a snapshot of a history that was truncated away is removed before the log goes on.
 * Called by the log and its loader.
 */
import { TributaryError, type Clock } from '@tributary/common';
import { readBatches } from './compaction/batch-source';
import type { Disk } from './disk';
import {
  findSnapshots,
  keepSnapshot,
  newestSnapshot,
  removeSnapshotsAbove,
  snapshotPath,
} from './producer-snapshot';
import { ProducerStates, type ProducerLimits } from './producer-states';
import type { SealTimes } from './seal-times';
import type { SegmentList } from './segment-list';

export interface LogRange {
  readonly logStartOffset: number;
  readonly logEndOffset: number;
}

export interface ProducerTimes {
  readonly clock: Clock;
  readonly sealTimes: SealTimes;
  readonly limits?: ProducerLimits;
}

export class LogProducers {
  private current: ProducerStates;

  constructor(
    private readonly disk: Disk,
    private readonly directory: string,
    private readonly segments: SegmentList,
    private readonly times: ProducerTimes,
  ) {
    this.current = new ProducerStates(times.limits);
  }

  get states(): ProducerStates {
    return this.current;
  }

  /**
   * From the newest snapshot that checks, then from the headers behind it. Snapshots above `trustedUpTo` may be of a
   * history that is not ours: they are removed.
   */
  recover(range: LogRange, trustedUpTo: number): void {
    removeSnapshotsAbove(this.disk, this.directory, trustedUpTo);
    const snapshot = newestSnapshot(this.disk, this.directory, this.times.limits);
    this.current = snapshot?.states ?? new ProducerStates(this.times.limits);
    // From the front of the oldest segment, also where the log starts inside it: its producers may go on.
    this.replay(
      Math.max(this.segments.first.baseOffset, snapshot?.offset ?? 0),
      range.logEndOffset,
    );
    this.adopt(this.current);
  }

  /** What a recovery has found already, up to the end of the log. */
  adopt(states: ProducerStates): void {
    this.current = states;
    const { clock, sealTimes } = this.times;
    const now = clock.wallTime();
    this.current.assumeWritten((lastOffset) => sealTimes.at(lastOffset) ?? now);
    this.forgetExpired();
  }

  /** Those who were silent for too long. Called from time to time. */
  forgetExpired(): void {
    const { clock, sealTimes } = this.times;
    this.current.forgetExpired(clock.wallTime(), (offset) => sealTimes.at(offset));
  }

  /** Is there one at or behind this offset? */
  hasSnapshotFrom(offset: number): boolean {
    return (findSnapshots(this.disk.list(this.directory)).at(-1) ?? -1) >= offset;
  }

  /** The log ends at `range.logEndOffset` now. */
  truncate(range: LogRange): void {
    if (this.current.reaches(range.logEndOffset)) this.recover(range, range.logEndOffset);
    else removeSnapshotsAbove(this.disk, this.directory, range.logEndOffset);
  }

  clear(): void {
    this.current = new ProducerStates(this.times.limits);
    removeSnapshotsAbove(this.disk, this.directory, -1);
  }

  /** Saves reading the log at the next start; does without on a full disk. */
  snapshot(offset: number): void {
    this.keep(offset);
    // One per segment stays, for truncations; those of earlier clean shutdowns go.
    const kept = new Set([offset, ...this.segments.all.map((segment) => segment.baseOffset)]);
    for (const found of findSnapshots(this.disk.list(this.directory))) {
      if (!kept.has(found)) this.disk.remove(snapshotPath(this.directory, found));
    }
  }

  /**
   * Compaction changes the batches that these tell of. None, if no later one is there; never the one at the first segment,
   * for what that tells of is not in the log any more, and a later one may not survive a crash.
   */
  forgetSnapshotsBelow(offset: number): void {
    if (!this.hasSnapshotFrom(offset)) return;
    const { baseOffset } = this.segments.first;
    for (const found of findSnapshots(this.disk.list(this.directory))) {
      if (found < offset && found !== baseOffset) {
        this.disk.remove(snapshotPath(this.directory, found));
      }
    }
  }

  /**
   * Makes one where a segment begins, if compaction has taken it away: what lies before that is about to be deleted. Reads
   * those segments. Rejects with CLOSED when they were replaced meanwhile, by compaction or another history.
   */
  async ensureSnapshotAt(offset: number): Promise<void> {
    if (this.disk.exists(snapshotPath(this.directory, offset))) return;
    const { limits } = this.times;
    const earlier = newestSnapshot(this.disk, this.directory, limits, offset);
    const states = earlier?.states ?? new ProducerStates(limits);
    const from = Math.max(this.segments.first.baseOffset, earlier?.offset ?? 0);
    const segments = this.segments.within(from, offset);
    for (const segment of segments) {
      this.segments.touch(segment);
      for await (const { header } of readBatches(segment, from)) {
        if (header.baseOffset >= from) states.record(header);
      }
    }
    if (!this.segments.hasRun(segments)) {
      throw new TributaryError('CLOSED', 'segments were replaced while they were read');
    }
    keepSnapshot(this.disk, this.directory, { offset, states });
  }

  private keep(offset: number): void {
    keepSnapshot(this.disk, this.directory, { offset, states: this.current });
  }

  /** Leaves a snapshot where each segment begins: when what lies before that is deleted, nothing else tells of it. */
  private replay(from: number, to: number): void {
    if (from >= to) return;
    for (const segment of this.segments.within(from, to)) {
      if (segment.baseOffset > from) this.keep(segment.baseOffset);
      this.segments.touch(segment);
      for (const { header } of segment.scan(from)) {
        if (header.baseOffset >= from) this.current.record(header);
      }
    }
  }
}
