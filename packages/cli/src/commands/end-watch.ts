/**
 * For `consume --exit-at-end`: remembers where the partitions ended at the start and stops the consumer once all
 * is read up to there; in a group, by this member or by others.
 */
import type { Client, Consumer } from '@tributary/client';

const CHECK_EVERY_MS = 100;
const CHECK_GROUP_EVERY_MS = 500;

interface EndWatchOptions {
  readonly group: string | undefined;
  readonly timeoutMs: number;
}

export class EndWatch {
  failure: unknown;
  private timer: NodeJS.Timeout | undefined;

  private constructor(
    private readonly client: Client,
    private readonly consumer: Consumer,
    private readonly topic: string,
    private readonly ends: ReadonlyMap<number, bigint>,
    private readonly options: EndWatchOptions,
  ) {}

  static async start(
    client: Client,
    consumer: Consumer,
    topic: string,
    options: EndWatchOptions,
  ): Promise<EndWatch> {
    const described = await client.admin().describeTopic(topic, { timeoutMs: options.timeoutMs });
    const ends = new Map<number, bigint>();
    for (const { partition, startOffset, endOffset } of described.partitions) {
      if (endOffset !== undefined && endOffset > (startOffset ?? 0n))
        ends.set(partition, endOffset);
    }
    const watch = new EndWatch(client, consumer, topic, ends, options);
    watch.schedule();
    return watch;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private schedule(): void {
    const everyMs = this.options.group === undefined ? CHECK_EVERY_MS : CHECK_GROUP_EVERY_MS;
    this.timer = setTimeout(() => {
      this.check().catch((error: unknown) => {
        this.failure = error;
        void this.consumer.stop();
      });
    }, everyMs);
  }

  private async check(): Promise<void> {
    const reached = new Map<number, bigint>();
    if (this.options.group !== undefined) {
      const group = await this.client
        .admin()
        .describeGroup(this.options.group, { timeoutMs: this.options.timeoutMs });
      for (const { topic, partition, committedOffset } of group.partitions) {
        if (topic === this.topic && committedOffset !== undefined)
          reached.set(partition, committedOffset);
      }
    }
    for (const { topic, partition } of this.consumer.assignment()) {
      const position = this.consumer.position(topic, partition);
      if (position !== undefined) reached.set(partition, position);
    }
    if (this.timer === undefined) return;
    const open = this.group ? this.ends : this.assignedEnds();
    const done = [...open].every(([partition, end]) => (reached.get(partition) ?? 0n) >= end);
    if (done) await this.consumer.stop();
    else this.schedule();
  }

  private get group(): boolean {
    return this.options.group !== undefined;
  }

  /** Without a group only what this consumer reads counts (it may be one partition of many). */
  private assignedEnds(): Map<number, bigint> {
    const assigned = new Set(this.consumer.assignment().map(({ partition }) => partition));
    return new Map([...this.ends].filter(([partition]) => assigned.has(partition)));
  }
}
