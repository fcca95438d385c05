/**
 * Follows who leads and who is in sync, by asking the cluster closely with a client of its own: what it learns does not
 * help the load to find its way. Called by the runner; scenarios ask it whom to hit.
 */
import type { Client, PartitionDescription } from '@tributary/client';
import type { LeaderChange } from '@tributary/testkit';
import { isMany } from '../load/many-partitions';
import type { Timeline } from './timeline';

const POLL_EVERY_MS = 20;
const POLL_MANY_EVERY_MS = 1_000;
const ANSWER_WITHIN_MS = 1_000;
const ANSWERS_COUNTED = 3;
/** Elections named one by one in a line of the timeline. */
const MAX_NAMED = 24;

export interface LeaderSpan {
  readonly fromMs: number;
  toMs: number;
  readonly leader: number | undefined;
}

export class ClusterWatch {
  /** By partition of the first topic. */
  readonly bands: LeaderSpan[][] = [];
  /** Leader epochs begun, of all topics. */
  elections = 0;
  private readonly topics: TopicWatch[];
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private polling: Promise<void> = Promise.resolve();
  private readonly ineligible = new Set<number>();
  /** Who may lead, in the last answers: one of them may come from a broker that is cut off. */
  private readonly eligible: ReadonlySet<number>[] = [];
  private controllerId: number | undefined;
  private controllerEpoch = 0;
  /** As of the end of the last look at all topics. */
  private inSync = false;
  /** When all replicas got back into the ISR last. */
  private backInSyncMs = 0;

  constructor(
    private readonly client: Client,
    private readonly brokerIds: readonly number[],
    topics: readonly string[],
    private readonly timeline: Timeline,
  ) {
    this.topics = topics.map((topic) => new TopicWatch(topic));
  }

  get inSyncSinceMs(): number {
    return this.backInSyncMs;
  }

  get controller(): number | undefined {
    return this.controllerId;
  }

  start(): void {
    this.timer = setTimeout(() => {
      this.polling = this.poll().finally(() => {
        if (!this.stopped) this.start();
      });
    }, this.pollEveryMs);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.polling;
    for (const band of this.bands) band.at(-1)!.toMs = this.timeline.nowMs;
  }

  /** Partitions of the first topic that a broker leads, as last seen. */
  ledBy(broker: number): number[] {
    return [...this.topics[0]!.partitions.values()]
      .filter(({ leader }) => leader === broker)
      .map(({ partition }) => partition);
  }

  /** By partition of the first topic, as last seen. */
  replicas(): Map<number, readonly number[]> {
    const { partitions } = this.topics[0]!;
    return new Map([...partitions].map(([partition, { replicas }]) => [partition, replicas]));
  }

  changesOf(topic: string): readonly LeaderChange[] {
    return this.topics.find((one) => one.topic === topic)?.changes ?? [];
  }

  /** Every partition has a leader and all its replicas in the ISR. */
  get allInSync(): boolean {
    return this.inSync;
  }

  get outOfSync(): string[] {
    return this.topics.flatMap(({ topic, partitions, seen }) => {
      if (!seen) return [`${topic} was not seen`];
      return [...partitions.values()]
        .filter(({ leader, isr, replicas }) => leader === undefined || isr.length < replicas.length)
        .map(({ partition, leader, isr }) => `${topic}-${partition} (leader ${leader}, ISR ${isr.join(' ')})`); // prettier-ignore
    });
  }

  private get pollEveryMs(): number {
    return isMany(this.topics[0]!.partitions.size) ? POLL_MANY_EVERY_MS : POLL_EVERY_MS;
  }

  private async poll(): Promise<void> {
    try {
      const options = { timeoutMs: ANSWER_WITHIN_MS };
      this.seeBrokers(await this.client.admin().describeCluster(options));
      for (const [index, watch] of this.topics.entries()) {
        const asked = { ...options, offsets: false };
        const { partitions } = await this.client.admin().describeTopic(watch.topic, asked);
        const moved = watch.see(partitions);
        if (index === 0) this.seeLeaders(moved);
        this.elections += moved.length;
      }
      this.noteSync();
    } catch {
      // The broker that was asked may be the one that was just killed: the next poll asks another.
    }
  }

  private seeBrokers(cluster: {
    controllerId: number | undefined;
    controllerEpoch: number;
    brokers: readonly { brokerId: number; eligible: boolean }[];
  }): void {
    const { controllerId: now, controllerEpoch } = cluster;
    // Of a broker that is cut off, and has not heard of the new controller.
    if (controllerEpoch < this.controllerEpoch) return;
    this.controllerEpoch = controllerEpoch;
    if (now !== undefined && now !== this.controllerId) {
      if (this.controllerId !== undefined)
        this.timeline.note(`controller moved from broker ${this.controllerId} to ${now}`);
      this.controllerId = now;
    }
    this.eligible.push(
      new Set(cluster.brokers.filter(({ eligible }) => eligible).map(({ brokerId }) => brokerId)),
    );
    if (this.eligible.length > ANSWERS_COUNTED) this.eligible.shift();
    for (const broker of this.brokerIds) {
      const votes = this.eligible.filter((answer) => answer.has(broker)).length;
      const out = votes * 2 < this.eligible.length;
      if (out === this.ineligible.has(broker)) continue;
      this.timeline.note(out ? `noticed: broker ${broker} is out` : `broker ${broker} is back`);
      if (out) this.ineligible.add(broker);
      else this.ineligible.delete(broker);
    }
  }

  private seeLeaders(moved: readonly PartitionDescription[]): void {
    const { nowMs } = this.timeline;
    for (const { partition, leader } of this.topics[0]!.partitions.values()) {
      const band = (this.bands[partition] ??= []);
      const last = band.at(-1);
      if (last) last.toMs = nowMs;
      if (!last || last.leader !== leader) band.push({ fromMs: nowMs, toMs: nowMs, leader });
    }
    if (moved.length === 0) return;
    const named = moved.slice(0, MAX_NAMED).map(({ partition, leader }) => `${partition}->${leader}`); // prettier-ignore
    const more = moved.length > MAX_NAMED ? ` and ${moved.length - MAX_NAMED} more` : '';
    this.timeline.note(`elected: ${named.join(' ')}${more}`);
  }

  private noteSync(): void {
    const inSync = this.outOfSync.length === 0;
    if (inSync && !this.inSync) {
      this.backInSyncMs = this.timeline.nowMs;
      // The first time is no news.
      if (this.timeline.faults.length > 0) this.timeline.note('all replicas are back in the ISR');
    }
    this.inSync = inSync;
  }
}

class TopicWatch {
  readonly partitions = new Map<number, PartitionDescription>();
  readonly changes: LeaderChange[] = [];
  seen = false;

  constructor(readonly topic: string) {}

  /** Answers those that began a leader epoch with a leader. What is older than what is known is ignored. */
  see(described: readonly PartitionDescription[]): PartitionDescription[] {
    this.seen = true;
    const moved: PartitionDescription[] = [];
    for (const now of described) {
      const before = this.partitions.get(now.partition);
      if (before && now.leaderEpoch < before.leaderEpoch) continue;
      this.partitions.set(now.partition, now);
      if (!before || now.leaderEpoch === before.leaderEpoch) continue;
      this.changes.push({ partition: now.partition, at: performance.now() });
      if (now.leader !== undefined) moved.push(now);
    }
    return moved;
  }
}
