/**
 * The leader's side of one follower broker's replication stream: checks hello and attaches, then pushes.
 *
 * Pushes go round-robin over the partitions that have something, each within its own credit; what is appended in one tick
 * travels in one push. When the stream is full it stops until there is room again. A partition that is far behind is moved to
 * the catch-up stream of that follower, and back when it is close. Fences: hello by broker epoch; every attach by topic id and leader epoch; every
 * acknowledgement by attach id and leader epoch. Made by `LeaderStreams`.
 */
import { partitionKey, TributaryError, type Clock, type Timer } from '@tributary/common';
import {
  toWireError,
  type Acknowledge,
  type Attach,
  type ClientHello,
  type Detach,
  type FollowDownInput,
  type FollowUp,
  type MessageStream,
} from '@tributary/protocol';
import { isOvertaken } from '../partition/attachment';
import type { Partition } from '../partition/partition';
import type { DataLimits } from './data-limits';
import type { CatchUpThrottle } from './catch-up-throttle';
import { LeaderAttach, type AttachOwner } from './leader-attach';
import { marksDue } from './marks-due';
import { PushQueue } from './push-queue';
import { streamFor, type StreamKind } from './stream-kind';
import { divergence, type TruncateTo } from './truncation';

export interface LeaderStreamHost {
  readonly clock: Clock;
  readonly limits: DataLimits;
  /** Of all catch-up streams of this broker. */
  readonly throttle: CatchUpThrottle;
  /** Throws what refuses the follower; answers its hello otherwise. */
  greet(hello: ClientHello): NonNullable<FollowDownInput['hello']>;
  /** The partition, if this broker may let that follower attach; throws otherwise. */
  partitionFor(attach: Attach, follower: Follower): Partition;
  /** The follower goes by a leader epoch above the leader's own. */
  shown(partition: Partition, leaderEpoch: number, by: Shown): void;
}

/** In one life of its broker. */
export interface Follower {
  readonly brokerId: number;
  readonly brokerEpoch: number;
}

export interface Shown {
  readonly follower: Follower;
  readonly reason: string;
}

export class LeaderStream implements AttachOwner {
  private follower: Follower | undefined;
  private readonly attaches = new Map<string, LeaderAttach>();
  private readonly toMark = new Set<LeaderAttach>();
  private over = false;
  private markTimer: Timer | undefined;
  private newsTimer: Timer | undefined;
  private readonly helloTimer: Timer;
  private readonly queue: PushQueue;

  constructor(
    private readonly stream: MessageStream<FollowDownInput, FollowUp>,
    readonly kind: StreamKind,
    private readonly host: LeaderStreamHost,
    private readonly onClosed: () => void,
  ) {
    const { clock, limits } = host;
    const throttle = kind === 'catch-up' ? host.throttle : undefined;
    this.queue = new PushQueue((attach) => this.pushOne(attach), limits.maxColdPushes, throttle);
    this.helloTimer = clock.setTimer(limits.replicationHelloTimeoutMs, () =>
      this.cut(new TributaryError('TIMEOUT', 'the follower sent no hello')),
    );
    stream.handle({
      onMessage: (message) => this.received(message),
      onDrain: () => this.queue.drained(),
      onEnd: () => this.stream.end(),
      onClose: () => this.closed(),
    });
  }

  get brokerId(): number {
    return this.follower?.brokerId ?? -1;
  }

  get brokerEpoch(): number {
    return this.follower?.brokerEpoch ?? -1;
  }

  get maxPushBytes(): number {
    const { maxPushBytes, catchUpPushBytes } = this.host.limits;
    return this.kind === 'catch-up' ? catchUpPushBytes : maxPushBytes;
  }

  now(): number {
    return this.host.clock.now();
  }

  cut(error: TributaryError): void {
    this.stream.cut(error);
    this.closed();
  }

  // ---- received ----

  private received(message: FollowUp): void {
    try {
      if (this.over) return;
      if (message.hello) return this.greeted(message.hello);
      if (!this.follower) throw new TributaryError('INVALID_ARGUMENT', 'no hello came first');
      if (message.attach) return this.attach(message.attach);
      if (message.acknowledge) return this.acknowledge(message.acknowledge);
      for (const one of message.acknowledges?.acknowledges ?? []) this.acknowledge(one);
      if (message.detach) this.detach(message.detach);
    } catch (error) {
      this.cut(TributaryError.from(error));
    }
  }

