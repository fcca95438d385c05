/**
 * For `consume` without `--exit-at-end`: says on standard error which partitions have no leader, and when they have one again.
 * The consumer waits for a leader as long as it takes, and whoever looks at a silent terminal should know why.
 * Invariant: one line for each change; never the reason why the command ends.
 */
import type { Client } from '@tributary/client';

/** Metadata is asked for that often; an election is over before. */
const CHECK_EVERY_MS = 5_000;

export interface LeaderWatchOptions {
  /** undefined: all of them. */
  readonly partition: number | undefined;
  readonly write?: (line: string) => void;
}

export class LeaderWatch {
  private timer: NodeJS.Timeout | undefined;
  private waiting: readonly number[] = [];
  private stopped = false;

  constructor(
    private readonly client: Client,
    private readonly topic: string,
    private readonly options: LeaderWatchOptions,
  ) {}

  start(): void {
    void this.check();
  }

  stop(): void {
    this.stopped = true;
    clearTimeout(this.timer);
  }

  /** Never rejects: who cannot be asked now is asked again. */
  async check(): Promise<void> {
    try {
      const call = { offsets: false, timeoutMs: CHECK_EVERY_MS };
      const { partitions } = await this.client.admin().describeTopic(this.topic, call);
      if (this.stopped) return;
      const wanted = this.options.partition;
      this.tell(
        partitions
          .filter(({ partition }) => wanted === undefined || partition === wanted)
          .filter(({ leader }) => leader === undefined)
          .map(({ partition }) => partition),
      );
    } catch {
      // The consumer meets the same trouble, and tells it where it is one.
    }
    if (this.stopped) return;
    this.timer = setTimeout(() => void this.check(), CHECK_EVERY_MS);
    this.timer.unref();
  }

  private tell(waiting: readonly number[]): void {
    const { topic, waiting: before } = this;
    this.waiting = waiting;
    if (waiting.join() === before.join()) return;
    const write = this.options.write ?? ((line) => void process.stderr.write(line));
    const names = (waiting.length > 0 ? waiting : before).map(
      (partition) => `${topic}-${partition}`,
    );
    write(
      waiting.length > 0
        ? `${names.join(', ')}: no leader, waiting for one (trib topic describe ${topic})\n`
        : `${names.join(', ')}: there is a leader again\n`,
    );
  }
}
