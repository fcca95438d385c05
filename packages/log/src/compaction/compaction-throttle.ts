/**
 * Slices the work of a pass. Invariant: after each `compactionSliceBytes` the event loop is given back, and over
 * any longer time no more than `maxCompactionBytesPerSecond` are read and written. Called by the compaction pass.
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
    this.sliceBytes += bytes;
    if (this.sliceBytes < this.limits.compactionSliceBytes) return;
    const dueMs = (this.sliceBytes / this.limits.maxCompactionBytesPerSecond) * 1000;
    const elapsedMs = this.clock.now() - this.sliceBegan;
    await sleep(this.clock, Math.max(0, dueMs - elapsedMs), this.signal);
    this.sliceBytes = 0;
    this.sliceBegan = this.clock.now();
  }
}
