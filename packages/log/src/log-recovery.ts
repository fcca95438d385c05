/**
 * Decides for each segment of a log that is opened whether it is believed or read, and what is done where bytes do not
 * check. Two cases look alike to a scan and are not:
 *
 *   a torn tail   from the recovery point on, nothing below it is touched: the log is cut there, what was not
 *                 synced may be lost with the power
 *   corruption    below the recovery point; or, where no power was lost, all of a batch, or anything with a sound
 *                 batch behind it: CORRUPT_LOG, nothing is cut, the partition stays offline
 *
 * Invariant: what is kept is a prefix of what was appended, and nothing that was synced is missing. Called by the loader.
 */
import type { BatchHeader } from '@tributary/record';
import { BatchChain } from './batch-chain';
import { corruptLog } from './corrupt-log';
import type { EpochEntry } from './leader-epoch-cache';
import type { LogFiles } from './log-files';
import type { LogOptions } from './log-options';
import { SEGMENT_OFFSETS_MAX, type Segment } from './segment';
import { verifySegment, type Verdict } from './segment-verifier';
import { hasSoundBatch } from './sound-batch-search';
import { isTornTail } from './torn-tail';

export interface RecoveryObserver {
  /** What lies before this segment is told; not once batches were taken back. */
  begins(segment: Segment): void;
  /** A segment that is believed; `following`: where the next one begins. */
  trusted(segment: Segment, following: number | undefined): void;
  /** A batch that was read and is sound. */
  verified(header: BatchHeader): void;
}

export class LogRecovery {
  readonly kept: Segment[] = [];
  /** Sealed ones whose files beside the log must be written. */
  readonly unstored: Segment[] = [];
  /** Where epochs begin, in order. */
  readonly changes: EpochEntry[] = [];
  cutBytes = 0;
  /** Batches were taken back that had been told as verified. */
  trimmed = false;
  private cut = false;
  /** Where the segment before ended, if it was read. */
  private verifiedEnd: number | undefined;

  constructor(
    private readonly files: LogFiles,
    private readonly options: LogOptions,
    private readonly observer: RecoveryObserver,
  ) {}

  /** Throws CORRUPT_LOG. */
  async recover(segments: readonly Segment[]): Promise<void> {
    for (const [i, segment] of segments.entries()) {
      await this.take(segment, segments.slice(i + 1));
    }
    const active = this.kept.at(-1);
    if (active) active.sealedAt = undefined;
  }

  private async take(segment: Segment, later: readonly Segment[]): Promise<void> {
    const following = later[0]?.baseOffset;
    this.findHole(segment);
    if (this.cut) {
      this.cutBytes += segment.size;
      return segment.remove();
    }
    const before = this.kept.at(-1);
    this.kept.push(segment);
    if (before && this.options.recover && !this.trimmed) this.observer.begins(segment);
    const head = this.isDirty(following) ? undefined : segment.trust();
    // A seal that reaches into the next segment is of before a truncation that did not reach the device as a whole.
    if (head && head.nextOffset <= (following ?? Infinity)) {
      this.verifiedEnd = undefined;
      head.epochs.forEach((entry) => this.noteEpoch(entry));
      this.observer.trusted(segment, following);
    } else {
      this.checkLength(segment, following);
      await this.verify(segment, before, later);
    }
    if (following === undefined) return;
    if (segment.nextOffset > following) this.trimTo(following, segment);
    else if (this.verifiedEnd === undefined) this.checkEnd(segment, following);
  }

  private isDirty(following: number | undefined): boolean {
    const { recover, recoveryPoint = 0 } = this.options;
    return recover && (following === undefined || following > recoveryPoint);
  }

  /** Whole batches may be missing at the end, which leaves nothing that does not check. */
  private checkLength(segment: Segment, following = Infinity): void {
    const { recover, recoveryPoint = 0 } = this.options;
    if (recover && following >= recoveryPoint) return;
    const head = segment.indexes.readHead();
    if (!head || head.baseOffset !== segment.baseOffset || head.logBytes <= segment.size) return;
    throw corruptLog(`the file ends here, its seal is of ${head.logBytes} bytes`, {
      path: segment.file.path,
      position: segment.size,
    });
  }

