/**
 * Reading one partition: where we are, what lies fetched, what is in the user's hands. No I/O.
 *
 *   consumed <= record in hand < position <= records and batches in the buffer < fetchOffset
 *
 * Invariants: positions only move forward but by `seek` and `rewind`; a record below the position is never
 * handed out; at most one record of a partition is in hand, which keeps its order. `version` changes whenever
 * what is under way for the old position must be ignored. Called by fetcher, delivery and the sessions.
 */
import { hasCode, partitionKey, TributaryError, type ErrorCode } from '@tributary/common';
import {
  decodeBatch,
  readBatchHeader,
  splitBatches,
  standardCodecs,
  type CodecSet,
  type DecodedRecord,
} from '@tributary/record';
import type { GroupPartition } from '@tributary/coordination';

export interface Consumed {
  /** Next offset to read. */
  readonly offset: number;
  /** Of the last consumed record. */
  readonly leaderEpoch: number;
}

export class PartitionCursor {
  readonly key: string;
  /** Bumped by seek, rewind and retire: answers to older requests are ignored. */
  version = 0;
  paused = false;
  /** Reading is stopped by this error until a seek; the reader sees it. */
  failure: TributaryError | undefined;
  /** Of the last fetch; -1: none yet. */
  logStartOffset = -1;
  private knownHighWatermark = -1;
  private nextOffset: number | undefined;
  private toFetch = 0;
  /** Of the record before `nextOffset`, before `toFetch`, and before the record in hand: KIP-320. undefined: not known. */
  private nextEpoch: number | undefined;
  private toFetchEpoch: number | undefined;
  private handEpoch: number | undefined;
  private batches: Buffer[] = [];
  private current: DecodedRecord[] = [];
  private currentAt = 0;
  private currentBytes = 0;
  private currentEnd = 0;
  private currentEpoch = -1;
  private buffered = 0;
  private hand: DecodedRecord | undefined;
  /** Moves against the flow so far; a record in hand from before one no longer says what is consumed. */
  private seeks = 0;
  private handSeeks = 0;
  private handCommitted = false;
  private last: Consumed | undefined;
  private idleWaiters: (() => void)[] = [];
  private gone = false;

  constructor(
    readonly partition: GroupPartition,
    /** undefined: not owned through a group. */
    readonly ownerEpoch: number | undefined,
    private readonly codecs: CodecSet = standardCodecs,
  ) {
    this.key = partitionKey(partition.topicId, partition.partition);
  }

  /** Next offset to hand out; undefined: not known yet. */
  get position(): number | undefined {
    return this.nextOffset;
  }

  get fetchOffset(): number {
    return this.toFetch;
  }

  /** Of the record before `fetchOffset`; undefined: nothing was read, or it is not known. */
  get fetchEpoch(): number | undefined {
    return this.toFetchEpoch;
  }

  /** The highest that a fetch told of; -1: none yet. A new leader may know a lower one for a moment. */
  get highWatermark(): number {
    return this.knownHighWatermark;
  }

  set highWatermark(offset: number) {
    this.knownHighWatermark = Math.max(this.knownHighWatermark, offset);
  }

  get bufferedBytes(): number {
    return this.buffered;
  }

  /** After the last record that counts as consumed; undefined: none since the start or the last seek. */
  get consumed(): Consumed | undefined {
    return this.last;
  }

  get inHand(): DecodedRecord | undefined {
    return this.hand;
  }

  /** Not read any more; the record in hand may still be finished. */
  get retired(): boolean {
    return this.gone;
  }

  /** @param lastEpoch of the record before it, where that was read; the leader then says whether it is still there. */
  seek(offset: number, lastEpoch?: number): void {
    this.last = undefined;
    this.failure = undefined;
    this.seeks += 1;
    this.moveTo(offset, lastEpoch);
  }

  /** The position is to be looked up anew. */
  forgetPosition(): void {
    this.seek(0);
    this.nextOffset = undefined;
  }

  /** The record in hand was not processed: it comes again. */
  rewind(): void {
    const { hand } = this;
    if (!hand) return;
    this.hand = undefined;
    if (!this.gone && this.handSeeks === this.seeks) this.moveTo(hand.offset, this.handEpoch);
    this.wakeIdle();
  }

  /** Forgets what is fetched but not handed out: it is asked for again. */
  dropAhead(): void {
    if (this.buffered > 0 && this.nextOffset !== undefined) {
      this.moveTo(this.nextOffset, this.nextEpoch);
    }
  }

  retire(): void {
    this.gone = true;
    this.version += 1;
    this.drop();
  }

  /**
   * What a fetch at `fetchOffset` gave. The first batch may start before it. Throws INVALID_BATCH for bytes
   * that are not whole batches.
   */
  append(bytes: Buffer): void {
    for (const batch of splitBatches(bytes)) {
      const { lastOffset, leaderEpoch } = readBatchHeader(batch);
      if (lastOffset < this.toFetch) continue; // the broker may answer from a bit earlier
      this.batches.push(batch);
      this.buffered += batch.length;
      this.toFetch = lastOffset + 1;
      this.toFetchEpoch = leaderEpoch;
    }
  }

