/**
 * A client that asks for the ends of all partitions again and again: C7 and C8, what it is told never goes back and is
 * never beyond what is committed. Called by the run of a seed.
 */
import type { Client } from '@tributary/client';
import { sleep } from '@tributary/common';
import type { ReaderContext } from './load-reader';

const INTERVAL_MS = 300;
const TIMEOUT_MS = 2_000;

export class EndWatcher {
  private readonly highest = new Map<string, number>();
  private stopped = false;
  private loop: Promise<void> | undefined;

  constructor(
    private readonly client: Client,
    private readonly context: ReaderContext,
  ) {}

  start(): void {
    this.loop = this.watch();
  }

  async stop(): Promise<void> {
    this.stopped = true;
    await this.loop;
  }

  private async watch(): Promise<void> {
    const { topics, clock } = this.context;
    while (!this.stopped) {
      for (const { topic } of topics) {
        await this.ask(topic).catch(() => undefined); // some leader does not answer now
      }
      await sleep(clock, INTERVAL_MS);
    }
  }

  private async ask(topic: string): Promise<void> {
    const admin = this.client.admin();
    const ends = await admin.listOffsets(topic, 'latest', { timeoutMs: TIMEOUT_MS });
    const { judge, violations } = this.context;
    for (const { partition, offset } of ends) {
      if (offset === undefined) continue;
      const end = Number(offset);
      const [model] = judge.incarnations(topic, partition);
      const place = `${topic}-${partition}`;
      const before = this.highest.get(place) ?? 0;
      this.highest.set(place, Math.max(before, end));
      if (end < before) violations.report('C8', `${place}: its end ${end} was ${before} before`);
      if (model && end > model.trueHighWatermark) {
        violations.report(
          'C7',
          `${place}: end ${end} above the true HW ${model.trueHighWatermark}`,
        );
      }
    }
  }
}
