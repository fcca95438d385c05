/**
 * One of this broker's two streams to one leader broker, for replication or for catching up, and the partitions followed on it. Dials while it has
 * partitions, says hello, attaches them all; when the stream breaks it dials again, the first time within
 * `firstRetryMs`. A new address or a new life of the leader ends the old stream at once; when the last partition goes
 * elsewhere it ends once the leader had time to hear that.
 * Called by `FollowerLinks`.
 */
import {
  backoffMs,
  partitionKey,
  TributaryError,
  type Clock,
  type Logger,
  type Random,
  type Timer,
} from '@tributary/common';
import {
  type Address,
  type ClientHelloInput,
  type Connection,
  type FollowDown,
  type FollowUpInput,
  type Marks,
  type MessageStream,
  type Transport,
} from '@tributary/protocol';
import type { Partition } from '../partition/partition';
import type { CatchUpThrottle } from './catch-up-throttle';
import type { DataLimits } from './data-limits';
import type { LeaderEnd } from './refill';
import { FollowedPartition, type FollowedPartitionHost } from './followed-partition';
import { streamMethods, type StreamKind } from './stream-kind';

/** For the last words on a stream, until its connection is closed. */
const LEAVE_MS = 1_000;

export interface LeaderTarget {
  readonly address: Address;
  readonly brokerEpoch: number;
}

export interface FollowerLinkHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: DataLimits;
  readonly transport: Transport;
  /** Where that broker listens now; undefined: not in the image. */
  target(leaderId: number): LeaderTarget | undefined;
  /** undefined: this broker is not registered now, and may not follow. */
  hello(leaderId: number): ClientHelloInput | undefined;
  nextAttachId(): number;
  /** Of what comes on all catch-up streams. */
  readonly throttle: CatchUpThrottle;
  /** The leader wants this partition of the link on the other stream. */
  move(partition: Partition, to: StreamKind): void;
  /** What came with a push or a mark of the leader was taken in. */
  heard?(partition: Partition, leader: LeaderEnd): void;
}

type Stream = MessageStream<FollowUpInput, FollowDown>;

export class FollowerLink implements FollowedPartitionHost {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly limits: DataLimits;
  private readonly followed = new Map<string, FollowedPartition>();
  private connection: Connection | undefined;
  private stream: Stream | undefined;
  /** While marks that may be answered together are taken in. */
  private gathered: NonNullable<FollowUpInput['acknowledge']>[] | undefined;
  private dialled: LeaderTarget | undefined;
  private greeted = false;
  private failures = 0;
  private retryTimer: Timer | undefined;
  private helloTimer: Timer | undefined;

  constructor(
    readonly leaderId: number,
    readonly kind: StreamKind,
    private readonly host: FollowerLinkHost,
  ) {
    this.clock = host.clock;
    this.random = host.random;
    this.logger = host.logger;
    this.limits = host.limits;
  }

  get up(): boolean {
    return this.greeted;
  }

  get size(): number {
    return this.followed.size;
  }

  nextAttachId(): number {
    return this.host.nextAttachId();
  }

  get throttle(): CatchUpThrottle | undefined {
    return this.kind === 'catch-up' ? this.host.throttle : undefined;
  }

  get creditBytes(): number {
    const { attachCreditBytes, catchUpCreditBytes } = this.limits;
    return this.kind === 'catch-up' ? catchUpCreditBytes : attachCreditBytes;
  }

  heard(partition: Partition, leader: LeaderEnd): void {
    this.host.heard?.(partition, leader);
  }

  move({ partition }: FollowedPartition, toCatchUp: boolean): void {
    this.host.move(partition, toCatchUp ? 'catch-up' : 'replication');
  }

  send(message: FollowUpInput): void {
    if (!this.greeted) return;
    if (this.gathered && message.acknowledge) {
      this.gathered.push(message.acknowledge);
      return;
    }
    this.sendGathered();
    this.stream?.send(message);
  }

  private sendGathered(): void {
    const { gathered } = this;
    if (!gathered || gathered.length === 0) return;
    this.gathered = [];
    const [first] = gathered;
    this.stream?.send(
      gathered.length === 1 ? { acknowledge: first } : { acknowledges: { acknowledges: gathered } },
    );
  }

  follow(partition: Partition, leaderEpoch: number): void {
    const key = partitionKey(partition.topicId, partition.partition);
    const before = this.followed.get(key);
    if (before?.partition === partition && before.leaderEpoch === leaderEpoch) return;
    before?.stop();
    const followed = new FollowedPartition(partition, leaderEpoch, this);
    this.followed.set(key, followed);
    if (this.greeted) followed.attach();
    else this.dial();
  }

  unfollow(key: string, nextEpoch?: number): void {
    const followed = this.followed.get(key);
    if (!followed) return;
    this.followed.delete(key);
    followed.stop(nextEpoch);
    if (this.followed.size === 0) this.takeLeave();
  }

