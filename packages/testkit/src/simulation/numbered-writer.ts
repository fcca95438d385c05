/**
 * Load for simulated clusters: one idempotent producer that writes numbered records to every partition, at a steady
 * rate, and enters each into the history with its fate. Called by scenarios.
 */
import type { Client, Producer } from '@tributary/client';
import {
  randomInteger,
  TributaryError,
  type Clock,
  type Random,
  type Timer,
} from '@tributary/common';
import type { History, WriteAttempt } from '../history/history';

export interface NumberedWriterOptions {
  readonly topic: string;
  readonly partitions: number;
  /** Between two bursts of 0 to `maxBurst` records. Default 20. */
  readonly intervalMs?: number;
  /** Default 3. */
  readonly maxBurst?: number;
  /** Records are of this size at most. Default 200. */
  readonly maxRecordBytes?: number;
}

/** From `send` to its fate; far longer than any fault of a scenario. */
const DELIVERY_TIMEOUT_MS = 120_000;

export class NumberedWriter {
  private readonly producer: Producer;
  private readonly nextId: number[];
  private timer: Timer | undefined;
  private pending = 0;

  constructor(
    client: Client,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly history: History,
    private readonly options: NumberedWriterOptions,
  ) {
    this.nextId = new Array<number>(options.partitions).fill(0);
    this.producer = client.producer({
      acks: 'all',
      idempotent: true,
      maxInFlight: 5,
      lingerMs: 2,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
    });
  }

  /** Sent, and without an answer. */
  get unanswered(): number {
    return this.pending;
  }

  start(): void {
    const { intervalMs = 20, maxBurst = 3 } = this.options;
    this.timer = this.clock.setTimer(intervalMs, () => {
      const records = randomInteger(this.random, maxBurst + 1);
      for (let i = 0; i < records; i += 1) this.send();
      this.start();
    });
  }

  /** No more records; each has its fate when this resolves. */
  async stop(): Promise<void> {
    this.timer?.cancel();
    await this.producer.flush({ timeoutMs: DELIVERY_TIMEOUT_MS });
    await this.producer.close();
  }

  private send(): void {
    const { clock, options, history } = this;
    const partition = randomInteger(this.random, options.partitions);
    const id = this.nextId[partition]!++;
    const write = history.write(partition, id, clock.now());
    this.pending += 1;
    this.producer.send(options.topic, { partition, key: null, value: this.valueOf(id) }).then(
      ({ offset }) => {
        this.pending -= 1;
        write.result = { fate: 'acknowledged', offset: Number(offset), at: clock.now() };
      },
      (thrown: unknown) => this.failed(write, TributaryError.from(thrown)),
    );
  }

  private failed(write: WriteAttempt, error: TributaryError): void {
    this.pending -= 1;
    const fate = error.outcome === 'not written' ? 'not written' : 'unknown';
    write.result = { fate, at: this.clock.now(), code: error.code };
  }

  private valueOf(id: number): Buffer {
    const value = Buffer.alloc(20 + randomInteger(this.random, this.options.maxRecordBytes ?? 200));
    value.write(`${id}.`);
    return value;
  }
}

/** The number of a record that a NumberedWriter wrote. */
export function numberOf(value: Uint8Array | null): number {
  const text = Buffer.from(value ?? []).toString('latin1');
  return Number(text.slice(0, text.indexOf('.')));
}
