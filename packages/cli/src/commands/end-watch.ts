/**
 * For `consume --exit-at-end`: remembers where the partitions ended at the start and stops the consumer once all
 * is read up to there; in a group, by this member or by others. Invariant: it never takes a partition whose end nobody
 * tells for one that is read: without a leader the command fails, at the start and when it comes to a standstill.
 */
import type { Client, Consumer } from '@tributary/client';

const CHECK_EVERY_MS = 100;
const CHECK_GROUP_EVERY_MS = 500;
/** After a standstill leaders have this long to say that they are there. */
const PROBE_MS = 5_000;

interface EndWatchOptions {
  readonly group: string | undefined;
  /** undefined: all of them. */
  readonly partition: number | undefined;
  /** For one question, and how long nothing may be read before the leaders are asked again. */
  readonly timeoutMs: number;
}

export class EndWatch {
  failure: unknown;
  private timer: NodeJS.Timeout | undefined;
  private idleMs = 0;
  private sum = -1n;

  private constructor(
    private readonly client: Client,
    private readonly consumer: Consumer,
    private readonly topic: string,
    private readonly ends: ReadonlyMap<number, bigint>,
    private readonly options: EndWatchOptions,
  ) {}

  /** Throws LEADER_NOT_AVAILABLE, with what is known of the reason. */
  static async start(
    client: Client,
    consumer: Consumer,
    topic: string,
    options: EndWatchOptions,
  ): Promise<EndWatch> {
    const ends = await endsOf(client, topic, options);
    const watch = new EndWatch(client, consumer, topic, ends, options);
    watch.schedule();
    return watch;
  }

  stop(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private get everyMs(): number {
    return this.options.group === undefined ? CHECK_EVERY_MS : CHECK_GROUP_EVERY_MS;
  }

  private schedule(): void {
    this.timer = setTimeout(() => {
      this.check().catch((error: unknown) => {
        this.failure = error;
        void this.consumer.stop();
      });
    }, this.everyMs);
  }

  private async check(): Promise<void> {
    const reached = await this.reached();
    if (this.timer === undefined) return;
    const open = [...this.ends].filter(([partition, end]) => (reached.get(partition) ?? 0n) < end);
    if (open.length === 0) return this.consumer.stop();
    await this.noteProgress(
      reached,
      open.map(([partition]) => partition),
    );
    if (this.timer !== undefined) this.schedule();
  }

  private async reached(): Promise<Map<number, bigint>> {
    const reached = new Map<number, bigint>();
    const { group, timeoutMs } = this.options;
    if (group !== undefined) {
      const { partitions } = await this.client.admin().describeGroup(group, { timeoutMs });
      for (const { topic, partition, committedOffset } of partitions) {
        if (topic === this.topic && committedOffset !== undefined)
          reached.set(partition, committedOffset);
      }
    }
    for (const { topic, partition } of this.consumer.assignment()) {
      const position = this.consumer.position(topic, partition);
      if (position !== undefined) reached.set(partition, position);
    }
    return reached;
  }

  /** The consumer waits for a leader as long as it takes; a command that shall end does not. */
  private async noteProgress(
    reached: ReadonlyMap<number, bigint>,
    open: readonly number[],
  ): Promise<void> {
    const sum = [...reached.values()].reduce((a, b) => a + b, 0n);
    this.idleMs = sum === this.sum ? this.idleMs + this.everyMs : 0;
    this.sum = sum;
    if (this.idleMs < this.options.timeoutMs) return;
    const probe = { partitions: open, timeoutMs: PROBE_MS };
    await this.client.admin().listOffsets(this.topic, 'latest', probe);
    this.idleMs = 0;
  }
}

/** Of those that have something to read. */
async function endsOf(
  client: Client,
  topic: string,
  { partition: wanted, timeoutMs }: EndWatchOptions,
): Promise<Map<number, bigint>> {
  const described = await client.admin().describeTopic(topic, { timeoutMs });
  const partitions = described.partitions.filter(
    ({ partition }) => wanted === undefined || partition === wanted,
  );
  const ends = new Map<number, bigint>();
  const note = (partition: number, start: bigint | undefined, end: bigint | undefined): void => {
    if (end !== undefined && end > (start ?? 0n)) ends.set(partition, end);
  };
  for (const { partition, startOffset, endOffset } of partitions)
    note(partition, startOffset, endOffset);
  const silent = partitions.filter(({ endOffset }) => endOffset === undefined);
  if (silent.length === 0) return ends;
  // There may be an election, so their leaders get the whole time; after that it is an error.
  const call = { partitions: silent.map(({ partition }) => partition), timeoutMs };
  const [starts, latest] = await Promise.all([
    client.admin().listOffsets(topic, 'earliest', call),
    client.admin().listOffsets(topic, 'latest', call),
  ]);
  const startOf = new Map(starts.map(({ partition, offset }) => [partition, offset]));
  for (const { partition, offset } of latest) note(partition, startOf.get(partition), offset);
  return ends;
}
