/**
 * The load of a chaos run: one idempotent producer that writes numbered records to every partition at a
 * steady rate, and a reader that follows live. Everything goes into the history.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { TributaryError } from '@tributary/common';
import type { Client, Consumer, Producer } from '@tributary/client';
import { fetchMinBytes } from './load/many-partitions';
import type { History, ReadRecord, WriteAttempt } from '@tributary/testkit';

const TICK_MS = 5;
/** Records without an answer; above it the load waits, as an application would. */
const MAX_UNANSWERED_RECORDS = 50_000;
/** Where reading fails for good, it fails so often. */
export const READ_AGAIN_AFTER_MS = 500;
const READ_ALL_WITHIN_MS = 120_000;

export interface WorkloadOptions {
  readonly topic: string;
  readonly partitions: number;
  readonly recordsPerSecond: number;
  readonly recordBytes: number;
  /** Default: `all`, idempotent. */
  readonly acks?: 'all' | 'leader';
  /** So many keys per partition, written in turn. Default: records have no keys. */
  readonly keys?: number;
  /** A failure that the application was told. */
  readonly onError?: (what: string) => void;
}

export class Workload {
  /** Records sent without an answer so far. */
  unanswered = 0;
  private readonly producer: Producer;
  private readonly reader: Consumer;
  private readonly nextId: number[];
  private timer: NodeJS.Timeout | undefined;
  private reading: Promise<void> | undefined;
  private startedAt = 0;
  private sent = 0;

  constructor(
    client: Client,
    private readonly history: History,
    private readonly options: WorkloadOptions,
    private readonly onAcknowledged: (write: WriteAttempt, at: number) => void,
  ) {
    this.nextId = new Array<number>(options.partitions).fill(0);
    this.producer = client.producer({ acks: options.acks ?? 'all', deliveryTimeoutMs: 60_000 });
    this.reader = client.consumer({
      assign: this.nextId.map((_, partition) => ({ topic: options.topic, partition })),
      from: 'earliest',
      minBytes: fetchMinBytes(options.partitions),
    });
  }

  start(): void {
    this.startedAt = performance.now();
    this.timer = setInterval(() => this.tick(), TICK_MS);
    // What acks=1 wrote and compaction took away is nothing that a live reader could be judged by.
    if (this.options.acks !== 'leader' && !this.options.keys) this.reading = this.follow();
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
    const { topic, partitions, keys } = this.options;
    const partition = sequence % partitions;
    const id = (this.nextId[partition] as number)++;
    const key = keys ? `${partition}/${id % keys}` : undefined;
    const write = this.history.write(partition, id, performance.now(), key);
    this.unanswered += 1;
    const record = { partition, key: key ? Buffer.from(key) : null, value: this.value(id) };
    this.producer.send(topic, record).then(
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
        this.options.onError?.(`write to ${topic}-${partition}: ${error.code}: ${error.message}`);
      },
    );
  }

  private value(id: number): Buffer {
    const value = Buffer.alloc(this.options.recordBytes, 0x2e);
    value.write(String(id));
    return value;
  }

  /** An application that begins again where it was when reading failed. */
  private async follow(): Promise<void> {
    try {
      for await (const record of this.reader) {
        const seen = { ...readRecord(record), at: performance.now(), reader: 'live reader' };
        this.history.liveReads.push(seen);
      }
    } catch (thrown) {
      const { code, message } = TributaryError.from(thrown);
      this.options.onError?.(`live reader: ${code}: ${message}`);
      if (code === 'CLOSED') return;
      await pause(READ_AGAIN_AFTER_MS);
      return this.follow();
    }
  }
}

/** Reads every partition from its start to its end of now. */
export async function readAll(client: Client, history: History, topic: string): Promise<void> {
  const { partitions } = await client.admin().describeTopic(topic, { timeoutMs: 30_000 });
  const ends = new Map<number, bigint>();
  for (const { partition, startOffset = 0n, endOffset = 0n } of partitions) {
    if (endOffset > startOffset) ends.set(partition, endOffset);
  }
  if (ends.size === 0) return;
  const reader = client.consumer({
    assign: [...ends.keys()].map((partition) => ({ topic, partition, offset: 'earliest' })),
    from: 'fail',
  });
  const signal = AbortSignal.timeout(READ_ALL_WITHIN_MS);
  for await (const record of reader.records({ signal })) {
    const end = ends.get(record.partition);
    if (end === undefined) continue;
    history.finalReads.push(readRecord(record));
    if (record.offset + 1n >= end) ends.delete(record.partition);
    if (ends.size === 0) break;
  }
  await reader.close({ timeoutMs: 5_000 });
}

export function readRecord(record: {
  partition: number;
  offset: bigint;
  timestamp: number;
  key: unknown;
  value: unknown;
}): ReadRecord {
  const text = (record.value as Buffer).toString('latin1');
  const { partition, timestamp, key } = record;
  return {
    ...{ partition, timestamp, offset: Number(record.offset) },
    id: Number(text.slice(0, text.indexOf('.'))),
    ...(key ? { key: (key as Buffer).toString('latin1') } : {}),
  };
}
