/**
 * Keeps one session at all times: opens the next one after an expiry, without end, until `close`. It tells the
 * listeners what happens to it, and lets operations wait for a connection.
 *
 * Invariant: `opened` comes before anything else of a session, after its preparation (the chroot exists); then
 * suspended and resumed in turn; then expired. Used by CoordinatorClient alone.
 */
import type { Clock, Logger, Timer } from '@tributary/common';
import type { CoordinatorStatus, SessionEvent, SessionListener, Watch } from '../coordinator';
import { coordinatorClosed } from '../coordinator-errors';
import type { Session, SessionFactory, SessionState } from './session';

const REOPEN_DELAY_MS = 20;
const PREPARE_RETRY_MS = 100;

type Phase = 'preparing' | 'open' | 'away';

interface Waiter {
  readonly resolve: (session: Session | undefined) => void;
  readonly reject: (error: Error) => void;
  readonly timer: Timer;
}

export class SessionManager {
  private session: Session | undefined;
  private phase: Phase = 'preparing';
  private everOpened = false;
  private closed = false;
  private abandoned = false;
  private timer: Timer | undefined;
  private lastAcknowledgedAt: number;
  private readonly listeners = new Set<SessionListener>();
  private readonly waiters = new Set<Waiter>();

  constructor(
    private readonly factory: SessionFactory,
    private readonly prepare: (session: Session) => Promise<void>,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.lastAcknowledgedAt = clock.now();
    this.open();
  }

  get current(): Session | undefined {
    return this.session;
  }

  get status(): CoordinatorStatus {
    if (this.closed) return 'closed';
    if (this.phase === 'open') return 'connected';
    return this.phase === 'away' ? 'suspended' : 'connecting';
  }

  get acknowledgedAt(): number {
    this.lastAcknowledgedAt = Math.max(
      this.lastAcknowledgedAt,
      this.session?.acknowledgedAt ?? -Infinity,
    );
    return this.lastAcknowledgedAt;
  }

  onSession(listener: SessionListener): Watch {
    this.listeners.add(listener);
    return { stop: () => void this.listeners.delete(listener) };
  }

  /** The session once it is connected; undefined when it is not within `timeoutMs`. Rejects when closed. */
  connected(timeoutMs: number): Promise<Session | undefined> {
    if (this.abandoned) return new Promise(() => undefined);
    if (this.closed) return Promise.reject(coordinatorClosed());
    if (this.phase === 'open') return Promise.resolve(this.session);
    return new Promise((resolve, reject) => {
      const done = (settle: () => void): void => {
        waiter.timer.cancel();
        this.waiters.delete(waiter);
        settle();
      };
      const waiter: Waiter = {
        resolve: (session) => done(() => resolve(session)),
        reject: (error) => done(() => reject(error)),
        timer: this.clock.setTimer(timeoutMs, () => waiter.resolve(undefined)),
      };
      this.waiters.add(waiter);
    });
  }

  /** A simulated crash: nobody hears anything more, nothing that waits ever settles. */
  abandon(): void {
    this.closed = true;
    this.abandoned = true;
    this.timer?.cancel();
    this.listeners.clear();
    for (const waiter of this.waiters) waiter.timer.cancel();
    this.waiters.clear();
  }

  async close(timeoutMs: number): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    this.timer?.cancel();
    for (const waiter of [...this.waiters]) waiter.reject(coordinatorClosed());
    await this.session?.close(timeoutMs);
    this.listeners.clear();
  }

  private open(): void {
    this.phase = 'preparing';
    this.everOpened = false;
    const session = this.factory.open((state) => {
      if (!this.closed && session === this.session) this.onState(session, state);
    });
    this.session = session;
  }

  private onState(session: Session, state: SessionState): void {
    if (state === 'connected') {
      if (this.everOpened) this.enter('resumed', session);
      else void this.prepareAndOpen(session);
    } else if (state === 'suspended') {
      void this.acknowledgedAt; // keep what this session knew
      if (this.phase !== 'open') return;
      this.phase = 'away';
      this.emit({ type: 'suspended' });
    } else if (state === 'expired') {
      this.onExpired();
    }
  }

  private async prepareAndOpen(session: Session): Promise<void> {
    const stillWanted = (): boolean =>
      !this.closed && session === this.session && session.state === 'connected';
    try {
      await this.prepare(session);
    } catch (error) {
      // Suspended meanwhile: the next `connected` comes here again.
      if (!stillWanted()) return;
      this.logger.warn('coordinator session could not be prepared, trying again', { error });
      this.timer = this.clock.setTimer(PREPARE_RETRY_MS, () => {
        if (stillWanted()) void this.prepareAndOpen(session);
      });
      return;
    }
    if (!stillWanted() || this.everOpened) return;
    this.everOpened = true;
    this.enter('opened', session);
  }

  private enter(type: 'opened' | 'resumed', session: Session): void {
    if (this.phase === 'open') return;
    this.phase = 'open';
    const sessionId = session.ticket?.sessionId ?? '';
    this.logger.info(`coordinator session ${type}`, { sessionId, target: this.factory.target });
    this.emit(type === 'opened' ? { type, sessionId } : { type });
    for (const waiter of [...this.waiters]) waiter.resolve(session);
  }

  private onExpired(): void {
    void this.acknowledgedAt;
    const wasOpened = this.everOpened;
    this.phase = 'preparing';
    this.logger.warn('coordinator session expired, opening another', {
      sessionId: this.session?.ticket?.sessionId,
    });
    if (wasOpened) this.emit({ type: 'expired' });
    this.timer = this.clock.setTimer(REOPEN_DELAY_MS, () => {
      if (!this.closed) this.open();
    });
  }

  private emit(event: SessionEvent): void {
    for (const listener of [...this.listeners]) {
      try {
        listener(event);
      } catch (error) {
        this.logger.error('a session listener threw', { error, event: event.type });
      }
    }
  }
}
