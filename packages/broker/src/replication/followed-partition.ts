/**
 * One partition that this broker follows on one link: attaches, truncates until the leader accepts, appends what is pushed,
 * acknowledges. Everything that the leader says repeats the attach id; what repeats an older one, or
 * another epoch, is dropped.
 *
 * Invariants: the divergence of the logs is settled before the HW is touched (KAFKA-14704), and what was cut is cut
 * on the device before anything is appended behind it; a push is appended only where it continues the log;
 * with `flush=sync` nothing is acknowledged that is not on the device; after `stop` the partition is not touched any
 * more (KAFKA-13207).
 * Called by `FollowerLink`.
 */
import {
  backoffMs,
  hasCode,
  TributaryError,
  type Clock,
  type ErrorCode,
  type Logger,
  type Random,
  type Timer,
} from '@tributary/common';
import {
  fromWireError,
  type Accepted,
  type AttachResult,
  type Detached,
  type FollowUpInput,
  type Mark,
  type Move,
  type Push,
  type Truncate,
} from '@tributary/protocol';
import { followLogStart } from '../partition/log-starts';
import type { Partition } from '../partition/partition';
import type { CatchUpThrottle } from './catch-up-throttle';
import type { DataLimits } from './data-limits';
import { OwedAcknowledgements } from './owed-acknowledgements';
import type { LeaderEnd } from './refill';
import { cutFor, type Cut } from './truncation';

export interface FollowedPartitionHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: DataLimits;
  readonly leaderId: number;
  /** Per attach on this stream. */
  readonly creditBytes: number;
  /** Sends on the link's stream, if it is up and greeted. */
  send(message: FollowUpInput): void;
  readonly up: boolean;
  nextAttachId(): number;
  /** Of a catch-up stream: an acknowledgement, and the credit in it, waits for its turn there. */
  readonly throttle: CatchUpThrottle | undefined;
  heard(partition: Partition, leader: LeaderEnd): void;
  /** The partition belongs on the other stream to the same leader; this one is stopped. */
  move(followed: FollowedPartition, toCatchUp: boolean): void;
}

export class FollowedPartition {
  /** undefined: not attached and not attaching. */
  private attachId: number | undefined;
  private accepted = false;
  private owed = new OwedAcknowledgements(0);
  private failures = 0;
  /** Why the last push could not be appended; until one can, an accepted attach is no success: back off. */
  private refusedPush: ErrorCode | undefined;
  private retryTimer: Timer | undefined;
  private stopped = false;
  private settling = false;
  private waitsForTurn = false;
  private readonly unwatch: () => void;

  constructor(
    readonly partition: Partition,
    readonly leaderEpoch: number,
    private readonly host: FollowedPartitionHost,
  ) {
    this.unwatch = partition.watchDurability(() => this.acknowledge());
  }

  get attached(): boolean {
    return this.accepted;
  }

  /** On a fresh stream, or again on this one. */
  attach(): void {
    this.retryTimer?.cancel();
    this.retryTimer = undefined;
    if (this.stopped || !this.host.up || !this.isCurrent) return;
    const { partition, leaderEpoch } = this;
    const { log } = partition;
    if (!log.cutsAreSettled) return this.settle();
    this.attachId = this.host.nextAttachId();
    this.accepted = false;
    this.owed = new OwedAcknowledgements(log.logEndOffset);
    this.host.send({
      attach: {
        topic: partition.topic,
        topicId: partition.topicId,
        partition: partition.partition,
        leaderEpoch,
        attachId: this.attachId,
        logEndOffset: log.logEndOffset,
        lastEpoch: log.lastBatchEpoch,
        logStartOffset: log.logStartOffset,
        creditBytes: this.host.creditBytes,
      },
    });
  }

  /** Attaches when the device has what was cut. */
  private settle(): void {
    this.attachId = undefined;
    this.accepted = false;
    if (this.settling) return;
    this.settling = true;
    const done = (next: () => void) => (): void => {
      this.settling = false;
      if (this.attachId === undefined && !this.retryTimer) next();
    };
    const { log } = this.partition;
    log.settleCuts().then(
      done(() => this.attach()),
      (thrown: unknown) => done(() => this.attachLater(TributaryError.from(thrown)))(),
    );
  }

