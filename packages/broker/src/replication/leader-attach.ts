/**
 * One follower's attach of one partition, seen by the leader: how far it was pushed, how much credit is left, and
 * when it was caught up. Reads the log; the stream that owns it sends.
 *
 * Invariants: acknowledged <= pushed <= log end; pushed and unacknowledged bytes exceed the credit by at
 * most one push; once ended it sends nothing. Called by `LeaderStream`.
 */
import { assert, TributaryError } from '@tributary/common';
import type { Acknowledge, Attach, MarkInput, PushInput } from '@tributary/protocol';
import { baseOffsetAt } from '@tributary/record';
import { endOfBatches } from '../partition/end-of-batches';
import type { Attachment, AttachProgress } from '../partition/attachment';
import type { Partition } from '../partition/partition';
import { CaughtUpMarks } from './caught-up-marks';
import { RecentRate } from './recent-rate';
import type { StreamKind } from './stream-kind';

/** What the attach asks of the stream that it lives on. */
export interface AttachOwner {
  readonly brokerId: number;
  readonly brokerEpoch: number;
  readonly kind: StreamKind;
  readonly maxPushBytes: number;
  now(): number;
  /** There is something to push. */
  ready(attach: LeaderAttach): void;
  /** What `nextPush` began to read is there, or will not come. */
  readDone(attach: LeaderAttach): void;
  /** The follower has more, and maybe is close enough now, or not. */
  progressed(attach: LeaderAttach): void;
  /** The HW or the log start moved, and maybe nothing will be pushed that carries it. */
  news(attach: LeaderAttach): void;
  ended(attach: LeaderAttach, error: TributaryError): void;
}

export class LeaderAttach implements Attachment {
  readonly attachId: number;
  readonly leaderEpoch: number;
  /** In the owner's queue. */
  queued = false;
  lastMarkAt = -Infinity;
  private pushedTo: number;
  private acknowledgedTo: number;
  private credit: number;
  private writtenTo: number;
  private reading = false;
  private over = false;
  private sentHighWatermark = -1;
  private sentLogStart = -1;
  private sentMark = 0;
  private acknowledgedMark = 0;
  /** Cold bytes that have arrived and wait for their turn. */
  private readAhead: { readonly from: number; readonly bytes: Buffer } | undefined;
  private readonly marks = new CaughtUpMarks();
  private readonly rate: RecentRate;

  constructor(
    readonly partition: Partition,
    attach: Attach,
    private readonly owner: AttachOwner,
  ) {
    this.attachId = attach.attachId;
    this.leaderEpoch = attach.leaderEpoch;
    this.pushedTo = attach.logEndOffset;
    this.acknowledgedTo = attach.logEndOffset;
    this.writtenTo = partition.log.logEndOffset;
    this.credit = Math.max(1, attach.creditBytes);
    this.rate = new RecentRate(owner.now());
    partition.logStarts.confirmed(owner.brokerId, attach.logStartOffset);
  }

  get brokerId(): number {
    return this.owner.brokerId;
  }

  get brokerEpoch(): number {
    return this.owner.brokerEpoch;
  }

  get live(): boolean {
    return !this.over;
  }

  get hasMore(): boolean {
    return (
      !this.over &&
      !this.reading &&
      this.credit > 0 &&
      this.pushedTo < this.partition.state.logEndOffset
    );
  }

  /** The next push waits for the disk, and for memory to read it to. */
  get wantsColdRead(): boolean {
    return this.hasMore && !this.readAhead && !this.partition.hotTail.isHot(this.pushedTo);
  }

  get holdsColdRead(): boolean {
    return this.reading || this.readAhead !== undefined;
  }

  /** About how many bytes the follower is behind. */
  get bytesBehind(): number {
    return this.partition.log.bytesFrom(this.acknowledgedTo);
  }

  get progress(): AttachProgress {
    return {
      logEndOffset: this.acknowledgedTo,
      bytesBehind: this.bytesBehind,
      bytesPerSecond: this.rate.perSecond(this.owner.now()),
      catchingUp: this.owner.kind === 'catch-up',
    };
  }

  /** About how many bytes were written since the last call, or the attach. */
  takeWritten(): number {
    const { log } = this.partition;
    const bytes = log.bytesFrom(this.writtenTo);
    this.writtenTo = log.logEndOffset;
    return bytes;
  }

  /** A mark would say more than the last one did. */
  get hasNews(): boolean {
    const { state, log } = this.partition;
    const isHigher = state.highWatermark > this.sentHighWatermark;
    return !this.over && (isHigher || log.logStartOffset > this.sentLogStart);
  }

