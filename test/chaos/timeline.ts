/**
 * What happened when, as a person reads it (standard error) and as data. It watches the cluster's metadata
 * closely, so that its times are those that a client could have seen.
 */
import type { Client } from '@tributary/client';

const POLL_EVERY_MS = 20;

export interface TimelineEvent {
  readonly atMs: number;
  readonly what: string;
}

interface Leadership {
  readonly leader: number | undefined;
  readonly leaderEpoch: number;
  readonly isr: number;
}

export class Timeline {
  readonly events: TimelineEvent[] = [];
  /** Leader epochs begun: times that a partition got a leader, the same one or another. */
  elections = 0;
  private readonly startedAt = performance.now();
  private timer: NodeJS.Timeout | undefined;
  private polling: Promise<void> = Promise.resolve();
  private partitions = new Map<number, Leadership>();
  private ineligible = new Set<number>();
  private controller: number | undefined;

  constructor(
    private readonly client: Client,
    private readonly topic: string,
    private readonly print: (line: string) => void,
  ) {}

  note(what: string): void {
    const atMs = Math.round(performance.now() - this.startedAt);
    this.events.push({ atMs, what });
    this.print(`${(atMs / 1000).toFixed(3).padStart(8)} s  ${what}`);
  }

  start(): void {
    this.timer = setTimeout(() => {
      this.polling = this.poll().finally(() => {
        if (this.timer) this.start();
      });
    }, POLL_EVERY_MS);
  }

  async stop(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    await this.polling;
  }

  /** Partitions led by a broker, as last seen. */
  ledBy(broker: number): number[] {
    return [...this.partitions]
      .filter(([, seen]) => seen.leader === broker)
      .map(([partition]) => partition);
  }

  get allInSync(): boolean {
    return [...this.partitions.values()].every(
      (seen) => seen.leader !== undefined && seen.isr === 3,
    );
  }

  private async poll(): Promise<void> {
    try {
      const options = { timeoutMs: 1000 };
      const cluster = await this.client.admin().describeCluster(options);
      const { partitions } = await this.client
        .admin()
        .describeTopic(this.topic, { ...options, offsets: false });
      this.seeBrokers(cluster);
      this.seePartitions(partitions);
    } catch {
      // The broker that was asked may be the one that was just killed: the next poll asks another.
    }
  }

  private seeBrokers(cluster: {
    controllerId: number | undefined;
    brokers: readonly { brokerId: number; eligible: boolean }[];
  }): void {
    // prettier-ignore
    if (cluster.controllerId !== undefined && cluster.controllerId !== this.controller) {
      if (this.controller !== undefined) this.note(`controller moved from broker ${this.controller} to ${cluster.controllerId}`); // prettier-ignore
      this.controller = cluster.controllerId;
    }
    const eligible = new Set(
      cluster.brokers.filter((broker) => broker.eligible).map(({ brokerId }) => brokerId),
    );
    for (const broker of [1, 2, 3]) {
      const out = !eligible.has(broker);
      if (out === this.ineligible.has(broker)) continue;
      this.note(out ? `noticed: broker ${broker} is out` : `broker ${broker} is back`);
      if (out) this.ineligible.add(broker);
      else this.ineligible.delete(broker);
    }
  }

  private seePartitions(
    partitions: readonly {
      partition: number;
      leader: number | undefined;
      leaderEpoch: number;
      isr: readonly number[];
    }[],
  ): void {
    // prettier-ignore
    const before = this.partitions;
    const wasInSync = this.allInSync;
    this.partitions = new Map(
      partitions.map(({ partition, leader, leaderEpoch, isr }) => [
        partition,
        { leader, leaderEpoch, isr: isr.length },
      ]),
    );
    const moved = [...this.partitions].filter(([partition, now]) => {
      const then = before.get(partition);
      return then !== undefined && now.leader !== undefined && then.leaderEpoch < now.leaderEpoch;
    });
    this.elections += moved.length;
    if (moved.length > 0)
      this.note(`elected: ${moved.map(([p, now]) => `${p}->${now.leader}`).join(' ')}`);
    if (!wasInSync && this.allInSync && before.size > 0)
      this.note('all replicas are back in the ISR');
  }
}
