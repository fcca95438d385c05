/**
 * One membership that this broker holds for a client. Invariants: it ends by the client's leave, by the lease
 * (nothing heard for `leaseMs`, whether or not the stream stands), or by the store; a call runs once at a time,
 * also when it is sent again over a new stream; whoever ends it sees to it that the store forgets the member.
 * Called by the member handler.
 */
import { TributaryError, type Clock, type Logger, type Timer } from '@tributary/common';
import type { GroupMembership, Watch } from '@tributary/coordination';
import {
  toWireError,
  type MemberCall,
  type MemberDownInput,
  type MemberResultInput,
  type MemberUp,
  type MessageStream,
} from '@tributary/protocol';
import type { GroupLimits } from './group-limits';
import { runMemberCall } from './member-call';

export type MemberDownStream = MessageStream<MemberDownInput, MemberUp>;

export interface MemberSessionOptions {
  readonly group: string;
  readonly membership: GroupMembership;
  readonly leaseMs: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: GroupLimits;
  /** Once: forget it. */
  readonly onOver: () => void;
}

export class MemberSession {
  private stream: MemberDownStream | undefined;
  private heardAt: number;
  private leaseTimer: Timer | undefined;
  private readonly running = new Set<number>();
  private changedWaits = false;
  private blocked = false;
  private over = false;
  private readonly watches: Watch[];

  constructor(private readonly options: MemberSessionOptions) {
    const { membership, clock, leaseMs } = options;
    this.heardAt = clock.now();
    this.watches = [
      membership.onChange(() => this.hint()),
      membership.onLost(() => this.finish('the store no longer knows this member')),
    ];
    this.watchLease(leaseMs);
  }

  get memberId(): string {
    return this.options.membership.memberId;
  }

  /** From now on the client is there; an older stream of it is cut. */
  attach(stream: MemberDownStream): void {
    const older = this.stream;
    this.stream = stream;
    this.blocked = false;
    older?.cut(new TributaryError('UNAVAILABLE', 'the member took up its membership elsewhere'));
    this.heardAt = this.options.clock.now();
    const { leaseMs } = this.options;
    this.send({ body: 'joined', joined: { memberId: this.memberId, leaseMs } });
  }

  /** The stream broke: the lease goes on. */
  detach(stream: MemberDownStream): void {
    if (this.stream === stream) this.stream = undefined;
  }

  onMessage(message: MemberUp): void {
    this.heardAt = this.options.clock.now();
    if (message.heartbeat)
      this.send({ body: 'heartbeat', heartbeat: { id: message.heartbeat.id } });
    else if (message.call) this.onCall(message.call);
    else if (message.leave) this.leave();
    else throw new TributaryError('INVALID_ARGUMENT', 'a member sends calls, heartbeats and leave');
  }

  onDrain(): void {
    this.blocked = false;
    if (this.changedWaits) this.hint();
  }

  private onCall(call: MemberCall): void {
    const { callId } = call;
    const { limits, membership } = this.options;
    if (this.running.has(callId)) return; // sent again; the first one's answer goes to this stream
    if (this.running.size >= limits.maxCallsPerMember) {
      const error = new TributaryError(
        'OVERLOADED',
        `this member has ${this.running.size} calls without an answer`,
      );
      return this.answer({ callId, result: 'error', error: toWireError(error) });
    }
    this.running.add(callId);
    runMemberCall(membership, call)
      .catch(refusal)
      .then((result) => {
        this.running.delete(callId);
        this.answer({ ...result, callId });
      })
      .catch((thrown: unknown) => this.stream?.cut(TributaryError.from(thrown)));
  }

  private answer(result: MemberResultInput): void {
    this.send({ body: 'result', result });
  }

  private hint(): void {
    this.changedWaits = this.blocked;
    if (!this.blocked) this.send({ body: 'changed', changed: {} });
  }

  private send(message: MemberDownInput): void {
    if (this.stream && !this.stream.send(message)) this.blocked = true;
  }

  private leave(): void {
    const { stream } = this;
    this.stream = undefined;
    this.finish('it left');
    stream?.end();
  }

  /** A member that is gone keeps no process alive whose broker has stopped. */
  private watchLease(delayMs: number): void {
    const { clock, leaseMs } = this.options;
    const check = (): void => {
      const left = this.heardAt + leaseMs - clock.now();
      if (left > 0) this.watchLease(left);
      else this.finish(`nothing was heard of it for ${leaseMs} ms`);
    };
    this.leaseTimer = clock.setTimer(delayMs, check, { unref: true });
  }

  private finish(reason: string): void {
    if (this.over) return;
    this.over = true;
    this.leaseTimer?.cancel();
    for (const watch of this.watches) watch.stop();
    const { logger, group, membership, clock, limits, onOver } = this.options;
    logger.info('group member gone', { group, memberId: this.memberId, reason });
    this.stream?.cut(new TributaryError('UNKNOWN_MEMBER', `membership is over: ${reason}`));
    this.stream = undefined;
    leaveForSure(membership, clock, limits.leaveRetryMs);
    onOver();
  }
}

function refusal(thrown: unknown): MemberResultInput {
  const owner = thrown instanceof TributaryError ? thrown.details.owner : undefined;
  const named = typeof owner === 'string' ? { owner } : {};
  return { result: 'error', error: toWireError(thrown), ...named };
}

/**
 * The store must forget the member, or its partitions stay with nobody: tried until it succeeds, or until the
 * store lost the member by itself.
 */
export function leaveForSure(membership: GroupMembership, clock: Clock, retryMs: number): void {
  let lost = false;
  const watch = membership.onLost(() => (lost = true));
  const attempt = (): void => {
    membership.leave().then(
      () => watch.stop(),
      () => {
        if (!lost) clock.setTimer(retryMs, attempt, { unref: true });
      },
    );
  };
  attempt();
}
