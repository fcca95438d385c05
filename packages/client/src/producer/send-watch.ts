/**
 * The caller's own bound of a send: its signal and its timeout, whichever is first. What did not get into a
 * batch yet is withdrawn; what did may still be written, and the error says so. Called by the producer.
 */
import { cancelled, TributaryError, type Clock } from '@tributary/common';
import type { Send } from './admission';
import type { Delivery } from './record-batch';

export interface SendOptions {
  readonly signal?: AbortSignal;
  /** Default: the producer's deliveryTimeoutMs, counted for the batch. */
  readonly timeoutMs?: number;
}

/** Wraps a delivery. `start` is called with the sends that it watches, once they are on their way. */
export class SendWatch {
  private sends: readonly Send[] = [];
  private stop: () => void = () => undefined;

  constructor(
    private readonly clock: Clock,
    private readonly options: SendOptions,
  ) {}

  start(sends: readonly Send[]): void {
    const { signal, timeoutMs } = this.options;
    this.sends = sends;
    if (signal?.aborted) return this.giveUp(cancelled(signal));
    const onAbort = (): void => this.giveUp(cancelled(signal));
    signal?.addEventListener('abort', onAbort, { once: true });
    const timer =
      timeoutMs === undefined
        ? undefined
        : this.clock.setTimer(timeoutMs, () => this.giveUp(timedOut(timeoutMs)));
    this.stop = () => {
      signal?.removeEventListener('abort', onAbort);
      timer?.cancel();
    };
  }

  /** All that it watches is settled. */
  settled(): void {
    this.stop();
  }

  private giveUp(error: TributaryError): void {
    this.stop();
    for (const send of this.sends) {
      const waiting = send.stage === 'waiting';
      if (waiting) send.stage = 'withdrawn';
      send.delivery.failed(error.withOutcome(waiting ? 'not written' : 'maybe written'));
    }
  }
}

/** Tells only the first of what it hears, and then stops the watch. */
export function onceOnly(delivery: Delivery, settled: () => void): Delivery {
  let open = true;
  const first = (tell: () => void): void => {
    if (!open) return;
    open = false;
    tell();
    settled();
  };
  return {
    written: (partition, offset, timestamp) =>
      first(() => delivery.written(partition, offset, timestamp)),
    failed: (error) => first(() => delivery.failed(error)),
  };
}

function timedOut(timeoutMs: number): TributaryError {
  return new TributaryError('TIMEOUT', `the record was not written within ${timeoutMs} ms`);
}