  /** The next record, in hand from now on; undefined: none, or the last one is not finished. Throws what makes it unreadable. */
  take(): DecodedRecord | undefined {
    if (this.failure) throw this.failure;
    if (this.hand || this.paused || this.gone || this.nextOffset === undefined) return undefined;
    for (;;) {
      const record = this.current[this.currentAt];
      if (record) {
        this.currentAt += 1;
        this.handEpoch = this.nextEpoch;
        this.nextOffset = record.offset + 1;
        this.nextEpoch = record.leaderEpoch;
        if (this.currentAt === this.current.length) this.finishBatch();
        this.hand = record;
        this.handSeeks = this.seeks;
        this.handCommitted = false;
        return record;
      }
      if (!this.openBatch()) return undefined;
    }
  }

  /** The next record will come from another batch: a good moment to turn to another partition. */
  get atBatchEnd(): boolean {
    return this.currentAt >= this.current.length;
  }

  /** The record in hand counts as consumed. */
  finish(record: DecodedRecord): void {
    if (this.hand !== record) return;
    this.hand = undefined;
    if (this.handSeeks === this.seeks) {
      this.last = { offset: record.offset + 1, leaderEpoch: record.leaderEpoch };
    }
    this.wakeIdle();
  }

  /** The reader went away with it: not consumed, and nothing waits for it. Reading goes on after it. */
  letGo(record: DecodedRecord): void {
    if (this.hand !== record) return;
    this.hand = undefined;
    this.wakeIdle();
  }

  /** It was committed while in hand: nothing waits for it any more. */
  committed(record: DecodedRecord): void {
    if (this.hand !== record) return;
    this.handCommitted = true;
    if (this.handSeeks === this.seeks) {
      this.last = { offset: record.offset + 1, leaderEpoch: record.leaderEpoch };
    }
    this.wakeIdle();
  }

  /** No record is in hand but one that is committed already. */
  get idle(): boolean {
    return this.hand === undefined || this.handCommitted;
  }

  whenIdle(): Promise<void> {
    if (this.idle) return Promise.resolve();
    return new Promise((resolve) => this.idleWaiters.push(resolve));
  }

  error(code: ErrorCode, message: string, offset: number, cause?: unknown): TributaryError {
    const { topic, partition } = this.partition;
    const name = `${topic}-${partition}`;
    const what = message.replace(`${name}: `, ''); // a broker's message begins with it, too
    return new TributaryError(code, `${name} at offset ${offset}: ${what}`, {
      details: { topic, partition, offset },
      cause,
      // Where it says more than the code: which package to install.
      ...(hasCode(cause, code) ? { hint: cause.hint } : {}),
    });
  }

  /** Decodes the next batch. False: there is none. */
  private openBatch(): boolean {
    const position = this.nextOffset ?? 0;
    const batch = this.batches.shift();
    if (!batch) return false;
    const { lastOffset, isControl, leaderEpoch } = readBatchHeader(batch);
    this.currentBytes = batch.length;
    this.currentEnd = lastOffset + 1;
    this.currentEpoch = leaderEpoch;
    try {
      const records = isControl ? [] : decodeBatch(batch, { codecs: this.codecs });
      const early = records[0] !== undefined && records[0].offset < position;
      this.current = early ? records.filter(({ offset }) => offset >= position) : records;
    } catch (thrown) {
      // Ask for it again: should it have been damaged on the way, the next answer is good.
      this.moveTo(position, this.nextEpoch);
      const { code, message } = TributaryError.from(thrown, 'CORRUPT_BATCH');
      throw this.error(code, message, position, thrown);
    }
    this.currentAt = 0;
    if (this.current.length === 0) this.finishBatch(); // compaction may empty one
    return true;
  }

  private finishBatch(): void {
    this.buffered -= this.currentBytes;
    this.nextOffset = Math.max(this.nextOffset ?? 0, this.currentEnd);
    this.nextEpoch = this.currentEpoch;
    this.current = [];
    this.currentAt = 0;
    this.currentBytes = 0;
  }

  private moveTo(offset: number, lastEpoch: number | undefined): void {
    this.version += 1;
    this.nextOffset = offset;
    this.toFetch = offset;
    this.nextEpoch = lastEpoch;
    this.toFetchEpoch = lastEpoch;
    this.drop();
  }

  private drop(): void {
    this.batches = [];
    this.current = [];
    this.currentAt = 0;
    this.currentBytes = 0;
    this.buffered = 0;
  }

  private wakeIdle(): void {
    const waiters = this.idleWaiters;
    this.idleWaiters = [];
    for (const resolve of waiters) resolve();
  }
}
