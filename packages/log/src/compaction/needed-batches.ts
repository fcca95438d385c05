/**
 * Batches that stay, emptied if need be, though no record of them does. Invariant: what a scan of the compacted log
 * gives of producers and leader epochs is what a scan of it gave before, and segments follow each other
 * without a hole, which to a recovery would look like a lost end. Called by the compaction pass for every batch in order.
 */
import type { BatchHeader } from '@tributary/record';
import type { LogState } from '../log-state';
import { readSnapshot, snapshotPath } from '../producer-snapshot';

export class NeededBatches {
  private readonly lastOffsets = new Set<number>();
  private epoch = -1;

  /**
   * @param end of the part that is compacted: a truncation goes back to it at most, and to what was known of producers
   * there.
   */
  constructor(log: LogState, end: number) {
    const path = snapshotPath(log.directory, end);
    const then = log.disk.exists(path) ? readSnapshot(log.disk, path) : undefined;
    for (const states of [log.producers.states, then]) {
      for (const { batches } of states?.entries ?? []) {
        for (const { lastOffset } of batches) this.lastOffsets.add(lastOffset);
      }
    }
  }

  /** @param segmentEnd where the segment ends into which it is copied. Once per batch, in order. */
  has({ producerId, lastOffset, leaderEpoch }: BatchHeader, segmentEnd: number): boolean {
    const isFirstOfEpoch = leaderEpoch > this.epoch;
    this.epoch = leaderEpoch;
    const isOfProducer = producerId >= 0 && this.lastOffsets.has(lastOffset);
    return isFirstOfEpoch || isOfProducer || lastOffset + 1 >= segmentEnd;
  }

  /** For a group that is copied once more. */
  get position(): number {
    return this.epoch;
  }

  returnTo(position: number): void {
    this.epoch = position;
  }
}
