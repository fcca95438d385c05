/**
 * Members of a consumer group that read what a NumberedWriter writes, enter it into the history, and judge what a
 * group promises: every record at least once, and in order per partition. Called by scenarios.
 *
 * Invariants that are checked, per partition: nobody reads beyond the next offset that nobody has read; a member's
 * next record is the one after its last, until the partition is assigned to it anew.
 */
import type { Client, Consumer } from '@tributary/client';
import type { History } from '../history/history';
import { numberOf } from './numbered-writer';

export interface GroupReaderOptions {
  readonly topic: string;
  readonly group: string;
}

const COMMIT_INTERVAL_MS = 200;
/** Violations that are remembered. */
const MAX_PROBLEMS = 20;

export class GroupReader {
  /** What the group should not have done. */
  readonly problems: string[] = [];
  /** Per partition, offset that nobody has read yet. */
  private readonly unseen = new Map<number, number>();
  private readonly consumers: Consumer[] = [];
  private readonly loops: Promise<void>[] = [];

  constructor(
    private readonly history: History,
    private readonly options: GroupReaderOptions,
  ) {}

  /** One more member. */
  join(client: Client, name: string): void {
    const { topic, group } = this.options;
    const consumer = client.consumer({
      group,
      topics: [topic],
      from: 'earliest',
      sessionTimeoutMs: 3_000,
      autoCommit: { intervalMs: COMMIT_INTERVAL_MS },
    });
    this.consumers.push(consumer);
    this.loops.push(this.read(consumer, name));
  }

  /** Offset up to which the group has read. */
  seen(partition: number): number {
    return this.unseen.get(partition) ?? 0;
  }

  async stop(): Promise<void> {
    await Promise.all(this.consumers.map((consumer) => consumer.close()));
    await Promise.all(this.loops);
  }

  private async read(consumer: Consumer, name: string): Promise<void> {
    const next = new Map<number, number>();
    consumer.on('assigned', ({ partitions }) => {
      for (const { partition } of partitions) next.delete(partition);
    });
    try {
      for await (const { partition, offset, value } of consumer) {
        const at = Number(offset);
        this.history.liveReads.push({ partition, offset: at, id: numberOf(value) });
        const expected = next.get(partition) ?? at;
        if (at !== expected) this.problem(`${name} read ${partition}@${at}, not @${expected}`);
        next.set(partition, at + 1);
        const unseen = this.seen(partition);
        if (at > unseen) this.problem(`${name} read ${partition}@${at}, nobody @${unseen}`);
        this.unseen.set(partition, Math.max(unseen, at + 1));
      }
    } catch (thrown) {
      this.problem(`${name} failed: ${String(thrown)}`);
    }
  }

  private problem(text: string): void {
    if (this.problems.length < MAX_PROBLEMS) this.problems.push(text);
  }
}
