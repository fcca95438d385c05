/**
 * One partition of one topic id in a producer: fills batches and does what the sender machine asks. Invariants:
 * a batch is sealed when it is full, or when its linger is over and there is room in flight, so that batches
 * grow under load; the effects of a step are done before the next event. Called by the producer.
 */
import { assertNever, Deadline, partitionKey, TributaryError, type Timer } from '@tributary/common';
import { failoverBackoffMs } from '../metadata/failover-backoff';
import type { BrokerNode, ClientContext } from '../seams';
import type { LinkResult, ProduceItem } from './produce-request';
import type { IdentityKeeper } from './producer-identity';
import { RecordBatch, type AcceptedRecord, type BatchSettings } from './record-batch';
import { stepSender } from './sender/sender-machine';
import {
  newSender,
  type SenderEffect,
  type SenderEvent,
  type SenderSettings,
  type SenderState,
  type SpentIdentity,
} from './sender/sender-state';

/** Longest backoff between attempts. */
export const MAX_PAUSE_MS = 500;
/** Shortest search for a leader, however little time is left: a read of the metadata must fit in. */
const SEARCH_MS_MIN = 100;

export interface SenderHost {
  readonly context: ClientContext;
  readonly identities: IdentityKeeper;
  readonly lingerMs: number;
  /** Somebody waits for a flush: linger is over at once. */
  readonly flushing: boolean;
  submit(broker: BrokerNode, item: ProduceItem): void;
  release(bytes: number): void;
  batchCompleted(topic: string, partition: number): void;
}

export class PartitionSender {
  readonly key: string;
  private state: SenderState;
  /** Sealed and unresolved, by id. */
  private readonly batches = new Map<number, RecordBatch>();
  private open: RecordBatch | undefined;
  private lingerOver = false;
  private nextBatchId = 1;
  private leaderNode: BrokerNode | undefined;
  private readonly events: SenderEvent[] = [];
  private stepping = false;
  private lingerTimer: Timer | undefined;
  private pauseTimer: Timer | undefined;
  /** Of the leader that failed last. */
  private failedEpoch: number | undefined;
  private forgetLeader: (() => void) | undefined;
  private deadlineTimer: Timer | undefined;

  constructor(
    private readonly host: SenderHost,
    private readonly batchSettings: BatchSettings,
    readonly topicId: string,
    private readonly settings: SenderSettings,
  ) {
    this.key = partitionKey(topicId, settings.partition);
    this.state = newSender(settings);
  }

  get topic(): string {
    return this.settings.topic;
  }

  /** Throws INVALID_TIMESTAMP, before anything is taken. */
  append(accepted: AcceptedRecord): void {
    if (this.open && !this.open.tryAppend(accepted)) this.seal();
    if (!this.open) {
      const fresh = new RecordBatch(this.nextBatchId++, this.batchSettings, accepted.acceptedAt);
      fresh.tryAppend(accepted);
      this.open = fresh;
      this.startLinger();
    }
    if (this.open.full) this.seal();
  }

  /** No linger for what is here; resolves when all of it has its fate. */
  flush(): Promise<void>[] {
    this.lingerOver = true;
    this.sealIfRoom();
    const unresolved = [...this.batches.values(), ...(this.open ? [this.open] : [])];
    return unresolved.map((batch) => new Promise((resolve) => batch.onSettled(resolve)));
  }

  /** Everything fails with this; nothing is sent any more. */
  end(error: TributaryError): void {
    const unsealed = this.open;
    this.open = undefined;
    this.step({ type: 'ended', error });
    if (unsealed) {
      this.host.release(unsealed.bytes);
      unsealed.failed(error.withOutcome('not written'));
    }
    this.endPause();
    for (const timer of [this.lingerTimer, this.deadlineTimer]) timer?.cancel();
  }

  private startLinger(): void {
    const over = (): void => {
      this.lingerTimer = undefined;
      this.lingerOver = true;
      this.sealIfRoom();
    };
    // Without linger, what is sent in the same turn still shares a batch.
    if (this.host.lingerMs === 0 || this.host.flushing) return queueMicrotask(over);
    this.lingerTimer = this.host.context.clock.setTimer(this.host.lingerMs, over);
  }

  private sealIfRoom(): void {
    if (this.lingerOver && this.state.batches.length < this.settings.maxInFlight) this.seal();
  }

  private seal(): void {
    const batch = this.open;
    if (!batch) return;
    this.open = undefined;
    this.lingerTimer?.cancel();
    this.lingerTimer = undefined;
    this.lingerOver = false;
    this.batches.set(batch.id, batch);
    this.host.batchCompleted(this.topic, this.settings.partition);
    this.step({ type: 'added', batch: batch.summary(this.settings.deliveryTimeoutMs) });
  }

  /** Events that come while effects are done wait their turn. */
  private step(event: SenderEvent): void {
    this.events.push(event);
    if (this.stepping) return;
    this.stepping = true;
    try {
      for (let next = this.events.shift(); next; next = this.events.shift()) {
        const { state, effects } = stepSender(this.state, next, this.host.context.clock.now());
        this.state = state;
        for (const effect of effects) this.perform(effect);
      }
    } finally {
      this.stepping = false;
    }
    this.watchDeadline();
    this.sealIfRoom();
  }

