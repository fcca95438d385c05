/**
 * A membership that a broker holds for us: one Member stream, heartbeats, calls with ids and deadlines.
 *
 * Invariants: when the stream breaks, the same broker is dialled again until the lease is over, and the calls
 * under way are sent again in order; the membership counts as lost on this side before it can be over on the
 * broker's, because the lease runs from when the last answered heartbeat was *sent*. Called by
 * RemoteGroupStore.
 */
import { backoffMs, Deadline, TributaryError, type Timer } from '@tributary/common';
import type {
  GroupMembership,
  GroupPartition,
  GroupView,
  MemberAssignment,
  OwnedOffsetCommit,
  PartitionOwnership,
  Watch,
} from '@tributary/coordination';
import type { JoinInput, Joined, MemberDown } from '@tributary/protocol';
import type { BrokerNode, ClientContext } from '../seams';
import { assignmentToWire, commitErrors, ownershipFromWire, partitionToWire, viewFromWire } from './group-wire'; // prettier-ignore
import { MemberCalls, type CallBody } from './member-calls';
import { MemberStream } from './member-stream';

/** Heartbeats in one lease. */
const BEATS_PER_LEASE = 4;
/** An open stream without an answer for this share of the lease is taken for dead and dialled again. */
const SILENCE_SHARE = 0.6;
const REDIAL_MAX_MS = 500;
const LEAVE_TIMEOUT_MS = 1_000;

export interface JoinedStream {
  readonly stream: MemberStream;
  readonly joined: Joined;
  /** When the join was sent. */
  readonly askedAt: number;
}

export class RemoteMembership implements GroupMembership {
  readonly memberId: string;
  private readonly leaseMs: number;
  private readonly calls: MemberCalls;
  private stream: MemberStream | undefined;
  /** When the last heartbeat (or join) that was answered had been sent. */
  private renewedAt: number;
  private beats = new Map<number, number>();
  private nextBeat = 1;
  private beatTimer: Timer | undefined;
  private redialTimer: Timer | undefined;
  private lost = false;
  private over = false;
  private changeListeners: (() => void)[] = [];
  private lostListeners: (() => void)[] = [];

  constructor(
    private readonly context: ClientContext,
    private readonly broker: BrokerNode,
    private readonly join: JoinInput,
    first: JoinedStream,
  ) {
    this.memberId = first.joined.memberId;
    this.leaseMs = first.joined.leaseMs;
    this.renewedAt = first.askedAt;
    this.calls = new MemberCalls(context.clock, context.requestTimeoutMs);
    this.attach(first);
    this.beat();
  }

  async read(): Promise<GroupView> {
    const { view } = await this.call({ call: 'read', read: {} });
    return viewFromWire(answered(view));
  }

  async assign(
    expectedGeneration: number,
    assignment: readonly MemberAssignment[],
  ): Promise<number> {
    const assign = { expectedGeneration, assignment: assignment.map(assignmentToWire) };
    const { assigned } = await this.call({ call: 'assign', assign });
    return answered(assigned).generation;
  }

  async claim(partition: GroupPartition, generation: number): Promise<PartitionOwnership> {
    const claim = { partition: partitionToWire(partition), generation };
    const { claimed } = await this.call({ call: 'claim', claim });
    return ownershipFromWire(partition, answered(claimed));
  }

  async release(partition: GroupPartition, ownerEpoch: number): Promise<void> {
    const release = { partition: partitionToWire(partition), ownerEpoch };
    await this.call({ call: 'release', release });
  }

  async commit(commits: readonly OwnedOffsetCommit[]): Promise<(Error | undefined)[]> {
    const offsets = commits.map(({ partition, ownerEpoch, offset, leaderEpoch, metadata }) => ({
      partition: partitionToWire(partition),
      ownerEpoch,
      offset,
      leaderEpoch,
      metadata,
    }));
    const { committed } = await this.call({ call: 'commit', commit: { offsets } });
    return commitErrors(commits.length, answered(committed).results);
  }

  onChange(listener: () => void): Watch {
    this.changeListeners.push(listener);
    return {
      stop: () => {
        this.changeListeners = this.changeListeners.filter((other) => other !== listener);
      },
    };
  }

  onLost(listener: () => void): Watch {
    let stopped = false;
    const once = (): void => {
      if (!stopped) listener();
    };
    if (this.lost) queueMicrotask(once);
    else this.lostListeners.push(once);
    return { stop: () => void (stopped = true) };
  }

  async leave(): Promise<void> {
    if (this.over) return;
    const { stream } = this;
    this.finish(new TributaryError('UNKNOWN_MEMBER', 'this member has left the group'));
    if (!stream) return; // the broker's lease runs out
    const closed = new Promise<void>((resolve) =>
      stream.listen({ onMessage: () => undefined, onClose: () => resolve() }),
    );
    stream.send({ body: 'leave', leave: {} });
    const deadline = Deadline.after(this.context.clock, LEAVE_TIMEOUT_MS);
    await deadline.race(closed, 'leaving the group').catch(() => undefined); // the lease does it
    stream.cut();
  }

