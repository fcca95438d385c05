/**
 * When the segments of an open log were sealed: the latest moment at which something can have been written to
 * them. Invariant: never earlier than that moment, so that nothing is deleted too early. Called for retention and
 * for the expiry of producers.
 */
import type { Clock } from '@tributary/common';
import type { Segment } from './segment';
import type { SegmentList } from './segment-list';

export class SealTimes {
  private readonly times = new WeakMap<Segment, number>();

  /** What lies there was sealed when the log was opened, at the latest. */
  constructor(
    private readonly segments: SegmentList,
    private readonly clock: Clock,
  ) {
    for (const segment of segments.all) this.times.set(segment, clock.wallTime());
  }

  /** Nothing is written to it any more from now on. */
  sealed(segment: Segment): void {
    this.times.set(segment, this.clock.wallTime());
  }

  /** Compaction has put it in the place of `original` and those before that. */
  replaced(original: Segment, segment: Segment): void {
    this.times.set(segment, this.timeOf(original));
  }

  /** undefined: it is the active one. */
  of(segment: Segment): number | undefined {
    return segment === this.segments.active ? undefined : this.timeOf(segment);
  }

  /** Of the segment in which this offset lies; of the first one for what was deleted. */
  at(offset: number): number | undefined {
    return this.of(this.segments.containing(offset));
  }

  private timeOf(segment: Segment): number {
    const known = this.times.get(segment);
    if (known !== undefined) return known;
    const now = this.clock.wallTime();
    this.times.set(segment, now);
    return now;
  }
}
