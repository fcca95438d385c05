/**
 * One replica on this broker: the pure core's state, the log, and who waits for it. The shell around
 * `step`: it does what the effects say, in order, and turns log failures into `fail` events.
 *
 * Invariants: `state.logEndOffset` equals the log's after every call; an append happens only while this is the
 * leader, in the epoch that the request was checked against, with no await in between; what is handed to a
 * client ends at or below the HW. Called by the handlers of rpc/, by replication/, and by ReplicaManager.
 */
import {
  assert,
  hasCode,
  partitionName,
  TributaryError,
  type Clock,
  type LeaderHint,
  type Logger,
  type TopicConfig,
} from '@tributary/common';
import type { LeaderAppend, PartitionLog } from '@tributary/log';
import { AckWaiters, type AckWait } from './ack-waiters';
import type { Attachment } from './attachment';
import { underMinIsr } from './commit-errors';
import type { WaiterBudget } from './commit-purgatory';
import { HotTail } from './hot-tail';
import { LogStartConfirmations } from './log-start-confirmations';
import { requireLeading } from './leader-fence';
import { bareReason, isDamage, offlineError } from './offline-error';
import { isUnderMinIsr } from './in-sync-replicas';
import {
  newReplica,
  type EventOf,
  type LeaderState,
  type PartitionEffect,
  type PartitionEvent,
  type PartitionState,
} from './partition-state';
import { step } from './partition-step';

type LogEnds = Pick<PartitionLog, 'logEndOffset' | 'durableEndOffset'>;
export type AlterEffect = Extract<PartitionEffect, { kind: 'alterPartition' }>;

export interface PartitionContext {
  readonly brokerId: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly budget: WaiterBudget;
  /** Asks the controller and dispatches its answer. */
  readonly alter: (partition: Partition, effect: AlterEffect) => void;
  /** It went offline after an I/O error. */
  readonly failed: (partition: Partition) => void;
}

/** Between two questions to the controller that clients provoke. */
const DOUBT_PAUSE_MS = 500;

export class Partition {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly name: string;
  private current: PartitionState;
  private readonly waiters: AckWaiters;
  /** What reading waits for no disk for. */
  readonly hotTail: HotTail;
  readonly attachments = new Map<number, Attachment>();
  readonly logStarts = new LogStartConfirmations();
  private readonly watchers = new Set<() => void>();
  private readonly durabilityWatchers = new Set<() => void>();
  /** Counts role changes and resignations, so that one that awaits sees that it was overtaken. */
  private roleChanges = 0;
  private doubtedAt = -Infinity;
  private damaged = false;

  constructor(
    readonly log: PartitionLog,
    private topicConfig: TopicConfig,
    highWatermark: number,
    private readonly context: PartitionContext,
  ) {
    this.topic = log.topic;
    this.topicId = log.topicId;
    this.partition = log.partition;
    this.name = partitionName(log.topic, log.partition);
    this.current = newReplica(log.logEndOffset, Math.max(highWatermark, log.logStartOffset));
    log.noteHighWatermark(this.current.highWatermark);
    this.waiters = new AckWaiters(this.name, context, () => this.current);
    this.hotTail = new HotTail(log.logEndOffset);
    log.observe({
      durable: () => this.noticeDurable(),
      failed: (error) => void this.noticeFailure(error),
    });
  }

  get state(): PartitionState {
    return this.current;
  }

  get config(): TopicConfig {
    return this.topicConfig;
  }

  /** Of one that failed: what it holds is not what was written; undone by refilling it, not by a restart. */
  get isDamaged(): boolean {
    return this.damaged;
  }

  get waiting(): number {
    return this.waiters.waiting;
  }

  configure(config: TopicConfig): void {
    this.topicConfig = config;
    // Also when it is the same: the log may only have guessed it until now.
    this.log.configure(config);
    for (const watcher of [...this.durabilityWatchers]) watcher();
  }

  dispatch(event: PartitionEvent): void {
    if (event.kind === 'resign' || event.kind === 'follow' || event.kind === 'fail') {
      this.roleChanges += 1;
    }
    const { highWatermark } = this.current;
    const { state, effects } = step(this.current, event, this.context.clock.now());
    this.current = state;
    if (state.highWatermark !== highWatermark) this.log.noteHighWatermark(state.highWatermark);
    for (const effect of effects) this.execute(effect);
    this.waiters.stateChanged(this.current);
  }