  private call(body: CallBody): ReturnType<MemberCalls['add']> {
    if (this.lost) return Promise.reject(unknownMember());
    return this.calls.add(body);
  }

  private attach({ stream, joined, askedAt }: JoinedStream): void {
    this.stream = stream;
    this.renewedAt = Math.max(this.renewedAt, askedAt);
    this.beats.clear();
    stream.listen({
      onMessage: (message) => this.onMessage(message),
      onClose: (error) => this.onBroken(stream, error),
    });
    if (this.stream !== stream) return; // broken already
    this.context.logger.debug('member stream attached', { memberId: joined.memberId });
    this.calls.attach((call) => stream.send({ body: 'call', call }));
  }

  private onMessage(message: MemberDown): void {
    if (message.result) this.calls.onResult(message.result);
    else if (message.changed) this.tellChanged();
    else if (message.heartbeat) {
      const sentAt = this.beats.get(message.heartbeat.id);
      this.beats.delete(message.heartbeat.id);
      if (sentAt !== undefined) this.renewedAt = Math.max(this.renewedAt, sentAt);
    }
  }

  private onBroken(stream: MemberStream, error: TributaryError): void {
    if (this.over || this.stream !== stream) return;
    this.stream = undefined;
    this.calls.detach();
    this.redial(error, 0);
  }

  /** The broker's process may be gone (then nobody holds the lease), or just the connection. */
  private redial(error: TributaryError, attempt: number): void {
    const { clock, random } = this.context;
    if (error.code === 'UNKNOWN_MEMBER' || error.details.refused === true) return this.lose(error);
    // Also the first time: a broker that restarts loses all its members at once.
    const delayMs = backoffMs(attempt, random, { maxMs: REDIAL_MAX_MS });
    this.redialTimer = clock.setTimer(delayMs, () => void this.dial(attempt));
  }

  private async dial(attempt: number): Promise<void> {
    const { clock, connections, clientId, requestTimeoutMs } = this.context;
    const { brokerId } = this.broker;
    try {
      const connection = connections.to(this.broker);
      const timeoutMs = Math.min(requestTimeoutMs, Math.max(1, this.leaseMs / 2));
      const askedAt = clock.now();
      const join = { ...this.join, resumeMemberId: this.memberId };
      const deadline = Deadline.after(clock, timeoutMs);
      const opened = await MemberStream.open({ connection, clientId, brokerId }, join, deadline);
      if (this.over) return opened.stream.cut();
      this.attach({ ...opened, askedAt });
      this.tellChanged(); // whatever we did not hear
    } catch (thrown) {
      if (!this.over) this.redial(TributaryError.from(thrown), attempt + 1);
    }
  }

  /** One turn of the lease: is it still ours, does the broker answer, send the next heartbeat. */
  private beat(): void {
    const { clock } = this.context;
    const silentMs = clock.now() - this.renewedAt;
    if (silentMs >= this.leaseMs) return this.lose(unknownMember());
    const { stream } = this;
    if (stream && silentMs >= this.leaseMs * SILENCE_SHARE) {
      stream.cut();
      this.onBroken(stream, new TributaryError('TIMEOUT', 'the broker answers no heartbeat'));
    } else if (stream) {
      const id = this.nextBeat++;
      this.beats.set(id, clock.now());
      stream.send({ body: 'heartbeat', heartbeat: { id } });
    }
    const left = this.renewedAt + this.leaseMs - clock.now();
    const delayMs = Math.max(1, Math.min(this.leaseMs / BEATS_PER_LEASE, left));
    this.beatTimer = clock.setTimer(delayMs, () => this.beat());
  }

  private lose(error: TributaryError): void {
    if (this.over) return;
    const { stream } = this;
    const { memberId } = this;
    this.context.logger.debug('membership lost', { memberId, error: error.message });
    this.lost = true;
    this.finish(unknownMember());
    stream?.cut();
    for (const listener of this.lostListeners.splice(0)) listener();
  }

  private finish(error: TributaryError): void {
    this.over = true;
    this.stream = undefined;
    this.beatTimer?.cancel();
    this.redialTimer?.cancel();
    this.calls.close(error);
    this.changeListeners = [];
  }

  private tellChanged(): void {
    for (const listener of this.changeListeners) listener();
  }
}

function answered<T>(result: T | null | undefined): T {
  if (result) return result;
  throw new TributaryError('INTERNAL', 'the broker answered another question');
}

function unknownMember(): TributaryError {
  return new TributaryError('UNKNOWN_MEMBER', 'the lease of this member is over');
}
