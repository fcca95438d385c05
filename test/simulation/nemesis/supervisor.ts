/**
 * What systemd does on a real machine, and an operator after a disk error: a broker that is down and not kept down is
 * started, one that cannot go on, or has replicas that failed on a disk that works again, is started anew. Runs beside the
 * load, and until all is healed. Called by SeedRun.
 */
import { sleep } from '@tributary/common';
import type { SimulatedCluster } from '@tributary/testkit';

const ROUND_MS = 400;
/** So long a broker may have failed replicas before it is started anew. */
const PATIENCE_MS = 1_500;

export class Supervisor {
  /** Kept down by a fault. */
  readonly down = new Set<number>();
  /** Their disks are in trouble: a restart would not help. */
  readonly badDisks = new Set<number>();
  private readonly failedSince = new Map<number, number>();
  private stopped = false;

  constructor(private readonly cluster: SimulatedCluster) {}

  start(): void {
    void this.run();
  }

  stop(): void {
    this.stopped = true;
  }

  /** Somebody takes it down now, until `release`. */
  hold(brokerId: number): void {
    this.down.add(brokerId);
  }

  release(brokerId: number): void {
    this.down.delete(brokerId);
    this.care(brokerId);
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      for (const brokerId of this.cluster.brokerIds) this.care(brokerId);
      await sleep(this.cluster.clock, ROUND_MS);
    }
  }

  private care(brokerId: number): void {
    const broker = this.cluster.broker(brokerId);
    if (this.down.has(brokerId) || broker.paused) return;
    if (broker.running && (broker.fatal || this.isWorn(brokerId))) {
      this.cluster.crash(brokerId);
    }
    if (broker.running) return;
    this.cluster.note(`broker ${brokerId} starts`);
    broker.start().catch(() => {
      // A process that cannot start exits; the next round tries again.
      if (broker.running && !broker.ready) this.cluster.crash(brokerId);
    });
  }

  /** Replicas of it failed a while ago, and its disk works. */
  private isWorn(brokerId: number): boolean {
    const { cluster, failedSince } = this;
    const partitions = cluster.broker(brokerId).status?.partitions ?? [];
    const hasFailed = partitions.some(({ outage }) => outage === 'failed');
    const now = cluster.clock.now();
    if (!hasFailed || this.badDisks.has(brokerId)) failedSince.delete(brokerId);
    else if (!failedSince.has(brokerId)) failedSince.set(brokerId, now);
    return now - (failedSince.get(brokerId) ?? now) > PATIENCE_MS;
  }
}