  private async verify(
    segment: Segment,
    before: Segment | undefined,
    later: readonly Segment[],
  ): Promise<void> {
    const following = later[0]?.baseOffset;
    const chain = new BatchChain(this.files, segment.baseOffset, this.changes.at(-1)?.epoch);
    // What it says about times holds also where its sums are not believed.
    const head = segment.trust();
    const verdict = await verifySegment(segment, chain, (header) => {
      this.noteEpoch({ epoch: header.leaderEpoch, startOffset: header.baseOffset });
      this.observer.verified(header);
    });
    if (verdict.flaw) await this.cutAt(verdict, segment, later);
    this.verifiedEnd = segment.nextOffset;
    if (!head) segment.firstAppendAt = this.startOf(segment);
    if (following === undefined) return;
    segment.seal(head?.sealedAt);
    this.unstored.push(segment);
  }

  private async cutAt(
    verdict: Verdict,
    segment: Segment,
    later: readonly Segment[],
  ): Promise<void> {
    const { position, problem, isWhole } = verdict.flaw!;
    const offset = segment.nextOffset;
    const error = corruptLog(problem, { path: segment.file.path, position, offset });
    const { recover, recoveryPoint = 0, unsyncedMayBeLost = true } = this.options;
    if (!recover || offset < recoveryPoint) throw error;
    if (offset >= (later[0]?.baseOffset ?? Infinity)) {
      // All of the segment is there, and behind it what a truncation has not taken off the device.
      this.cutBytes += segment.size - verdict.validBytes;
      return segment.file.truncate(verdict.validBytes);
    }
    if (!unsyncedMayBeLost) {
      if (isWhole || later.some(({ size }) => size > 0)) throw error;
      if (!(await isTornTail(segment.file, position))) throw error;
      if (await hasSoundBatch(segment.file, position + 1, offset)) throw error;
    }
    this.cut = true;
    this.cutBytes += segment.size - verdict.validBytes;
    segment.file.truncate(verdict.validBytes);
  }

  /** A hole between segments is where the end of the earlier one did not reach the device. */
  private findHole(segment: Segment): void {
    const { verifiedEnd, files, options } = this;
    if (this.cut || verifiedEnd === undefined || verifiedEnd >= segment.baseOffset) return;
    const { recover, recoveryPoint = 0, unsyncedMayBeLost = true } = options;
    const wasSynced = !recover || segment.baseOffset <= recoveryPoint;
    const mayBeGap = files.mayLeaveGap(segment.baseOffset);
    if (mayBeGap && (wasSynced || this.isWideGap(segment.baseOffset))) return;
    if (wasSynced || verifiedEnd < recoveryPoint || !unsyncedMayBeLost) {
      throw hole(this.kept.at(-1)!, segment.baseOffset);
    }
    this.cut = true;
  }

  /** Of one that is believed. Compaction may have taken the last batch of a segment. */
  private checkEnd(segment: Segment, following: number): void {
    if (segment.nextOffset === following || this.files.mayLeaveGap(following)) return;
    throw hole(segment, following);
  }

  /** Relative offsets did not reach: the log goes on in a segment that begins behind the gap. */
  private isWideGap(next: number): boolean {
    return next - this.kept.at(-1)!.baseOffset > SEGMENT_OFFSETS_MAX;
  }

  /**
   * The next segment begins inside this one: it was made after a truncation of this one, which did not reach the
   * device. What is behind its beginning is of the older history.
   */
  private trimTo(offset: number, segment: Segment): void {
    const before = segment.size;
    const first = segment.findBatch(offset);
    if (first) segment.truncate(first.position);
    segment.seal();
    if (!this.unstored.includes(segment)) this.unstored.push(segment);
    this.cutBytes += before - segment.size;
    this.trimmed = true;
    while ((this.changes.at(-1)?.startOffset ?? -1) >= segment.nextOffset) this.changes.pop();
    this.verifiedEnd = segment.nextOffset;
  }

  private noteEpoch(entry: EpochEntry): void {
    if (entry.epoch > (this.changes.at(-1)?.epoch ?? -1)) this.changes.push(entry);
  }

  /** By its first record, as far as its producer's clock can be believed. */
  private startOf({ firstTimestamp }: Segment): number | undefined {
    return firstTimestamp === undefined ? undefined : Math.min(firstTimestamp, this.files.now());
  }
}

function hole(segment: Segment, next: number): Error {
  return corruptLog(`the log goes on at offset ${next}, what lies before that is missing`, {
    path: segment.file.path,
    position: segment.size,
    offset: segment.nextOffset,
  });
}