  /** The image or this broker's registration changed. */
  refresh(): void {
    if (this.followed.size === 0) return;
    const target = this.host.target(this.leaderId);
    const { dialled } = this;
    // One whose registration ended may still lead: it hears of its end when its followers leave.
    if (dialled && target && !sameTarget(target, dialled)) this.hangUp();
    if (target && !this.stream) {
      this.failures = 0;
      this.dial();
    }
  }

  /** Our own broker epoch changed: the leader must hear the new one. */
  redial(): void {
    this.hangUp();
    this.refresh();
  }

  close(): void {
    for (const followed of this.followed.values()) followed.stop();
    this.followed.clear();
    this.hangUp();
  }

  private dial(): void {
    if (this.stream) return;
    this.retryTimer?.cancel();
    this.retryTimer = undefined;
    const target = this.host.target(this.leaderId);
    const hello = this.host.hello(this.leaderId);
    // Either comes with the next image or registration, which calls `refresh`.
    if (!target || !hello || this.followed.size === 0) return;
    this.dialled = target;
    this.connection ??= this.host.transport.connect(target.address, this.kind);
    const stream: Stream = this.connection.open(streamMethods[this.kind]);
    this.stream = stream;
    stream.handle({
      onMessage: (message) => {
        if (this.stream === stream) this.received(message);
      },
      onEnd: () => stream.end(),
      onClose: (error) => {
        if (this.stream === stream) this.closed(error);
      },
    });
    stream.send({ hello });
    this.helloTimer = this.clock.setTimer(this.limits.replicationHelloTimeoutMs, () => {
      const error = new TributaryError('TIMEOUT', 'the leader sent no hello');
      stream.cut(error);
      if (this.stream === stream) this.closed(error);
    });
  }

  private received(message: FollowDown): void {
    if (message.hello) return this.onHello();
    if (message.push) return this.find(message.push)?.onPush(message.push);
    if (message.marks) return this.onMarks(message.marks);
    if (message.attached) return this.find(message.attached)?.onAttachResult(message.attached);
    if (message.move) return this.find(message.move)?.onMove(message.move);
    if (message.detached) this.find(message.detached)?.onDetached(message.detached);
  }

  /** Very many idle partitions cost one answer, where the leader takes it. */
  private onMarks({ marks, together }: Marks): void {
    if (together) this.gathered = [];
    try {
      for (const mark of marks) this.find(mark)?.onMark(mark);
    } finally {
      if (this.greeted) this.sendGathered();
      this.gathered = undefined;
    }
  }

  private find(where: {
    readonly topicId: string;
    readonly partition: number;
  }): FollowedPartition | undefined {
    return this.followed.get(partitionKey(where.topicId, where.partition));
  }

  private onHello(): void {
    this.helloTimer?.cancel();
    if (this.greeted) return;
    this.greeted = true;
    this.failures = 0;
    for (const followed of this.followed.values()) followed.attach();
  }

  private closed(error: TributaryError | undefined): void {
    const wasUp = this.greeted;
    this.forgetStream();
    // A fresh connection dials at once, whatever back-off the old one is in.
    this.connection?.close();
    this.connection = undefined;
    const { leaderId, kind, limits, random } = this;
    const reason = error?.message ?? 'the leader ended it';
    if (wasUp) this.logger.info('replication stream broke', { leaderId, kind, reason });
    else this.logger.debug('leader cannot be reached', { leaderId, kind, reason });
    const options = { baseMs: limits.firstRetryMs, maxMs: limits.maxRetryMs };
    const delayMs = backoffMs(this.failures, random, options);
    this.failures += 1;
    this.retryTimer?.cancel();
    this.retryTimer = this.clock.setTimer(delayMs, () => this.dial());
  }

  private forgetStream(): void {
    this.stream = undefined;
    this.greeted = false;
    this.helloTimer?.cancel();
    for (const followed of this.followed.values()) followed.streamClosed();
  }

  /** Nothing is followed here any more: what was said last still arrives. */
  private takeLeave(): void {
    const { stream, connection, clock } = this;
    if (stream && this.greeted) {
      this.forgetStream();
      this.connection = undefined;
      stream.end();
      clock.setTimer(LEAVE_MS, () => connection?.close(), { unref: true });
    }
    this.hangUp();
  }

  private hangUp(): void {
    this.retryTimer?.cancel();
    this.retryTimer = undefined;
    this.stream?.cut();
    this.forgetStream();
    this.connection?.close();
    this.connection = undefined;
    this.dialled = undefined;
  }
}

function sameTarget(one: LeaderTarget, other: LeaderTarget): boolean {
  return (
    one.brokerEpoch === other.brokerEpoch &&
    one.address.host === other.address.host &&
    one.address.port === other.address.port
  );
}
