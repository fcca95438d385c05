/**
 * How long the active segment has been written to. Counted by the broker's clock from its first append, not by the
 * timestamps of records, which producers choose. Invariant: each segment draws its jitter once, so that
 * partitions that were created together do not roll together. Called by the roll.
 */
import type { Clock, Random } from '@tributary/common';
import type { LogConfig } from './partition-log';
import type { Segment } from './segment';

export type AgeConfig = Pick<
  LogConfig,
  'segmentMs' | 'segmentJitterMs' | 'cleanupPolicy' | 'maxCompactionLagMs'
>;

export class ActiveAge {
  private segment: Segment | undefined;
  private startedAt = 0;
  private jitterShare = 0;

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  /** The first batch was just written to it. */
  started(segment: Segment): void {
    this.observe(segment, this.clock.wallTime());
  }

  /** Is it so old that the next batch belongs into another one? An empty one never is. */
  isOver(active: Segment, config: AgeConfig): boolean {
    if (active.size === 0) return false;
    const now = this.clock.wallTime();
    if (this.segment !== active) this.observe(active, Math.min(now, active.firstAppendAt ?? now));
    const { cleanupPolicy, maxCompactionLagMs } = config;
    // What is written to is not compacted: so that no record waits longer, it is sealed by then.
    const lagMs = cleanupPolicy === 'delete' ? Infinity : maxCompactionLagMs;
    const jitterMs = this.jitterShare * Math.min(config.segmentJitterMs, config.segmentMs);
    const ageMs = Math.min(lagMs, config.segmentMs - Math.floor(jitterMs));
    return now - this.startedAt >= Math.max(1, ageMs);
  }

  private observe(segment: Segment, startedAt: number): void {
    this.segment = segment;
    this.startedAt = startedAt;
    this.jitterShare = this.random.next();
  }
}
