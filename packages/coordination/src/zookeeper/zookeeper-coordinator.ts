/**
 * The Coordinator on a real ZooKeeper ensemble. Connecting never fails by itself: it goes on trying; `ready` has the
 * deadline.
 */
import { Deadline, TributaryError, type Clock, type Logger, type Random } from '@tributary/common';
import type { SessionTicket } from '../coordinator';
import { CoordinatorClient } from '../session/coordinator-client';
import type { Session, SessionFactory, StateListener } from '../session/session';
import { ClientSession } from './client-session';
import { parseConnectString } from './connect-string';

export interface ZooKeeperOptions {
  /** `host:port,host:port` and, if wanted, `/chroot`, which is created. */
  readonly connectString: string;
  /** Default 10 000; the server may grant another. */
  readonly sessionTimeoutMs?: number;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
}

export const defaultSessionTimeoutMs = 10_000;

export class ZooKeeperCoordinator extends CoordinatorClient {
  /** Throws INVALID_CONFIG when the connect string is wrong. */
  static connect(options: ZooKeeperOptions): ZooKeeperCoordinator {
    const { servers, chroot } = parseConnectString(options.connectString);
    const { clock, random, logger } = options;
    const factory = new ZooKeeperSessions(
      servers,
      options.sessionTimeoutMs ?? defaultSessionTimeoutMs,
      clock,
    );
    return new ZooKeeperCoordinator({ factory, chroot, clock, random, logger });
  }
}

class ZooKeeperSessions implements SessionFactory {
  constructor(
    readonly target: string,
    private readonly sessionTimeoutMs: number,
    private readonly clock: Clock,
  ) {}

  open(onState: StateListener): Session {
    return new ClientSession({ ...this.sessionOptions(), onState });
  }

  /**
   * Its client may still live and take the session back in between; then the close is refused in silence. So it is
   * asked for until the server says that it is over.
   */
  async end(ticket: SessionTicket, timeoutMs: number): Promise<boolean> {
    const deadline = Deadline.after(this.clock, timeoutMs);
    for (let closed = false; ; closed = true) {
      const found = await this.closeOnce(ticket, deadline.remainingMs);
      if (found === 'over') return closed;
      if (found === 'unreachable') throw this.unreachable(timeoutMs);
    }
  }

  private closeOnce(
    ticket: SessionTicket,
    timeoutMs: number,
  ): Promise<'over' | 'closed' | 'unreachable'> {
    return new Promise((resolve) => {
      const onState: StateListener = (state) => {
        if (state !== 'expired' && state !== 'connected') return;
        timer.cancel();
        if (state === 'expired') resolve('over');
        else void session.close(timeoutMs).then(() => resolve('closed'));
      };
      const session = new ClientSession({ ...this.sessionOptions(), onState, ticket });
      const timer = this.clock.setTimer(timeoutMs, () => {
        void session.close(0);
        resolve('unreachable');
      });
    });
  }

  private sessionOptions() {
    const { target, sessionTimeoutMs, clock } = this;
    return { servers: target, sessionTimeoutMs, clock };
  }

  private unreachable(timeoutMs: number): TributaryError {
    return new TributaryError(
      'COORDINATOR_UNAVAILABLE',
      `no ZooKeeper answered at ${this.target} within ${Math.round(timeoutMs)} ms`,
    );
  }
}
