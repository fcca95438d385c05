/**
 * What must hold along a whole log, whatever segment a batch lies in: headers make sense, offsets rise, epochs do not
 * fall and are those of leader-epoch-checkpoint, producer snapshots are what the batches before them give.
 * Called by the inspection of a partition with each batch that is believed, in order.
 */
import type { BatchHeader } from '@tributary/record';
import type { ChainedBatch } from './chained-batch';
import type { EpochCheck } from './epoch-check';
import type { SnapshotCheck } from './snapshot-check';
import { MEANING, type InspectionReport } from './report';

export class LogChain {
  /** undefined: no batch yet. */
  private before: ChainedBatch | undefined;
  /** Of the batch before that one; -1: none. */
  private earlierEpoch = -1;
  /** The batch before the last one left a gap, so it may be that one that is wrong. */
  private gapBefore = false;
  /** What lies before the next batch could not be read. */
  private isInterrupted = false;

  /** @param mayLeaveGap compaction may have taken out what lay before a batch that begins there. */
  constructor(
    private readonly report: InspectionReport,
    private readonly mayLeaveGap: (baseOffset: number) => boolean,
    private readonly epochs?: EpochCheck,
    private readonly snapshots?: SnapshotCheck,
  ) {}

  get nextOffset(): number | undefined {
    return this.before && this.before.header.lastOffset + 1;
  }

  onBatch(found: ChainedBatch): void {
    const problem = headerProblem(found.header);
    if (problem) this.damage(found, problem);
    const batch = this.inPlace(found);
    const { header } = batch;
    const { before } = this;
    if (before && header.baseOffset <= before.header.lastOffset) {
      const wrong = this.gapBefore && before.path === batch.path ? before : batch;
      this.damage(
        wrong,
        `offsets do not rise: ${before.header.baseOffset} to ${before.header.lastOffset} at ${before.position}, then ${header.baseOffset} at ${batch.position}`,
      );
    }
    if (before && header.leaderEpoch < before.header.leaderEpoch) {
      // The odd one out: it goes with neither of its neighbours.
      const wrong = this.earlierEpoch <= header.leaderEpoch ? before : batch;
      this.damage(
        wrong,
        `leader epoch ${header.leaderEpoch} at ${batch.position} comes after ${before.header.leaderEpoch} at ${before.position}`,
      );
    }
    this.earlierEpoch = before?.header.leaderEpoch ?? -1;
    this.gapBefore = header.baseOffset > (this.nextOffset ?? batch.segmentBase);
    this.epochs?.onBatch(batch);
    this.snapshots?.onBatch(header);
    this.before = batch;
  }

  /** Where offsets leave no gaps, a batch begins where the one before it ends, whatever its header says. */
  private inPlace(batch: ChainedBatch): ChainedBatch {
    const expected = this.nextOffset ?? batch.segmentBase;
    const { header } = batch;
    const isKnown = !this.isInterrupted && !this.mayLeaveGap(header.baseOffset);
    this.isInterrupted = false;
    if (!isKnown || header.baseOffset === expected) return batch;
    this.damage(batch, `it begins at offset ${header.baseOffset}, ${expected} is next`);
    const lastOffset = expected + header.lastOffsetDelta;
    return { ...batch, header: { ...header, baseOffset: expected, lastOffset } };
  }

  /** What lies between the last batch and the next one is not known. */
  interrupt(): void {
    this.gapBefore = false;
    this.isInterrupted = true;
    this.snapshots?.interrupt();
  }

  private damage({ path, position }: ChainedBatch, problem: string): void {
    this.report.damage({ path, position, problem, meaning: MEANING.batch });
  }
}

/** What a leader would never have let in. */
function headerProblem(header: BatchHeader): string | undefined {
  const { baseOffset, lastOffsetDelta, recordsCount, leaderEpoch, codec } = header;
  if (baseOffset < 0) return `base offset ${baseOffset}`;
  if (leaderEpoch < 0) return `leader epoch ${leaderEpoch}`;
  if (lastOffsetDelta < 0) return `last offset delta ${lastOffsetDelta}`;
  if (recordsCount < 0 || recordsCount > lastOffsetDelta + 1) {
    return `${recordsCount} records in ${lastOffsetDelta + 1} offsets`;
  }
  if (codec === undefined) return `codec ${header.codecId} does not exist`;
  return undefined;
}
