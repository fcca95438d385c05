/**
 * When the segments of an open log were sealed: the latest moment at which something can have been written to
 * them. Invariant: never earlier than that moment, so that nothing is deleted too early. Called for retention and
 * for the expiry of producers.
 */
import type { Clock } from '@tributary/common';
import type { Segment } from './segment';
import type { SegmentList } from './segment-list';

export class SealTimes {
  constructor(
    private readonly segments: SegmentList,
    private readonly clock: Clock,
  ) {}

  /** Compaction has put it in the place of `original` and those before that. */
  replaced(original: Segment, segment: Segment): void {
    segment.sealedAt = this.timeOf(original);
  }

  /** undefined: it is the active one. */
  of(segment: Segment): number | undefined {
    return segment === this.segments.active ? undefined : this.timeOf(segment);
  }

  /** Of the segment in which this offset lies; of the first one for what was deleted. */
  at(offset: number): number | undefined {
    return this.of(this.segments.containing(offset));
  }

  /** As its seal says; now, at the latest, where none does. */
  private timeOf(segment: Segment): number {
    return (segment.sealedAt ??= this.clock.wallTime());
  }
}
