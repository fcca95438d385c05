/**
 * A point on the monotonic clock after which a call gives up, joined with the caller's AbortSignal. Every
 * public call of the SDK and every remote call makes one.
 */
import type { Clock, Timer } from './clock';
import { cancelled } from './clock';
import { TributaryError } from './tributary-error';

export class Deadline {
  private constructor(
    private readonly clock: Clock,
    readonly at: number,
    readonly signal: AbortSignal | undefined,
  ) {}

  static after(clock: Clock, timeoutMs: number, signal?: AbortSignal): Deadline {
    return new Deadline(clock, clock.now() + timeoutMs, signal);
  }

  /** Never negative. */
  get remainingMs(): number {
    return Math.max(0, this.at - this.clock.now());
  }

  get expired(): boolean {
    return this.clock.now() >= this.at;
  }

  /** Throws TIMEOUT or CANCELLED if it is over. */
  check(what: string): void {
    if (this.signal?.aborted) throw cancelled(this.signal);
    if (this.expired) throw timedOut(what);
  }

  /** `work`, or TIMEOUT / CANCELLED at the deadline, whichever is first. The work itself is not stopped. */
  race<T>(work: Promise<T>, what: string): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.signal?.aborted) {
        work.catch(() => undefined); // its outcome no longer interests anybody
        return reject(cancelled(this.signal));
      }
      let timer: Timer | undefined = undefined;
      const onAbort = (): void => settle(() => reject(cancelled(this.signal)));
      const settle = (finish: () => void): void => {
        timer?.cancel();
        this.signal?.removeEventListener('abort', onAbort);
        finish();
      };
      timer = this.clock.setTimer(this.remainingMs, () => settle(() => reject(timedOut(what))));
      this.signal?.addEventListener('abort', onAbort, { once: true });
      work.then(
        (value) => settle(() => resolve(value)),
        (error: unknown) => settle(() => reject(error)),
      );
    });
  }
}

function timedOut(what: string): TributaryError {
  return new TributaryError('TIMEOUT', `${what} did not finish in time`);
}
