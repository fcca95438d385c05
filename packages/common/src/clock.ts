/**
 * The Clock port: all time and all timers of the system. Production uses `systemClock`; tests and the
 * simulation pass a simulated one. Nothing else may call Date.now, performance.now or setTimeout (lint).
 */
import { TributaryError } from './tributary-error';

export interface Timer {
  /** Idempotent; a cancelled timer never fires. */
  cancel(): void;
}

export interface Clock {
  /** Monotonic milliseconds since some fixed point; for durations, deadlines and leases. */
  now(): number;
  /** Milliseconds since the epoch; may jump. For timestamps that people or records see. */
  wallTime(): number;
  /** Calls `fire` once, not before `delayMs` have passed. A real timer keeps the process alive unless `unref`. */
  setTimer(delayMs: number, fire: () => void, options?: { readonly unref?: boolean }): Timer;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  setTimer(delayMs, fire, options) {
    const handle = setTimeout(fire, Math.max(0, delayMs));
    if (options?.unref) handle.unref();
    return { cancel: () => clearTimeout(handle) };
  },
};

/** Resolves after `delayMs`; rejects with CANCELLED when the signal aborts first. */
export function sleep(clock: Clock, delayMs: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(cancelled(signal));
    const onAbort = (): void => {
      timer.cancel();
      reject(cancelled(signal));
    };
    const timer = clock.setTimer(delayMs, () => {
      signal?.removeEventListener('abort', onAbort);
      resolve();
    });
    signal?.addEventListener('abort', onAbort, { once: true });
  });
}

/** The error of an aborted signal: CANCELLED, with the abort reason as its cause. */
export function cancelled(signal: AbortSignal | undefined): TributaryError {
  const reason: unknown = signal?.reason;
  if (reason instanceof TributaryError) return reason;
  return new TributaryError('CANCELLED', 'the caller aborted', { cause: reason });
}