  /** The last mark was answered, and there is nothing that another one would tell the follower, or its answer us. */
  get isQuiet(): boolean {
    const { state } = this.partition;
    return (
      this.acknowledgedMark === this.sentMark &&
      this.acknowledgedTo === state.logEndOffset &&
      !this.hasNews &&
      state.role === 'leader' &&
      state.isr.includes(this.brokerId)
    );
  }

  logMoved(): void {
    if (this.hasMore) this.owner.ready(this);
  }

  highWatermarkMoved(): void {
    this.owner.news(this);
  }

  logStartMoved(): void {
    this.owner.news(this);
  }

  end(error: TributaryError): void {
    if (this.over) return;
    this.over = true;
    this.readAhead = undefined;
    this.owner.ended(this, error);
  }

  /** Without a word to the follower: it went, or said so itself. */
  drop(): void {
    if (this.over) return;
    this.over = true;
    this.readAhead = undefined;
    this.partition.detach(this);
  }

  /** The next push, or undefined while cold data is read: the owner is told when it is there. */
  nextPush(): PushInput | undefined {
    const from = this.pushedTo;
    const maxBytes = Math.min(this.owner.maxPushBytes, this.credit);
    const { log, state } = this.partition;
    const batches = this.partition.read(
      Math.max(from, log.logStartOffset),
      maxBytes,
      state.logEndOffset,
    );
    if (Buffer.isBuffer(batches)) return this.push(from, batches);
    // Cold: it comes back into the queue when it is there.
    this.reading = true;
    batches.then(
      (bytes) => {
        this.reading = false;
        if (!this.over) this.readAhead = { from, bytes };
        this.owner.readDone(this);
      },
      (error: unknown) => {
        this.reading = false;
        this.end(TributaryError.from(error, 'STORAGE_ERROR'));
        this.owner.readDone(this);
      },
    );
    return undefined;
  }

  takeReadAhead(): PushInput | undefined {
    const ahead = this.readAhead;
    this.readAhead = undefined;
    return ahead && !this.over ? this.push(ahead.from, ahead.bytes) : undefined;
  }

  private push(fromOffset: number, batches: Buffer): PushInput | undefined {
    const { name, log } = this.partition;
    assert(batches.length > 0, `${name}: nothing at ${fromOffset}, below its end`);
    // The log starts within the batch that comes next, or all of that was deleted.
    if (fromOffset < log.logStartOffset && baseOffsetAt(batches, 0) !== fromOffset) {
      const message = `${name}: offset ${fromOffset} is below the log start ${log.logStartOffset}`;
      this.end(new TributaryError('OFFSET_OUT_OF_RANGE', message));
      return undefined;
    }
    this.pushedTo = Math.max(fromOffset, endOfBatches(batches, fromOffset));
    this.credit -= batches.length;
    const { topicId, ...mark } = this.mark();
    return { topicId, ...mark, fromOffset, batches };
  }

  mark(): MarkInput & { readonly topicId: string } {
    const { partition, attachId, leaderEpoch } = this;
    const { highWatermark, logEndOffset } = partition.state;
    const now = this.owner.now();
    this.lastMarkAt = now;
    this.sentHighWatermark = highWatermark;
    this.sentLogStart = partition.log.logStartOffset;
    this.sentMark = this.marks.sent(now, logEndOffset);
    return {
      topicId: partition.topicId,
      partition: partition.partition,
      leaderEpoch,
      attachId,
      highWatermark,
      leaderLogEndOffset: logEndOffset,
      markId: this.sentMark,
      logStartOffset: this.sentLogStart,
    };
  }

  acknowledged(message: Acknowledge): void {
    const { logEndOffset, markId, creditBytes, logStartOffset } = message;
    if (logEndOffset < this.acknowledgedTo || logEndOffset > this.pushedTo) {
      const message = `acknowledged ${logEndOffset}, between ${this.acknowledgedTo} and ${this.pushedTo} was possible`;
      return this.end(new TributaryError('INVALID_ARGUMENT', message));
    }
    this.acknowledgedTo = logEndOffset;
    this.acknowledgedMark = Math.max(this.acknowledgedMark, markId);
    this.credit += creditBytes;
    this.rate.note(creditBytes, this.owner.now());
    this.partition.logStarts.confirmed(this.brokerId, logStartOffset);
    this.owner.progressed(this);
    // Moved: the attach that follows says what the follower has, and may make it a member of the ISR.
    if (this.over) return;
    const caughtUpAt = this.marks.reached(markId, logEndOffset);
    const { brokerId } = this;
    this.partition.dispatch({ kind: 'acknowledged', brokerId, logEndOffset, caughtUpAt });
    this.logMoved();
  }
}
