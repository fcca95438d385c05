/**
 * When the segments of an open log were sealed: the latest moment at which something can have been written to
 * them. Called for retention and for the expiry of producers.
 */
import type { Clock } from '@tributary/common';
import type { Segment } from './segment';
import type { SegmentList } from './segment-list';

export class SealTimes {
  private readonly times = new WeakMap<Segment, number>();
  private readonly openedAt: number;

  constructor(
    private readonly segments: SegmentList,
    private readonly clock: Clock,
  ) {
    this.openedAt = clock.wallTime();
  }

  /** Nothing is written to it any more from now on. */
  sealed(segment: Segment): void {
    this.times.set(segment, this.clock.wallTime());
  }

  /** Compaction has put it in the place of `original` and those before that. */
  replaced(original: Segment, segment: Segment): void {
    this.times.set(segment, this.times.get(original) ?? this.openedAt);
  }

  /** undefined: it is the active one. What does not say was sealed when the log was opened, at the latest. */
  of(segment: Segment): number | undefined {
    if (segment === this.segments.active) return undefined;
    return this.times.get(segment) ?? this.openedAt;
  }

  /** Of the segment in which this offset lies; of the first one for what was deleted. */
  at(offset: number): number | undefined {
    return this.of(this.segments.containing(offset));
  }
}
