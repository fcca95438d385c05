/**
 * The consumer as users see it. Lazy: it joins, or looks for its topics, when the first record is asked for.
 * A record counts as consumed when the next one is asked for, or when it is committed. One reader at a time:
 * a loop, or `run`. Closing works from inside the loop and is bounded. Made by `Client.consumer`.
 */
import { cancelled, Deadline, TributaryError, type TopicPartition } from '@tributary/common';
import type { CallOptions, CloseOptions } from '../call-options';
import type { ClientContext } from '../seams';
import { ConsumerEmitter, type ConsumerEventName, type ConsumerListener } from './consumer-events';
import {
  consumerSettings,
  invalid,
  safeOffset,
  type ConsumerOptions,
  type ConsumerSettings,
  type StartPosition,
} from './consumer-options';
import { toRecord } from './deserialize';
import type { ConsumerRecord } from './consumer-record';
import { GroupSession } from './group-session';
import { HandlerRun, type RecordHandler, type RunOptions } from './handler-run';
import { ManualSession } from './manual-session';
import type { PartitionCursor } from './partition-cursor';
import type { ReadSession } from './read-session';
import type { Reader, Taken } from './reader';
import { waitForNews } from './wait-for-news';

export interface OffsetCommitInput extends TopicPartition {
  /** Next offset to read. */
  readonly offset: bigint | number;
  readonly metadata?: string;
}

export interface CommittedPosition extends TopicPartition {
  readonly offset: bigint;
  readonly metadata: string;
}

export class Consumer<K = Uint8Array, V = Uint8Array> implements AsyncDisposable {
  private readonly settings: ConsumerSettings<K, V>;
  private readonly events: ConsumerEmitter;
  private session: ReadSession | undefined;
  private reading = false;
  private stopping = false;
  private closed: Promise<void> | undefined;
  private readonly onClientClosing = (): void => void this.close();
  /** Handed out by the loop and not finished yet. */
  private hand: Taken | undefined;

