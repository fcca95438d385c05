/** Notes when each partition that lost its leader takes writes again. Fed by the load, told by scenarios of kills. */
import type { WriteAttempt } from '@tributary/testkit';
import type { ClusterWatch } from './cluster-watch';
import type { Timeline } from './timeline';

export class FirstAcknowledgements {
  private readonly waiting = new Set<number>();
  private since = Infinity;
  private faults = 0;

  constructor(
    private readonly timeline: Timeline,
    private readonly watch: ClusterWatch,
  ) {}

  /** The first write that was sent after the newest fault began, of all partitions. */
  seen({ partition, sentAt }: WriteAttempt, at: number): void {
    if (this.timeline.faults.length > this.faults) this.begin();
    if (sentAt < this.since || !this.waiting.delete(partition) || this.waiting.size > 0) return;
    this.timeline.note(`all partitions take writes again, ${Math.round(at - this.since)} ms after the fault`); // prettier-ignore
  }

  private begin(): void {
    const { faults, startedAt } = this.timeline;
    this.faults = faults.length;
    this.since = startedAt + faults.at(-1)!.fromMs;
    this.waiting.clear();
    for (let partition = 0; partition < this.watch.bands.length; partition += 1) {
      this.waiting.add(partition);
    }
  }
}
