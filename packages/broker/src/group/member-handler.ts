/**
 * The Member method: Hello, Join (or taking up a membership again), then the session. Keeps the sessions of
 * this broker, at most `maxMembers`. Called by the group handlers.
 */
import { TributaryError } from '@tributary/common';
import {
  answerHello,
  bidiHandler,
  methods,
  type CallContext,
  type Handler,
  type Join,
  type MemberUp,
} from '@tributary/protocol';
import type { GroupHost } from './group-host';
import { checkedGroup, memberOf } from './group-messages';
import { leaveForSure, MemberSession, type MemberDownStream } from './member-session';

export class MemberSessions {
  private readonly sessions = new Map<string, MemberSession>();
  private joining = 0;

  constructor(private readonly host: GroupHost) {}

  handler(): Handler {
    return bidiHandler(methods.group.member, (stream, context) =>
      new MemberConnection(this, this.host, stream, context).open(),
    );
  }

  resume(join: Join): MemberSession {
    const session = this.sessions.get(keyOf(join.group, join.resumeMemberId));
    if (session) return session;
    throw new TributaryError('UNKNOWN_MEMBER', `member ${join.resumeMemberId} is not known here`);
  }

  async join(join: Join, { peer, signal }: CallContext): Promise<MemberSession> {
    const { clock, logger, groupStore, limits } = this.host;
    const group = checkedGroup(join.group);
    const member = memberOf(join, peer);
    if (this.sessions.size + this.joining >= limits.maxMembers) {
      throw new TributaryError('OVERLOADED', `this broker holds ${limits.maxMembers} members already`); // prettier-ignore
    }
    const { leaseMsMin, leaseMsMax, leaseMsDefault } = limits;
    const asked = join.leaseMs || leaseMsDefault;
    const leaseMs = Math.min(leaseMsMax, Math.max(leaseMsMin, asked));
    this.joining += 1;
    try {
      const membership = await groupStore.join(group, member, { leaseMs, signal });
      if (signal.aborted) {
        // The client never heard its member id: nobody would take it up.
        leaveForSure(membership, clock, limits.leaveRetryMs);
        throw new TributaryError('CANCELLED', 'the client went away');
      }
      const key = keyOf(group, membership.memberId);
      const onOver = (): void => void this.sessions.delete(key);
      const session = new MemberSession({ group, membership, leaseMs, clock, logger, limits, onOver }); // prettier-ignore
      this.sessions.set(key, session);
      logger.info('group member joined', { group, memberId: membership.memberId, peer });
      return session;
    } finally {
      this.joining -= 1;
    }
  }
}

class MemberConnection {
  private stage: 'new' | 'greeted' | 'joining' | 'joined' = 'new';
  private session: MemberSession | undefined;
  private closed = false;

  constructor(
    private readonly sessions: MemberSessions,
    private readonly host: GroupHost,
    private readonly stream: MemberDownStream,
    private readonly context: CallContext,
  ) {}

  open(): void {
    const { clock, limits } = this.host;
    const timer = clock.setTimer(limits.joinTimeoutMs, () => {
      if (this.stage !== 'joined') {
        this.stream.cut(new TributaryError('TIMEOUT', 'hello and join did not come in time'));
      }
    });
    this.stream.handle({
      onMessage: (message) => this.onMessage(message),
      onDrain: () => this.session?.onDrain(),
      onEnd: () => this.stream.end(),
      onClose: () => {
        this.closed = true;
        timer.cancel();
        this.session?.detach(this.stream);
      },
    });
  }

  private onMessage(message: MemberUp): void {
    try {
      if (this.session) this.session.onMessage(message);
      else if (message.hello && this.stage === 'new') {
        const hello = answerHello(message.hello, this.host.acceptor());
        this.stage = 'greeted';
        this.stream.send({ body: 'hello', hello });
      } else if (message.join && this.stage === 'greeted') {
        this.stage = 'joining';
        this.onJoin(message.join);
      } else {
        throw new TributaryError('INVALID_ARGUMENT', 'hello comes first, then join, then calls');
      }
    } catch (thrown) {
      this.stream.cut(TributaryError.from(thrown));
    }
  }

  private onJoin(join: Join): void {
    const session =
      join.resumeMemberId === ''
        ? this.sessions.join(join, this.context)
        : Promise.resolve().then(() => this.sessions.resume(join));
    session.then(
      (joined) => {
        if (this.closed) return; // its lease runs
        this.stage = 'joined';
        this.session = joined;
        joined.attach(this.stream);
      },
      (thrown: unknown) => this.stream.cut(TributaryError.from(thrown)),
    );
  }
}

function keyOf(group: string, memberId: string): string {
  return `${group}/${memberId}`;
}
