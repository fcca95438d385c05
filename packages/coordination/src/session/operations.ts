/**
 * The retry loop around single attempts. A request that was not sent, or a read, is simply sent again once there is a
 * connection; a write that may have been applied is given to its own verification. Bounded by a deadline.
 *
 * Invariant: a write never goes over from one session to the next: what its caller knew belongs to the old one.
 * Called by CoordinatorClient for each operation.
 */
import {
  backoffMs,
  hasCode,
  sleep,
  TributaryError,
  type Clock,
  type Random,
} from '@tributary/common';
import { sessionExpired } from '../coordinator-errors';
import { InFlightGate } from './in-flight-gate';
import type { Session } from './session';
import type { SessionManager } from './session-manager';

/** @param afterLoss an earlier attempt of this call may have been applied. */
export type Attempt<T> = (session: Session, afterLoss: boolean) => Promise<T>;

type Kind = 'read' | 'write' | 'write once';

/** An operation gives up after twice the session timeout, but not before this. */
const MIN_OPERATION_TIMEOUT_MS = 5_000;
const RETRY_BACKOFF = { baseMs: 10, maxMs: 200, minMs: 5 };

export class Operations {
  private readonly gate = new InFlightGate();

  constructor(
    private readonly sessions: SessionManager,
    private readonly target: string,
    private readonly clock: Clock,
    private readonly random: Random,
  ) {}

  /** Over reconnects and sessions. */
  read<T>(attempt: Attempt<T>): Promise<T> {
    return this.run(attempt, 'read');
  }

  /** Over reconnects of one session. The attempt must cope with `afterLoss`. */
  write<T>(attempt: Attempt<T>): Promise<T> {
    return this.run(attempt, 'write');
  }

  /** Waits for a connection, but is sent at most once: a lost reply is the caller's to resolve. */
  writeOnce<T>(attempt: Attempt<T>): Promise<T> {
    return this.run(attempt, 'write once');
  }

  private async run<T>(attempt: Attempt<T>, kind: Kind): Promise<T> {
    const isWrite = kind !== 'read';
    const deadline = this.clock.now() + this.timeoutMs();
    let first = this.sessions.status === 'connecting' ? undefined : this.sessions.current;
    let lost = false;
    for (let tries = 0; ; tries += 1) {
      const session = await this.sessions.connected(Math.max(0, deadline - this.clock.now()));
      if (!session) throw this.unavailable(isWrite, lost);
      first ??= session;
      if (isWrite && session !== first) throw sessionExpired(lost);
      try {
        return await this.gate.pass(() => attempt(session, lost));
      } catch (error) {
        if (!mayRetry(error, kind)) throw error;
        lost ||= error.outcome === 'maybe written';
        const pauseMs = backoffMs(tries, this.random, RETRY_BACKOFF);
        if (this.clock.now() + pauseMs > deadline) throw this.unavailable(isWrite, lost);
        await sleep(this.clock, pauseMs);
      }
    }
  }

  private timeoutMs(): number {
    return Math.max(MIN_OPERATION_TIMEOUT_MS, 2 * (this.sessions.current?.timeoutMs ?? 0));
  }

  private unavailable(isWrite: boolean, lost: boolean): TributaryError {
    return new TributaryError(
      'COORDINATOR_UNAVAILABLE',
      `no answer from the coordinator at ${this.target}`,
      isWrite ? { outcome: lost ? 'maybe written' : 'not written' } : {},
    );
  }
}

function mayRetry(error: unknown, kind: Kind): error is TributaryError {
  if (hasCode(error, 'SESSION_EXPIRED')) return kind === 'read';
  if (!hasCode(error, 'COORDINATOR_UNAVAILABLE')) return false;
  return kind !== 'write once' || error.outcome !== 'maybe written';
}