  private greeted(hello: ClientHello): void {
    if (this.follower) throw new TributaryError('INVALID_ARGUMENT', 'a second hello came');
    const answer = this.host.greet(hello);
    this.follower = { brokerId: hello.senderBrokerId, brokerEpoch: hello.brokerEpoch };
    this.helloTimer.cancel();
    this.send({ hello: answer });
    this.armMarkTimer();
  }

  private attach(message: Attach): void {
    const { topicId, partition, leaderEpoch, attachId } = message;
    const base = { topicId, partition, leaderEpoch, attachId };
    let attached: Partition;
    let truncate: TruncateTo | undefined;
    try {
      attached = this.host.partitionFor(message, {
        brokerId: this.brokerId,
        brokerEpoch: this.brokerEpoch,
      });
      const { brokerId, brokerEpoch } = this;
      const newest = attached.attachments.get(brokerId);
      if (isOvertaken({ brokerId, brokerEpoch, attachId }, newest)) {
        throw new TributaryError('STALE_ATTACH', `${attached.name}: a newer attach came`);
      }
      truncate = attached.guard(() => divergence(attached.log, message));
    } catch (error) {
      this.send({ attached: { ...base, error: toWireError(error) } });
      return;
    }
    if (truncate) {
      // Not an attach: its end says nothing about what the follower has of this log (KAFKA-13141).
      this.send({ attached: { ...base, truncate } });
      return;
    }
    this.accept(attached, message);
  }

  private accept(partition: Partition, message: Attach): void {
    const kind = this.kindFor(partition, partition.log.bytesFrom(message.logEndOffset));
    if (kind !== this.kind) {
      const { topicId, leaderEpoch, attachId } = message;
      const where = { topicId, partition: message.partition, leaderEpoch, attachId };
      this.send({ move: { ...where, toCatchUp: kind === 'catch-up' } });
      return;
    }
    const key = partitionKey(message.topicId, message.partition);
    this.attaches.get(key)?.drop();
    const attach = new LeaderAttach(partition, message, this);
    this.attaches.set(key, attach);
    const { topicId, leaderEpoch, attachId, logEndOffset } = message;
    this.send({
      attached: {
        topicId,
        partition: message.partition,
        leaderEpoch,
        attachId,
        accepted: {
          fromOffset: logEndOffset,
          highWatermark: partition.state.highWatermark,
          logStartOffset: partition.log.logStartOffset,
        },
      },
    });
    partition.attach(attach, this.brokerEpoch);
    // The first mark at once: its acknowledgement makes an idle follower a candidate for the ISR.
    if (attach.hasMore) this.ready(attach);
    else this.send({ marks: { marks: [attach.mark()] } });
  }

  private acknowledge(message: Acknowledge): void {
    const attach = this.current(message.topicId, message.partition, message.attachId);
    if (attach?.leaderEpoch === message.leaderEpoch) attach.acknowledged(message);
  }

  private detach({ topicId, partition, attachId, leaderEpoch }: Detach): void {
    const attach = this.current(topicId, partition, attachId);
    if (!attach) return;
    this.attaches.delete(partitionKey(topicId, partition));
    attach.drop();
    // A leader that the controller cannot reach any more hears of its end in this way alone.
    if (leaderEpoch <= attach.leaderEpoch) return;
    const reason = `follower ${this.brokerId} goes on in leader epoch ${leaderEpoch}`;
    const { brokerId, brokerEpoch } = this;
    this.host.shown(attach.partition, leaderEpoch, { follower: { brokerId, brokerEpoch }, reason });
  }

  /** The attach that a message means; undefined: it is stale and to be dropped. */
  private current(topicId: string, partition: number, attachId: number): LeaderAttach | undefined {
    const attach = this.attaches.get(partitionKey(topicId, partition));
    return attach?.live && attach.attachId === attachId ? attach : undefined;
  }

  // ---- sent ----

  private send(message: FollowDownInput): void {
    if (!this.stream.send(message)) this.queue.block();
  }

