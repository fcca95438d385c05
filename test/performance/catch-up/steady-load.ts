/**
 * A steady load of small records with acks=all, and how long each took to be acknowledged, from the moment that it was due:
 * a load that waits for slow answers would hide them.
 */
import type { Client, Producer } from '@tributary/client';

const TICK_MS = 2;

export interface Latencies {
  readonly records: number;
  readonly failed: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
}

export interface LoadOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly recordsPerSecond: number;
  readonly recordBytes: number;
}

export class SteadyLoad {
  private readonly producer: Producer;
  private readonly value: Buffer;
  private timer: NodeJS.Timeout | undefined;
  private taken: number[] = [];
  private failed = 0;
  private sent = 0;

  constructor(
    client: Client,
    private readonly options: LoadOptions,
  ) {
    this.producer = client.producer({ acks: 'all', lingerMs: 0, deliveryTimeoutMs: 60_000 });
    this.value = Buffer.alloc(options.recordBytes, 0x2e);
  }

  start(): void {
    const startedAt = performance.now();
    const intervalMs = 1000 / this.options.recordsPerSecond;
    this.timer = setInterval(() => {
      for (;;) {
        const dueAt = startedAt + this.sent * intervalMs;
        if (dueAt > performance.now()) return;
        this.send(dueAt);
      }
    }, TICK_MS);
  }

  /** What was acknowledged since the last call. */
  take(): Latencies {
    const sorted = this.taken.toSorted((a, b) => a - b);
    const { failed } = this;
    this.taken = [];
    this.failed = 0;
    const at = (share: number): number =>
      sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
    return { records: sorted.length, failed, p50Ms: at(0.5), p99Ms: at(0.99), maxMs: at(1) };
  }

  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.producer.close({ timeoutMs: 5_000 });
  }

  private send(dueAt: number): void {
    const { topic, partitions } = this.options;
    const partition = this.sent % partitions;
    this.sent += 1;
    this.producer.send(topic, { partition, key: null, value: this.value }).then(
      () => this.taken.push(performance.now() - dueAt),
      () => (this.failed += 1),
    );
  }
}
