/**
 * Slices the work of a pass. Invariant: after each `compactionSliceBytes` or `compactionSliceMs` the event loop is given
 * back; over any longer time no more than `maxCompactionBytesPerSecond` are read and written, in no more than
 * `maxCompactionShare` of it. Waiting for the disk counts as work: a slow disk is spared, too. Called by the compaction pass.
 */
import { sleep, type Clock } from '@tributary/common';
import type { CompactionLimits } from './compaction-limits';

export class CompactionThrottle {
  private sliceBytes = 0;
  private sliceBegan: number;

  constructor(
    private readonly clock: Clock,
    private readonly limits: CompactionLimits,
    private readonly signal?: AbortSignal,
  ) {
    this.sliceBegan = clock.now();
  }

  /** To be awaited after each piece of work. Rejects with CANCELLED. */
  async spent(bytes: number): Promise<void> {
    const { limits, clock } = this;
    this.sliceBytes += bytes;
    const workedMs = clock.now() - this.sliceBegan;
    if (this.sliceBytes < limits.compactionSliceBytes && workedMs < limits.compactionSliceMs)
      return;
    const byRateMs = (this.sliceBytes / limits.maxCompactionBytesPerSecond) * 1000;
    const byShareMs = workedMs / limits.maxCompactionShare;
    await sleep(clock, Math.max(byRateMs, byShareMs) - workedMs, this.signal);
    this.sliceBytes = 0;
    this.sliceBegan = this.clock.now();
  }
}