  ready(attach: LeaderAttach): void {
    this.queue.add(attach);
  }

  readDone(attach: LeaderAttach): void {
    this.queue.readDone(attach);
  }

  /** Answers the bytes that went. */
  private pushOne(attach: LeaderAttach): number {
    if (!attach.live) return 0;
    let push;
    try {
      push = attach.takeReadAhead() ?? (attach.hasMore ? attach.nextPush() : undefined);
    } catch (error) {
      attach.end(TributaryError.from(error, 'STORAGE_ERROR'));
      return 0;
    }
    if (!push) return 0;
    this.send({ push });
    return push.batches?.length ?? 0;
  }

  progressed(attach: LeaderAttach): void {
    // On the ordinary stream the next tick is soon enough.
    if (this.kind === 'catch-up') this.moveIfDue(attach);
  }

  /** To the other stream, if it belongs there by now: the attach is over, and nothing more is pushed on it. */
  private moveIfDue(attach: LeaderAttach): void {
    const { partition, leaderEpoch, attachId } = attach;
    const kind = this.kindFor(partition, attach.bytesBehind);
    if (!attach.live || kind === this.kind) return;
    const { topicId } = partition;
    this.attaches.delete(partitionKey(topicId, partition.partition));
    attach.drop();
    const toCatchUp = kind === 'catch-up';
    this.send({
      move: { topicId, partition: partition.partition, leaderEpoch, attachId, toCatchUp },
    });
  }

  /** They have to be pushed, too. */
  private noteWrites(): void {
    const bytes = [...this.attaches.values()].reduce((sum, one) => sum + one.takeWritten(), 0);
    this.host.throttle.noteWrites(this, (bytes * 1000) / this.host.limits.markIntervalMs);
  }

  private kindFor({ state }: Partition, bytesBehind: number): StreamKind {
    const { brokerId, kind, host } = this;
    return streamFor(state, { brokerId, bytesBehind }, kind, host.limits);
  }

  news(attach: LeaderAttach): void {
    this.toMark.add(attach);
    if (this.newsTimer) return;
    this.newsTimer = this.host.clock.setTimer(this.host.limits.highWatermarkDelayMs, () => {
      this.newsTimer = undefined;
      const attaches = [...this.toMark].filter((one) => one.hasNews);
      this.toMark.clear();
      this.sendMarks(attaches);
    });
  }

  private armMarkTimer(): void {
    const { clock, limits } = this.host;
    this.markTimer = clock.setTimer(limits.markIntervalMs, () => {
      const attaches = [...this.attaches.values()];
      this.sendMarks(marksDue(attaches, clock.now(), limits));
      for (const attach of attaches) if (!attach.isQuiet) this.moveIfDue(attach);
      if (this.kind === 'catch-up') this.noteWrites();
      this.armMarkTimer();
    });
  }

  private sendMarks(attaches: readonly LeaderAttach[]): void {
    // A stream that is full needs no keepalive; the pushes that wait carry newer marks.
    if (this.queue.isBlocked) return;
    const live = attaches.filter((attach) => attach.live);
    const { maxMarksPerMessage } = this.host.limits;
    for (let at = 0; at < live.length; at += maxMarksPerMessage) {
      const marks = live.slice(at, at + maxMarksPerMessage).map((attach) => attach.mark());
      this.send({ marks: { marks, together: true } });
    }
  }

  /** The partition ended the attach: the follower is told. */
  ended(attach: LeaderAttach, error: TributaryError): void {
    const { topicId, partition } = attach.partition;
    const key = partitionKey(topicId, partition);
    if (this.attaches.get(key) === attach) this.attaches.delete(key);
    attach.partition.detach(attach);
    const { attachId } = attach;
    this.send({ detached: { topicId, partition, attachId, error: toWireError(error) } });
  }

  private closed(): void {
    if (this.over) return;
    this.over = true;
    this.queue.close();
    this.host.throttle.noteWrites(this, 0);
    this.helloTimer.cancel();
    this.markTimer?.cancel();
    this.newsTimer?.cancel();
    const attaches = [...this.attaches.values()];
    this.attaches.clear();
    for (const attach of attaches) attach.drop();
    this.onClosed();
  }
}
