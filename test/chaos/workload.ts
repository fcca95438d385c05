/**
 * The load of a chaos run: one idempotent producer that writes numbered records to every partition at a
 * steady rate, and readers that follow live. Everything goes into the history.
 */
import { TributaryError } from '@tributary/common';
import type { Client, Consumer, Producer } from '@tributary/client';
import type { History, WriteAttempt } from '@tributary/testkit';

const TICK_MS = 5;
/** Records without an answer; above it the load waits, as an application would. */
const MAX_UNANSWERED_RECORDS = 50_000;

export interface WorkloadOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly recordsPerSecond: number;
  readonly recordBytes: number;
}

export class Workload {
  private readonly producer: Producer;
  private readonly reader: Consumer;
  private readonly nextId: number[];
  private timer: NodeJS.Timeout | undefined;
  private reading: Promise<void> | undefined;
  private unanswered = 0;
  private startedAt = 0;
  private sent = 0;

  constructor(
    client: Client,
    private readonly history: History,
    private readonly options: WorkloadOptions,
    private readonly onAcknowledged: (write: WriteAttempt, at: number) => void,
  ) {
    this.nextId = new Array<number>(options.partitions).fill(0);
    this.producer = client.producer({ acks: 'all', deliveryTimeoutMs: 60_000 });
    this.reader = client.consumer({
      assign: this.nextId.map((_, partition) => ({ topic: options.topic, partition })),
      from: 'earliest',
    });
  }

  start(): void {
    this.startedAt = performance.now();
    this.timer = setInterval(() => this.tick(), TICK_MS);
    this.reading = this.follow();
  }

  /** No more writes; every one of them has its fate when this resolves. */
  async stop(): Promise<void> {
    clearInterval(this.timer);
    await this.producer.flush({ timeoutMs: 90_000 });
    await this.producer.close({ timeoutMs: 5_000 });
    await this.reader.close({ timeoutMs: 5_000 });
    await this.reading;
  }

  private tick(): void {
    const due = Math.floor(
      ((performance.now() - this.startedAt) * this.options.recordsPerSecond) / 1000,
    );
    while (this.sent < due && this.unanswered < MAX_UNANSWERED_RECORDS) this.sendOne(this.sent++);
    this.sent = due;
  }

  private sendOne(sequence: number): void {
    const partition = sequence % this.options.partitions;
    const id = (this.nextId[partition] as number)++;
    const write = this.history.write(partition, id, performance.now());
    this.unanswered += 1;
    this.producer.send(this.options.topic, { partition, key: null, value: this.value(id) }).then(
      ({ offset }) => {
        this.unanswered -= 1;
        const at = performance.now();
        write.result = { fate: 'acknowledged', offset: Number(offset), at };
        this.onAcknowledged(write, at);
      },
      (thrown: unknown) => {
        this.unanswered -= 1;
        const error = TributaryError.from(thrown);
        const fate = error.outcome === 'not written' ? 'not written' : 'unknown';
        write.result = { fate, at: performance.now(), code: error.code };
      },
    );
  }

  private value(id: number): Buffer {
    const value = Buffer.alloc(this.options.recordBytes, 0x2e);
    value.write(String(id));
    return value;
  }

  private async follow(): Promise<void> {
    for await (const record of this.reader) {
      this.history.liveReads.push(readRecord(record));
    }
  }
}

/** Reads every partition from its start to its end of now. */
export async function readAll(client: Client, history: History, topic: string): Promise<void> {
  const { partitions } = await client.admin().describeTopic(topic, { timeoutMs: 30_000 });
  for (const { partition, endOffset } of partitions) {
    if (endOffset === undefined || endOffset === 0n) continue;
    const reader = client.consumer({ assign: [{ topic, partition, offset: 0n }], from: 'fail' });
    for await (const record of reader) {
      history.finalReads.push(readRecord(record));
      if (record.offset + 1n >= endOffset) break;
    }
    await reader.close({ timeoutMs: 5_000 });
  }
}

function readRecord(record: { partition: number; offset: bigint; value: unknown }): {
  partition: number;
  offset: number;
  id: number;
} {
  const text = (record.value as Buffer).toString('latin1');
  return {
    partition: record.partition,
    offset: Number(record.offset),
    id: Number(text.slice(0, text.indexOf('.'))),
  };
}
