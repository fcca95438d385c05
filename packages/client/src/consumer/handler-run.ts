/**
 * `consumer.run`: a handler per record, in order within a partition, several partitions at once. Invariant: a
 * partition has at most one handler (the cursor hands out one record at a time); a record whose handler failed
 * comes again. Called by the consumer.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { ConsumerRecord } from './consumer-record';
import { invalid } from './consumer-options';
import type { PartitionCursor } from './partition-cursor';
import type { Reader, Taken } from './reader';
import { waitForNews } from './wait-for-news';

export interface HandlerContext {
  /** Aborted when the run is aborted or the client closes: finish soon. */
  readonly signal: AbortSignal;
}

export type RecordHandler<K, V> = (
  record: ConsumerRecord<K, V>,
  context: HandlerContext,
) => void | Promise<void>;

export interface RunOptions {
  /** Handlers at the same time, each for another partition. Default 1. */
  readonly concurrency?: number;
  /** The only one so far. */
  readonly order?: 'partition';
  /** Stops the run: it resolves after the handlers that run. */
  readonly signal?: AbortSignal;
}

export interface HandlerRunParts<K, V> {
  readonly handler: RecordHandler<K, V>;
  readonly options: RunOptions;
  /** Throws when it cannot be deserialized. */
  readonly toRecord: (taken: Taken) => ConsumerRecord<K, V>;
  readonly stopped: () => boolean;
  readonly closing: AbortSignal;
}

/** Handlers that one run may have at a time. */
export const MAX_CONCURRENCY = 10_000;

const handled = new AsyncLocalStorage<PartitionCursor>();

export class HandlerRun<K, V> {
  private readonly running = new Set<Promise<void>>();
  private readonly concurrency: number;
  private failed = false;
  private failure: unknown;

  constructor(
    private readonly reader: Reader,
    private readonly parts: HandlerRunParts<K, V>,
  ) {
    const { concurrency = 1 } = parts.options;
    if (!Number.isSafeInteger(concurrency) || concurrency < 1 || concurrency > MAX_CONCURRENCY) {
      throw invalid(`concurrency must be a whole number from 1 to ${MAX_CONCURRENCY}`);
    }
    this.concurrency = concurrency;
  }

  /** The partition whose handler is calling; undefined outside of handlers. */
  static handling(): PartitionCursor | undefined {
    return handled.getStore();
  }

  async untilStopped(): Promise<void> {
    const { options, stopped, closing } = this.parts;
    const signal = options.signal ? AbortSignal.any([options.signal, closing]) : closing;
    while (!signal.aborted && !stopped() && !this.failed) {
      if (this.running.size >= this.concurrency) {
        await Promise.race(this.running);
        continue;
      }
      if (!this.startOne(signal)) await waitForNews(this.reader, signal);
    }
    await Promise.all(this.running);
    if (this.failed) throw this.failure;
  }

  /** False: there is no record now (or reading failed, which ends the run). */
  private startOne(signal: AbortSignal): boolean {
    try {
      const taken = this.reader.take();
      if (!taken) return false;
      const record = this.parts.toRecord(taken);
      const work: Promise<void> = handled
        .run(taken.cursor, () => this.handle(taken, record, signal))
        .finally(() => this.running.delete(work));
      this.running.add(work);
    } catch (thrown) {
      this.fail(thrown);
    }
    return true;
  }

  private async handle(
    { cursor, record: decoded }: Taken,
    record: ConsumerRecord<K, V>,
    signal: AbortSignal,
  ): Promise<void> {
    try {
      await this.parts.handler(record, { signal });
      cursor.finish(decoded);
    } catch (thrown) {
      cursor.rewind();
      this.fail(thrown);
    }
    this.reader.news();
  }

  private fail(thrown: unknown): void {
    if (!this.failed) this.failure = thrown;
    this.failed = true;
  }
}