  private execute(effect: PartitionEffect): void {
    switch (effect.kind) {
      case 'highWatermark':
        this.waiters.committed(effect.highWatermark);
        for (const attachment of this.attachments.values()) attachment.highWatermarkMoved();
        for (const watcher of [...this.watchers]) watcher();
        return;
      case 'alterPartition':
        return this.context.alter(this, effect);
      case 'leadershipEnded':
        return this.endLeadership(effect.reason);
      case 'isrChanged':
        this.logStarts.check();
        return this.context.logger.info('in-sync replicas changed', {
          partition: this.name,
          isr: effect.isr,
          previous: effect.previous,
        });
    }
  }

  private endLeadership(reason: string): void {
    const attachments = [...this.attachments.values()];
    this.attachments.clear();
    const error = new TributaryError('NOT_LEADER', `${this.name}: ${reason}`);
    for (const attachment of attachments) attachment.end(error);
    this.waiters.endAll(reason);
    this.logStarts.end(error);
    for (const watcher of [...this.watchers]) watcher();
  }

  // ---- as leader ----

  /**
   * Takes leadership: the epoch is in its file before anything is served in it, and recorded in the state last, so that
   * a change that fails half-way is not taken for done (KAFKA-9307).
   */
  async becomeLeader(event: Omit<EventOf<'lead'>, 'kind' | keyof LogEnds>): Promise<void> {
    this.roleChanges += 1;
    const change = this.roleChanges;
    await this.log.settleCuts();
    if (change !== this.roleChanges) return;
    // What the leader before was about to have cut here is this leader's now.
    this.log.withdrawCut();
    await this.log.assignEpoch(event.leaderEpoch);
    if (change !== this.roleChanges) return;
    const { logEndOffset, durableEndOffset } = this.log;
    this.dispatch({ kind: 'lead', ...event, logEndOffset, durableEndOffset });
  }

  /** Leads no more, nor becomes leader if it was about to; following goes on. */
  resign(reason: string, shownEpoch?: number): void {
    this.roleChanges += 1;
    if (this.current.role === 'leader') this.dispatch({ kind: 'resign', reason, shownEpoch });
  }

  /** @param leaderEpoch as the request names it; -1: not checked. Throws NOT_LEADER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, STORAGE_ERROR. */
  requireLeader(leaderEpoch: number, leader: () => LeaderHint | undefined): LeaderState {
    const { current: state, name } = this;
    if (state.role === 'offline' && state.failed) throw this.offlineError(state.reason);
    if (state.role === 'leader' && leaderEpoch > state.leaderEpoch) this.doubt();
    const { brokerId } = this.context;
    return requireLeading(state, leaderEpoch, { name, brokerId, leader });
  }

  /** Somebody who may be wrong claims a higher leader epoch: asks the controller, not too often. */
  doubt(): void {
    const now = this.context.clock.now();
    if (now - this.doubtedAt < DOUBT_PAUSE_MS) return;
    this.doubtedAt = now;
    this.dispatch({ kind: 'doubted' });
  }

  /** Up front for acks=all: nothing is appended that could not be answered. */
  requireMinIsr(): void {
    const state = this.current;
    if (state.role !== 'leader' || !isUnderMinIsr(state)) return;
    throw new TributaryError('NOT_ENOUGH_REPLICAS', `${this.name}: ${underMinIsr(state)}`, {
      outcome: 'not written',
    });
  }

  /** The caller has called `requireLeader` in the same tick. */
  append(batch: Buffer, expectedOffset: number | undefined): LeaderAppend {
    const state = this.current;
    assert(state.role === 'leader', `append to ${this.name} while ${state.role}`);
    const { leaderEpoch } = state;
    const appended = this.guard(() =>
      this.log.appendAsLeader(batch, { leaderEpoch, expectedOffset }),
    );
    if (appended.duplicate) return appended;
    this.hotTail.note(appended.baseOffset, batch.length);
    this.dispatch({ kind: 'appended', logEndOffset: this.log.logEndOffset });
    for (const attachment of this.attachments.values()) attachment.logMoved();
    return appended;
  }

  /** Calls back once all is committed (acks -1), or this leader has it (acks 1), with `flush=sync` on the device. */
  awaitAck(acks: number, wait: AckWait): void {
    if (acks === 1) this.waiters.awaitOwn(wait);
    else this.waiters.awaitCommit(wait);
  }