  private perform(effect: SenderEffect): void {
    switch (effect.type) {
      case 'send':
        return this.send(effect);
      case 'findLeader':
        return void this.findLeader();
      case 'getIdentity':
        return void this.getIdentity(effect.replaces);
      case 'pause':
        return this.pause(effect.attempt);
      case 'reportFailure': {
        const { metadata } = this.host.context;
        const { topic, partition } = this.settings;
        this.failedEpoch = effect.leaderEpoch;
        return metadata.reportFailure(topic, partition, effect.leaderEpoch, effect.error);
      }
      case 'split':
        return this.split(effect.batchId);
      case 'delivered':
        return this.settle(effect.batchId, (batch) =>
          batch.written(this.settings.partition, effect.baseOffset),
        );
      case 'failed':
        return this.settle(effect.batchId, (batch) => batch.failed(effect.error));
      default:
        assertNever(effect);
    }
  }

  private send(effect: Extract<SenderEffect, { type: 'send' }>): void {
    const { batchId, stamp, leaderEpoch } = effect;
    const batch = this.batches.get(batchId);
    const settle = (result: LinkResult): void => this.step({ ...result, batchId });
    if (!batch || !this.leaderNode) {
      const error = new TributaryError('LEADER_NOT_AVAILABLE', 'the leader is not known any more');
      return settle({ type: 'unsent', error });
    }
    const { topic, partition } = this.settings;
    this.host.submit(this.leaderNode, {
      key: this.key,
      topic,
      topicId: this.topicId,
      partition,
      leaderEpoch,
      batch: batch.encode(stamp),
      settle,
    });
  }

  private async findLeader(): Promise<void> {
    const { clock, closing, metadata, requestTimeoutMs } = this.host.context;
    const { topic, partition } = this.settings;
    try {
      const deadline = Deadline.after(clock, this.searchMs(requestTimeoutMs), closing);
      const { leader, leaderEpoch } = await metadata.leader(topic, partition, deadline);
      const topicId = metadata.cached(topic)?.topicId;
      if (topicId !== undefined && topicId !== this.topicId) {
        return this.step({ type: 'ended', error: topicReplaced(topic) });
      }
      this.leaderNode = leader;
      this.step({ type: 'leaderFound', brokerId: leader.brokerId, leaderEpoch });
    } catch (thrown) {
      this.step({ type: 'leaderMissing', error: TributaryError.from(thrown) });
    }
  }

  /** Half of what the first batch has left, so that it is known why there is no leader before the batch expires. */
  private searchMs(requestTimeoutMs: number): number {
    const first = this.state.batches.find((batch) => !batch.abandoned);
    if (!first) return requestTimeoutMs;
    const leftMs = first.deadline - this.host.context.clock.now();
    return Math.min(requestTimeoutMs, Math.max(SEARCH_MS_MIN, leftMs / 2));
  }

  private async getIdentity(replaces: SpentIdentity | undefined): Promise<void> {
    try {
      const identity = await this.host.identities.obtain(replaces);
      this.step({ type: 'identityGranted', ...identity });
    } catch (thrown) {
      this.step({ type: 'identityMissing', error: TributaryError.from(thrown) });
    }
  }

  private pause(attempt: number): void {
    const { clock, random, metadata } = this.host.context;
    this.endPause();
    const code = this.state.lastError?.code;
    const delayMs = failoverBackoffMs(attempt, random, { maxMs: MAX_PAUSE_MS, code });
    const over = (): void => {
      this.endPause();
      this.step({ type: 'pauseOver' });
    };
    this.pauseTimer = clock.setTimer(delayMs, over);
    const { failedEpoch: leaderEpoch } = this;
    const { topic, partition } = this.settings;
    // It is over as soon as the next leader is known.
    if (leaderEpoch !== undefined && this.state.leader.kind === 'unknown')
      this.forgetLeader = metadata.onLeader({ topic, partition, leaderEpoch }, over);
  }

  private endPause(): void {
    this.pauseTimer?.cancel();
    this.forgetLeader?.();
    this.forgetLeader = undefined;
  }

  private split(batchId: number): void {
    const whole = this.batches.get(batchId);
    if (!whole) return;
    this.batches.delete(batchId);
    const halves = whole.split(this.nextBatchId);
    this.nextBatchId += halves.length;
    for (const half of halves) this.batches.set(half.id, half);
    const into = halves.map((half) => half.summary(this.settings.deliveryTimeoutMs));
    this.step({ type: 'split', batchId, into });
  }

  private settle(batchId: number, tell: (batch: RecordBatch) => void): void {
    const batch = this.batches.get(batchId);
    if (!batch) return;
    this.batches.delete(batchId);
    this.host.release(batch.bytes);
    tell(batch);
  }

  /** Batches are in the order of their deadlines, but for splits, which share one. */
  private watchDeadline(): void {
    const first = this.state.batches.find((batch) => !batch.abandoned);
    if (!first) {
      this.deadlineTimer?.cancel();
      this.deadlineTimer = undefined;
    } else if (!this.deadlineTimer) {
      const { clock } = this.host.context;
      this.deadlineTimer = clock.setTimer(Math.max(0, first.deadline - clock.now()), () => {
        this.deadlineTimer = undefined;
        this.step({ type: 'tick' });
      });
    }
  }
}

export function topicReplaced(topic: string): TributaryError {
  return new TributaryError(
    'TOPIC_ID_MISMATCH',
    `topic ${topic} was deleted and created again; this was meant for the old one`,
    { details: { topic } },
  );
}