  /** Throws INVALID_ARGUMENT, INVALID_TOPIC. */
  constructor(
    private readonly context: ClientContext,
    options: ConsumerOptions<K, V>,
  ) {
    this.settings = consumerSettings(options);
    this.events = new ConsumerEmitter(context.logger);
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<ConsumerRecord<K, V>> {
    return this.records();
  }

  /**
   * Ends when the consumer is stopped or closed. Throws CANCELLED on abort, and what keeps it from reading. A
   * loop that is left early goes on, next time, after the record where it stopped; that one counts as consumed only
   * if it was committed.
   */
  records(
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncIterableIterator<ConsumerRecord<K, V>> {
    let over = false;
    let mine = false;
    const end = (): IteratorReturnResult<undefined> => {
      over = true;
      if (mine) this.endReading();
      mine = false;
      return { done: true, value: undefined };
    };
    const iterator: AsyncIterableIterator<ConsumerRecord<K, V>> = {
      [Symbol.asyncIterator]: () => iterator,
      return: () => Promise.resolve(end()),
      next: async () => {
        if (over) return end();
        if (!mine) this.beginReading();
        mine = true;
        try {
          const record = await this.nextRecord(options.signal);
          return record ? { done: false, value: record } : end();
        } catch (thrown) {
          end();
          throw thrown;
        }
      },
    };
    return iterator;
  }

  /**
   * Calls the handler for each record: in order within a partition, up to `concurrency` partitions at once.
   * Resolves when stopped, closed or aborted, after the handlers that run; rejects with the first failure of a
   * handler, whose record comes again.
   */
  async run(handler: RecordHandler<K, V>, options: RunOptions = {}): Promise<void> {
    this.beginReading();
    try {
      const run = new HandlerRun<K, V>(this.start(), {
        handler,
        options,
        toRecord: (taken) => this.recordOf(taken),
        stopped: () => this.stopping || this.closed !== undefined,
        closing: this.context.closing,
      });
      await run.untilStopped();
    } finally {
      this.reading = false;
    }
  }

  /** Commits all that is consumed so far, or these offsets. Throws FENCED_OWNER for a partition that is gone. */
  async commit(offsets?: readonly OffsetCommitInput[], options: CallOptions = {}): Promise<void> {
    const commits = this.session?.commits;
    if (this.settings.group === undefined) throw needsGroup();
    if (!commits) {
      if (offsets === undefined) return; // nothing was read yet
      throw invalid('this consumer has not begun to read: it owns no partition yet');
    }
    const deadline = this.deadline(options);
    if (offsets === undefined) return commits.consumed(deadline);
    const checked = offsets.map(({ topic, partition, offset, metadata = '' }) => ({
      topic,
      partition,
      offset: safeOffset(offset),
      metadata,
    }));
    return commits.offsets(checked, deadline);
  }

  /** The next record of this partition will be the one at `offset`. */
  seek(topic: string, partition: number, offset: bigint | number | StartPosition): void {
    const cursor = this.cursorOf(topic, partition);
    const to = typeof offset === 'string' ? offset : safeOffset(offset);
    this.session?.reader.moveTo(cursor, to);
  }

  /** No records of these until `resume`; they stay assigned. */
  pause(partitions: readonly TopicPartition[]): void {
    this.setPaused(partitions, true);
  }

  resume(partitions: readonly TopicPartition[]): void {
    this.setPaused(partitions, false);
  }

  /** What is read now. */
  assignment(): TopicPartition[] {
    return this.cursors().map(({ partition: { topic, partition } }) => ({ topic, partition }));
  }

  /** Offset of the record that comes next; undefined: not assigned, or not known yet. */
  position(topic: string, partition: number): bigint | undefined {
    const position = this.cursors().find(is(topic, partition))?.position;
    return position === undefined ? undefined : BigInt(position);
  }

  /** End of the partition as the last fetch saw it; undefined: none yet. */
  highWatermark(topic: string, partition: number): bigint | undefined {
    const end = this.cursors().find(is(topic, partition))?.highWatermark ?? -1;
    return end < 0 ? undefined : BigInt(end);
  }

  /** What the group has committed, of its topics or of these partitions; those without one are left out. */
  async committed(
    partitions?: readonly TopicPartition[],
    options: CallOptions = {},
  ): Promise<CommittedPosition[]> {
    const { group, topics } = this.settings;
    if (group === undefined) throw needsGroup();
    const deadline = this.deadline(options);
    const found = await deadline.race(
      this.context.groups().fetchOffsets(group),
      'reading committed offsets',
    );
    const wanted = (topic: string, partition: number): boolean =>
      partitions === undefined
        ? topics.includes(topic)
        : partitions.some((p) => p.topic === topic && p.partition === partition);
    return found
      .filter(({ partition: { topic, partition } }) => wanted(topic, partition))
      .map(({ partition: { topic, partition }, offset, metadata }) => ({
        topic,
        partition,
        offset: BigInt(offset),
        metadata,
      }));
  }

  /** Answers how to stop listening. */
  on<N extends ConsumerEventName>(name: N, listener: ConsumerListener<N>): () => void {
    return this.events.on(name, listener);
  }

  /** Ends the loop (or `run`) at its next record; what it consumed can still be committed. */
  stop(): Promise<void> {
    this.stopping = true;
    this.session?.reader.news();
    return Promise.resolve();
  }

  /**
   * Commits what is consumed (with autoCommit), gives the partitions back and leaves the group. The record in
   * hand does not count as consumed unless it was committed. Idempotent.
   */
  close(options: CloseOptions = {}): Promise<void> {
    this.closed ??= this.closeSession(options.timeoutMs ?? 5_000);
    return this.closed;
  }

  /**
   * As `close`, but first waits for the records in hand to be finished: by asking for the next one, by their
   * commit, or by the end of their handlers. From inside a handler, that handler is not waited for.
   */
  async drain(options: CloseOptions = {}): Promise<void> {
    const { clock } = this.context;
    const deadline = Deadline.after(clock, options.timeoutMs ?? 5_000);
    await this.stop();
    const busy = this.cursors().filter((cursor) => cursor !== HandlerRun.handling());
    const finished = Promise.all(busy.map((cursor) => cursor.whenIdle()));
    await deadline.race(finished, 'finishing records').catch(() => undefined); // they had their time
    await this.close({ timeoutMs: Math.max(500, deadline.remainingMs) });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private start(): Reader {
    if (!this.session) {
      const { context, settings, events } = this;
      const { group } = settings;
      this.session =
        group === undefined
          ? new ManualSession(context, settings, events)
          : new GroupSession(context, group, settings, events);
      context.closing.addEventListener('abort', this.onClientClosing, { once: true });
    }
    return this.session.reader;
  }

  private beginReading(): void {
    if (this.closed || this.context.closing.aborted) {
      throw new TributaryError('CLOSED', 'the consumer is closed');
    }
    if (this.reading) throw invalid('this consumer is being read already: one loop at a time');
    this.reading = true;
    this.stopping = false;
  }

  /** The loop was left in the middle of a record: nobody knows whether it was processed. */
  private endReading(): void {
    this.reading = false;
    this.hand?.cursor.letGo(this.hand.record);
    this.hand = undefined;
  }

  private async nextRecord(
    signal: AbortSignal | undefined,
  ): Promise<ConsumerRecord<K, V> | undefined> {
    this.finishHand();
    const reader = this.start();
    for (;;) {
      if (signal?.aborted) throw cancelled(signal);
      if (this.stopping || this.closed) return undefined;
      const taken = reader.take();
      if (taken) {
        const record = this.recordOf(taken);
        this.hand = taken;
        return record;
      }
      await waitForNews(reader, signal);
    }
  }

  private finishHand(): void {
    this.hand?.cursor.finish(this.hand.record);
    this.hand = undefined;
  }

  /** Throws DESERIALIZATION_FAILED; the position stays at that record. */
  private recordOf(taken: Taken): ConsumerRecord<K, V> {
    try {
      return toRecord(taken, this.settings, async (record, options = {}) => {
        const commits = this.session?.commits;
        if (!commits) throw needsGroup();
        await commits.record(taken.cursor, record, this.deadline(options));
      });
    } catch (thrown) {
      taken.cursor.rewind();
      throw thrown;
    }
  }

  private async closeSession(timeoutMs: number): Promise<void> {
    this.context.closing.removeEventListener('abort', this.onClientClosing);
    this.session?.reader.news();
    await this.session?.close(timeoutMs);
  }

  private setPaused(partitions: readonly TopicPartition[], paused: boolean): void {
    const found = partitions.map(({ topic, partition }) => this.cursorOf(topic, partition));
    for (const cursor of found) this.session?.reader.setPaused(cursor, paused);
  }

  private cursors(): PartitionCursor[] {
    return [...(this.session?.reader.cursors.values() ?? [])];
  }

  private cursorOf(topic: string, partition: number): PartitionCursor {
    const cursor = this.cursors().find(is(topic, partition));
    if (!cursor) throw invalid(`${topic}-${partition} is not assigned to this consumer now`);
    return cursor;
  }

  private deadline({ timeoutMs, signal }: CallOptions): Deadline {
    const { clock, requestTimeoutMs } = this.context;
    return Deadline.after(clock, timeoutMs ?? requestTimeoutMs, signal);
  }
}

function is(topic: string, partition: number): (cursor: PartitionCursor) => boolean {
  return (cursor) => cursor.partition.topic === topic && cursor.partition.partition === partition;
}

function needsGroup(): TributaryError {
  return invalid('only a consumer with a group can commit');
}