  /** Registers the newest attach of a broker; an older one ends as stale. */
  attach(attachment: Attachment, brokerEpoch: number): void {
    const { brokerId } = attachment;
    const older = this.attachments.get(brokerId);
    this.attachments.set(brokerId, attachment);
    older?.end(new TributaryError('STALE_ATTACH', `${this.name}: a newer attach came`));
    this.dispatch({ kind: 'attached', brokerId, brokerEpoch });
  }

  detach(attachment: Attachment): void {
    if (this.attachments.get(attachment.brokerId) !== attachment) return;
    this.attachments.delete(attachment.brokerId);
    this.dispatch({ kind: 'detached', brokerId: attachment.brokerId });
  }

  /** Why the HW does not move, for people; empty: it may. */
  get frozenNote(): string {
    const state = this.current;
    if (state.role !== 'leader' || !isUnderMinIsr(state)) return '';
    return `the high watermark is frozen at ${state.highWatermark}: ${underMinIsr(state)}`;
  }

  /** Called at each HW move and when leadership ends, until the returned function is called. */
  watch(watcher: () => void): () => void {
    this.watchers.add(watcher);
    return () => this.watchers.delete(watcher);
  }

  // ---- reading ----

  /** Whole batches below `below`; synchronous for the hot end of the log. */
  read(offset: number, maxBytes: number, below: number): Buffer | Promise<Buffer> {
    if (this.hotTail.isHot(offset)) {
      return this.guard(() => this.log.read(offset, maxBytes, below));
    }
    return this.log.readAsync(offset, maxBytes, below).catch((error: unknown) => {
      throw this.noticeFailure(error);
    });
  }

  // ---- as follower ----

  /** Throws what the log throws; nothing was appended then. */
  appendAsFollower(batches: Buffer, leaderHighWatermark: number): void {
    const from = this.log.logEndOffset;
    if (batches.length > 0) {
      this.guard(() => this.log.appendAsFollower(batches));
      this.hotTail.note(from, batches.length);
    }
    const { logEndOffset } = this.log;
    this.dispatch({ kind: 'replicated', logEndOffset, leaderHighWatermark });
  }

  /** Drops everything from `offset` on; below the log start: everything, and starts there. */
  truncate(offset: number, restart: boolean): void {
    this.guard(() => {
      if (restart) this.log.restartAt(offset);
      else this.log.truncateTo(offset);
    });
    const { logEndOffset, logStartOffset } = this.log;
    this.hotTail.restart(logEndOffset);
    this.dispatch({ kind: 'truncated', logEndOffset, logStartOffset });
  }

  /** What may be acknowledged to the leader: with `flush=sync` only what is on the device. */
  get acknowledgeable(): number {
    const { logEndOffset, durableEndOffset } = this.log;
    return this.topicConfig.flush === 'sync' ? durableEndOffset : logEndOffset;
  }

  /** Called when `acknowledgeable` may have risen without an append, until the returned function is called. */
  watchDurability(watcher: () => void): () => void {
    this.durabilityWatchers.add(watcher);
    return () => this.durabilityWatchers.delete(watcher);
  }

  private noticeDurable(): void {
    this.dispatch({ kind: 'durable', durableEndOffset: this.log.durableEndOffset });
    for (const watcher of [...this.durabilityWatchers]) watcher();
  }

  // ---- failure ----

  /** For whatever is done to the log. */
  guard<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw this.noticeFailure(error);
    }
  }

  /**
   * An I/O error ends this replica's service until the broker starts again, damage until it is refilled; a refusal does
   * not. Answers what the caller is to be told.
   */
  noticeFailure(thrown: unknown): TributaryError {
    const error = TributaryError.from(thrown, 'STORAGE_ERROR');
    const isFailure = hasCode(error, 'STORAGE_ERROR', 'CORRUPT_LOG', 'INTERNAL');
    if (!isFailure && !this.log.failure) return error;
    const reason = bareReason(this.name, error.message);
    if (this.current.role !== 'offline' || !this.current.failed) {
      this.damaged = isDamage(error, this.log);
      const { name: partition, topicId } = this;
      const { hint, details } = this.offlineError(reason, error);
      const facts = { partition, topicId, reason, hint, details };
      this.context.logger.error('partition is offline on this broker', facts);
      this.dispatch({ kind: 'fail', reason });
      this.context.failed(this);
    }
    return isFailure ? this.offlineError(reason, error) : error;
  }

  private offlineError(reason: string, cause?: TributaryError): TributaryError {
    const { name, damaged, context } = this;
    return offlineError({ name, damaged, reason, brokerId: context.brokerId, cause });
  }
}
