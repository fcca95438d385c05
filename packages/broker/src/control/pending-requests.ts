/**
 * Requests to the controller that wait for their answer on one control stream: each is answered, or times
 * out, or learns that the stream broke; once. Bounded by `maxPendingControlRequests`.
 * Called by the control session.
 */
import { TributaryError, type Clock, type Timer } from '@tributary/common';

export const maxPendingControlRequests = 10_000;

interface Pending<Answer> {
  readonly timer: Timer;
  resolve(answer: Answer): void;
  reject(error: TributaryError): void;
}

export class PendingRequests<Answer> {
  private readonly pending = new Map<number, Pending<Answer>>();

  constructor(private readonly clock: Clock) {}

  /** Rejects with TIMEOUT: whether it happened is unknown. */
  add(requestId: number, timeoutMs: number, what: string): Promise<Answer> {
    if (this.pending.size >= maxPendingControlRequests) {
      const message = `more than ${maxPendingControlRequests} requests wait for the controller`;
      return Promise.reject(new TributaryError('UNAVAILABLE', message));
    }
    return new Promise<Answer>((resolve, reject) => {
      const timer = this.clock.setTimer(timeoutMs, () => {
        this.pending.delete(requestId);
        reject(new TributaryError('TIMEOUT', `the controller did not answer ${what} in time`));
      });
      this.pending.set(requestId, { timer, resolve, reject });
    });
  }

  /** An answer that nobody waits for any more is dropped. */
  take(requestId: number): Pick<Pending<Answer>, 'resolve' | 'reject'> | undefined {
    const found = this.pending.get(requestId);
    found?.timer.cancel();
    this.pending.delete(requestId);
    return found;
  }

  failAll(error: TributaryError): void {
    for (const requestId of [...this.pending.keys()]) this.take(requestId)?.reject(error);
  }
}
