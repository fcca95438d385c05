/**
 * A producer that writes numbered records at a steady rate to every partition of some topics, and tells the judge the fate
 * of each. Called by the run of a seed.
 */
import type { Client, Producer, ProducerRecord } from '@tributary/client';
import {
  randomInteger,
  TributaryError,
  type Clock,
  type Random,
  type Timer,
} from '@tributary/common';
import { textOf, type Attempt, type ClientJudge } from '../checker/client-judge';
import { TEXT_HEADER } from '../checker/record-text';

export interface LoadTopic {
  readonly topic: string;
  partitions: number;
  readonly keys: number;
}

export interface LoadWriterOptions {
  readonly name: string;
  readonly topics: readonly LoadTopic[];
  /** acks=all and idempotent; else acks=1. */
  readonly isIdempotent: boolean;
  /** Between two bursts. */
  readonly intervalMs: number;
  readonly deliveryTimeoutMs: number;
}

const MAX_BURST = 3;
/** Unanswered, beyond which no more is sent. */
const MAX_PENDING = 200;
const MAX_VALUE_BYTES = 160;
/** Of the records that have a key. */
const TOMBSTONE_SHARE = 0.15;
/** Beyond its timeout an answer may take so long. */
export const ANSWER_MARGIN_MS = 5_000;

export class LoadWriter {
  private readonly producer: Producer;
  private readonly numbers = new Map<string, number>();
  private timer: Timer | undefined;
  private stopped = false;
  readonly pending = new Set<Attempt>();

  constructor(
    client: Client,
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly judge: ClientJudge,
    private readonly options: LoadWriterOptions,
  ) {
    const { isIdempotent, deliveryTimeoutMs } = options;
    this.producer = client.producer({
      acks: isIdempotent ? 'all' : 'leader',
      idempotent: isIdempotent,
      maxInFlight: isIdempotent ? 5 : 1,
      lingerMs: 2,
      deliveryTimeoutMs,
    });
  }

  start(): void {
    if (this.stopped) return;
    this.timer = this.clock.setTimer(this.options.intervalMs * (0.5 + this.random.next()), () => {
      const records = randomInteger(this.random, MAX_BURST + 1);
      for (let i = 0; i < records && this.pending.size < MAX_PENDING; i += 1) this.send();
      this.start();
    });
  }

  /** No more records. */
  end(): void {
    this.stopped = true;
    this.timer?.cancel();
  }

  async close(): Promise<void> {
    this.end();
    await this.producer.close();
  }

  /** Older than they may be: L2. */
  overdue(nowMs: number): Attempt | undefined {
    const latest = nowMs - this.options.deliveryTimeoutMs - ANSWER_MARGIN_MS;
    return [...this.pending].find(({ sentAtMs }) => sentAtMs < latest);
  }

  private send(): void {
    const { clock, judge, random, options } = this;
    const { topics, name: writer, isIdempotent } = options;
    const { topic, partitions, keys } = topics[randomInteger(random, topics.length)]!;
    const partition = randomInteger(random, partitions);
    const place = `${topic}-${partition}`;
    const number = this.numbers.get(place) ?? 0;
    this.numbers.set(place, number + 1);
    const sentAtMs = clock.now();
    const attempt = judge.sent({ writer, topic, partition, number, isIdempotent, sentAtMs });
    this.pending.add(attempt);
    this.producer.send(topic, { partition, ...this.dataOf(attempt, keys) }).then(
      ({ offset }) => {
        this.pending.delete(attempt);
        judge.acknowledged(attempt, Number(offset));
      },
      (thrown: unknown) => {
        this.pending.delete(attempt);
        judge.failed(attempt, TributaryError.from(thrown));
      },
    );
  }

  private dataOf(
    attempt: Attempt,
    keys: number,
  ): Pick<ProducerRecord, 'key' | 'value' | 'headers'> {
    const { random } = this;
    const text = textOf(attempt);
    const key = keys > 0 ? Buffer.from(`k${randomInteger(random, keys)}`) : null;
    if (key && random.next() < TOMBSTONE_SHARE) {
      return { key, value: null, headers: { [TEXT_HEADER]: text } };
    }
    const value = Buffer.alloc(text.length + 1 + randomInteger(random, MAX_VALUE_BYTES));
    value.write(`${text}.`);
    return { key, value };
  }
}