  /** The stream is gone: the link attaches again on the next one. */
  streamClosed(): void {
    this.attachId = undefined;
    this.accepted = false;
    this.retryTimer?.cancel();
    this.retryTimer = undefined;
  }

  /** @param nextEpoch the leader epoch that begins, where the partition does not know it yet */
  stop(nextEpoch?: number): void {
    if (this.stopped) return;
    this.detach(nextEpoch);
    this.stopped = true;
    this.unwatch();
    this.streamClosed();
  }

  /** The role may have changed between two messages of one tick. */
  private get isCurrent(): boolean {
    const { state } = this.partition;
    return !this.stopped && state.role === 'follower' && state.leaderEpoch === this.leaderEpoch;
  }

  private isMine(message: { readonly attachId: number; readonly leaderEpoch: number }): boolean {
    return (
      this.isCurrent &&
      message.attachId === this.attachId &&
      message.leaderEpoch === this.leaderEpoch
    );
  }

  onAttachResult(result: AttachResult): void {
    if (!this.isMine(result) || this.accepted) return;
    if (result.truncate) return this.truncate(result.truncate);
    if (!result.accepted) {
      const error = result.error ? fromWireError(result.error) : undefined;
      return this.attachLater(error ?? new TributaryError('INTERNAL', 'an answer without outcome'));
    }
    const { logEndOffset } = this.partition.log;
    if (result.accepted.fromOffset !== logEndOffset) {
      const message = `accepted from ${result.accepted.fromOffset}, the log ends at ${logEndOffset}`;
      return this.attachLater(new TributaryError('INTERNAL', message));
    }
    this.accepted = true;
    this.partition.log.withdrawCut();
    if (this.refusedPush === undefined) this.failures = 0;
    this.observe(result.accepted);
  }

  onPush(push: Push): void {
    if (!this.isMine(push) || !this.accepted) return;
    const { partition } = this;
    if (push.fromOffset !== partition.log.logEndOffset) {
      const message = `pushed from ${push.fromOffset}, the log ends at ${partition.log.logEndOffset}`;
      return this.attachLater(new TributaryError('INVALID_ARGUMENT', message));
    }
    try {
      partition.appendAsFollower(push.batches, push.highWatermark);
      followLogStart(partition, push.logStartOffset);
      this.refusedPush = undefined;
      this.failures = 0;
    } catch (thrown) {
      const error = TributaryError.from(thrown, 'STORAGE_ERROR');
      const isNews = this.refusedPush !== error.code;
      this.refusedPush = error.code;
      return this.attachLater(error, isNews);
    }
    this.owed.pushed(partition.log.logEndOffset, push.batches.length, push.markId);
    this.acknowledge();
    this.heard(push);
  }

  onMark(mark: Mark): void {
    if (!this.isMine(mark) || !this.accepted) return;
    this.observe(mark);
    this.owed.marked(mark.markId);
    this.acknowledge();
    this.heard(mark);
  }

  private heard({ attachId, leaderLogEndOffset: logEndOffset, highWatermark }: Mark | Push): void {
    this.host.heard(this.partition, { attachId, logEndOffset, highWatermark });
  }

  /** Of the leader's: this attach is over on its side. */
  onMove(move: Move): void {
    if (!this.isMine(move)) return;
    this.attachId = undefined;
    this.accepted = false;
    this.host.move(this, move.toCatchUp);
  }

  onDetached(detached: Detached): void {
    if (!this.isCurrent || detached.attachId !== this.attachId) return;
    this.attachId = undefined;
    const error = detached.error ? fromWireError(detached.error) : undefined;
    this.attachLater(error ?? new TributaryError('NOT_LEADER', 'the leader ended the attach'));
  }

  private observe({ highWatermark, logStartOffset }: Accepted | Mark): void {
    const { logEndOffset } = this.partition.log;
    const leaderHighWatermark = highWatermark;
    this.partition.dispatch({ kind: 'replicated', logEndOffset, leaderHighWatermark });
    followLogStart(this.partition, logStartOffset);
  }

