/** Asks again and again where partitions end, as monitors do; answers go into the history. */
import type { Client } from '@tributary/client';
import type { History } from '@tributary/testkit';

const PROBE_EVERY_MS = 250;
const ANSWER_WITHIN_MS = 2_000;
/** Partitions asked for, the first ones. */
const MAX_PARTITIONS = 12;

export class EndProbes {
  private timer: NodeJS.Timeout | undefined;
  private stopped = false;
  private asking: Promise<void> = Promise.resolve();

  constructor(
    private readonly client: Client,
    private readonly topic: string,
    private readonly partitions: number,
    private readonly history: History,
  ) {}

  start(): void {
    this.timer = setTimeout(() => {
      this.asking = this.ask().finally(() => {
        if (!this.stopped) this.start();
      });
    }, PROBE_EVERY_MS);
  }

  async stop(): Promise<void> {
    this.stopped = true;
    clearTimeout(this.timer);
    await this.asking;
  }

  private async ask(): Promise<void> {
    const count = Math.min(MAX_PARTITIONS, this.partitions);
    const partitions = Array.from({ length: count }, (_, partition) => partition);
    const options = { timeoutMs: ANSWER_WITHIN_MS };
    await Promise.all(
      partitions.map(async (partition) => {
        const askedAt = performance.now();
        try {
          const [answer] = await this.client
            .admin()
            .listOffsets(this.topic, 'latest', { ...options, partitions: [partition] });
          if (answer?.offset === undefined) return;
          const answeredAt = performance.now();
          this.history.endProbes.push({ partition, askedAt, answeredAt, end: Number(answer.offset) }); // prettier-ignore
        } catch {
          // Nobody leads it at this moment: no answer, nothing to judge.
        }
      }),
    );
  }
}
