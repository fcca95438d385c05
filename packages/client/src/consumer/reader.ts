/**
 * All partitions that a consumer reads now: hands out their records, one partition in hand at a time each,
 * batch by batch in turn, so that none starves. Owns the fetcher and the offset lookup. Called by the
 * sessions, which say what is read, and by the consumer, which takes the records.
 */
import type { TributaryError } from '@tributary/common';
import type { DecodedRecord } from '@tributary/record';
import type { ClientContext } from '../seams';
import type { ConsumerEmitter } from './consumer-events';
import type { ConsumerSettings, PositionPolicy } from './consumer-options';
import { Fetcher } from './fetcher';
import { OffsetLookup } from './offset-lookup';
import type { PartitionCursor } from './partition-cursor';

export interface Taken {
  readonly cursor: PartitionCursor;
  readonly record: DecodedRecord;
}

export interface ReaderOptions {
  readonly context: ClientContext;
  readonly settings: ConsumerSettings<unknown, unknown>;
  readonly events: ConsumerEmitter;
  /** A broker does not know the cursor's topic id. True: the cursor is still right, try again. */
  readonly onTopicSuspect: (cursor: PartitionCursor) => Promise<boolean>;
  /** A record is about to be handed out. */
  readonly onHandOut?: () => void;
}

export class Reader {
  readonly cursors = new Map<string, PartitionCursor>();
  private readonly fetcher: Fetcher;
  private readonly lookup: OffsetLookup;
  private order: PartitionCursor[] = [];
  private turn = 0;
  private told: TributaryError | undefined;
  private broken: TributaryError | undefined;
  private waiters: (() => void)[] = [];
  /** Where a cursor was when its position proved out of range. */
  private readonly resets = new WeakMap<PartitionCursor, number>();

  constructor(private readonly options: ReaderOptions) {
    const { context, settings, onTopicSuspect } = options;
    const onTell = (error: TributaryError): void => this.tell(error);
    this.fetcher = new Fetcher(context, settings, {
      onNews: () => this.news(),
      onOutOfRange: (cursor, error) => this.onOutOfRange(cursor, error),
      onTruncated: (cursor, error) => this.onTruncated(cursor, error),
      onTopicSuspect,
      onTell,
    });
    this.lookup = new OffsetLookup(context, {
      onFound: (cursor) => this.onFound(cursor),
      onTopicSuspect,
      onTell,
    });
  }

  /** @param lastEpoch of the record before `start`, where that is an offset up to which was read. */
  add(cursor: PartitionCursor, start: number | PositionPolicy, lastEpoch?: number): void {
    this.cursors.set(cursor.key, cursor);
    this.order = [...this.cursors.values()];
    this.fetcher.add(cursor);
    this.moveTo(cursor, start, lastEpoch);
  }

  /** It is handed out no more; the record in hand may be finished. */
  remove(cursor: PartitionCursor): void {
    cursor.retire();
    this.fetcher.remove(cursor);
    if (this.cursors.get(cursor.key) !== cursor) return;
    this.cursors.delete(cursor.key);
    this.order = [...this.cursors.values()];
  }

  moveTo(cursor: PartitionCursor, to: number | PositionPolicy, lastEpoch?: number): void {
    if (typeof to === 'number') {
      cursor.seek(to, lastEpoch);
      this.fetcher.wake();
    } else if (to === 'fail') {
      cursor.failure = cursor.error('OFFSET_OUT_OF_RANGE', 'there is no position to start from', 0);
    } else {
      this.lookup.find(cursor, to);
    }
    this.news();
  }

  setPaused(cursor: PartitionCursor, paused: boolean): void {
    cursor.paused = paused;
    this.fetcher.wake();
    this.news();
  }

  /** undefined: nothing is there now. Throws what keeps a partition, or all, from being read. */
  take(): Taken | undefined {
    const error = this.broken ?? this.told;
    this.told = undefined;
    if (error) throw error;
    const { order } = this;
    for (let step = 0; step < order.length; step += 1) {
      const index = (this.turn + step) % order.length;
      const cursor = order[index] as PartitionCursor;
      const record = this.takeFrom(cursor);
      if (!record) continue;
      this.turn = cursor.atBatchEnd ? index + 1 : index;
      this.options.onHandOut?.();
      return { cursor, record };
    }
    return undefined;
  }

  /** Resolves when `take` may have another answer. */
  whenNews(): Promise<void> {
    return new Promise((resolve) => this.waiters.push(resolve));
  }

  /** Wakes whoever waits: something was finished, resumed, stopped. */
  news(): void {
    const { waiters } = this;
    this.waiters = [];
    for (const resolve of waiters) resolve();
  }

  /** The next `take` throws it, once. */
  tell(error: TributaryError): void {
    this.told = error;
    this.news();
  }

  /** Every `take` throws it from now on. */
  breakDown(error: TributaryError): void {
    this.broken = error;
    this.news();
  }

  close(): void {
    this.fetcher.close();
    this.lookup.close();
    for (const cursor of this.cursors.values()) cursor.retire();
    this.cursors.clear();
    this.order = [];
    this.news();
  }

  private takeFrom(cursor: PartitionCursor): DecodedRecord | undefined {
    const before = cursor.bufferedBytes;
    try {
      return cursor.take();
    } finally {
      if (cursor.bufferedBytes !== before) this.fetcher.wake(); // room again
    }
  }

  private onOutOfRange(cursor: PartitionCursor, refused: TributaryError): void {
    const { onOutOfRange } = this.options.settings;
    const position = cursor.position ?? 0;
    if (cursor.bufferedBytes > 0) return; // first what is here; the fetcher asks again
    if (onOutOfRange === 'fail') {
      cursor.failure = cursor.error('OFFSET_OUT_OF_RANGE', refused.message, position, refused);
      this.news();
      return;
    }
    this.resets.set(cursor, position);
    this.lookup.find(cursor, onOutOfRange);
  }

  /** KIP-320: never passed over in silence. */
  private onTruncated(cursor: PartitionCursor, refused: TributaryError): void {
    // What was not handed out yet is no loss to anybody: the next answer is about the position itself.
    if (cursor.bufferedBytes > 0) return cursor.dropAhead();
    const { onOutOfRange } = this.options.settings;
    const position = cursor.position ?? 0;
    const { divergingOffset } = refused.details;
    if (onOutOfRange === 'fail') {
      cursor.failure = cursor.error('LOG_TRUNCATED', refused.message, position, refused);
      return this.news();
    }
    this.resets.set(cursor, position);
    if (typeof divergingOffset !== 'number') return this.lookup.find(cursor, onOutOfRange);
    cursor.seek(divergingOffset);
    this.onFound(cursor);
  }

  private onFound(cursor: PartitionCursor): void {
    const from = this.resets.get(cursor);
    const to = cursor.position ?? 0;
    this.fetcher.wake();
    if (from === undefined) return;
    this.resets.delete(cursor);
    const { topic, partition } = cursor.partition;
    const { events, context } = this.options;
    context.logger.warn('consumer position was reset', { topic, partition, from, to });
    void events.emit('reset', { topic, partition, from: BigInt(from), to: BigInt(to) });
  }
}