  /** After an append or a mark, and when the device has more. */
  private acknowledge(): void {
    const { throttle } = this.host;
    if (!throttle) this.sendOwed();
    else if (!this.waitsForTurn) {
      this.waitsForTurn = true;
      throttle.wait(() => {
        this.waitsForTurn = false;
        return this.sendOwed();
      });
    }
  }

  /** Answers the credit that it gave back, in bytes. */
  private sendOwed(): number {
    const { partition, leaderEpoch } = this;
    if (!this.accepted || !this.isCurrent) return 0;
    const owed = this.owed.take(partition.acknowledgeable);
    if (!owed) return 0;
    this.host.send({
      acknowledge: {
        topicId: partition.topicId,
        partition: partition.partition,
        leaderEpoch,
        attachId: this.attachId,
        logStartOffset: partition.log.logStartOffset,
        ...owed,
      },
    });
    return owed.creditBytes;
  }

  private truncate(answer: Truncate): void {
    const { partition, host } = this;
    const { log } = partition;
    const cut = cutFor(log, answer);
    if (!cut.restart && cut.offset >= log.logEndOffset) {
      const message = `told to cut at ${cut.offset}, the log ends at ${log.logEndOffset}`;
      return this.attachLater(new TributaryError('INVALID_ARGUMENT', message));
    }
    const facts = {
      partition: partition.name,
      from: log.logEndOffset,
      to: cut.offset,
      leaderEpoch: this.leaderEpoch,
      highWatermark: partition.state.highWatermark,
    };
    // Below the HW it is not a tail that was never committed: an election lost records.
    if (cut.offset < partition.state.highWatermark) host.logger.warn('log cut below the HW', facts);
    else host.logger.info('log cut to where the leader agrees', facts);
    const preparing = log.prepareCut(
      cut.restart ? Math.min(cut.offset, log.logStartOffset) : cut.offset,
    );
    if (!preparing) return this.cut(cut);
    const { attachId } = this;
    const ifStillWanted = (then: () => void): void => {
      if (this.isCurrent && attachId !== undefined && attachId === this.attachId) then();
    };
    preparing.then(
      () => ifStillWanted(() => this.cut(cut)),
      (error: unknown) =>
        ifStillWanted(() => this.attachLater(TributaryError.from(error, 'STORAGE_ERROR'))),
    );
  }

  private cut(cut: Cut): void {
    try {
      this.partition.truncate(cut.offset, cut.restart);
    } catch (error) {
      return this.attachLater(TributaryError.from(error, 'STORAGE_ERROR'));
    }
    this.attach();
  }

  private detach(nextEpoch?: number): void {
    if (this.attachId === undefined) return;
    const { topicId, partition, state } = this.partition;
    const leaderEpoch = Math.max(state.leaderEpoch, nextEpoch ?? -1);
    this.host.send({ detach: { topicId, partition, attachId: this.attachId, leaderEpoch } });
    this.attachId = undefined;
    this.accepted = false;
  }

  /** Refused, ended, or the disk refused: with backoff, for as long as the image says to follow. */
  private attachLater(error: TributaryError, isNews = false): void {
    this.detach();
    this.accepted = false;
    if (!this.isCurrent) return;
    const { clock, random, limits, logger, leaderId } = this.host;
    // One line an incident: a leader that has not heard of its epoch yet is no incident.
    const grave = hasCode(error, 'DISK_FULL', 'CORRUPT_BATCH', 'INVALID_BATCH');
    if (this.failures === 4 || (grave && isNews)) {
      const { name } = this.partition;
      logger.warn('follower cannot attach', { partition: name, leaderId, reason: error.message });
    }
    const options = { baseMs: limits.firstRetryMs, maxMs: limits.maxRetryMs };
    const delayMs = backoffMs(this.failures, random, options);
    this.failures += 1;
    this.retryTimer?.cancel();
    this.retryTimer = clock.setTimer(delayMs, () => this.attach());
  }
}
