/**
 * The bytes that a producer may hold: what does not fit waits, first come first served, which is the
 * back-pressure that callers feel. Called by the producer for every record.
 */
import { BoundedQueue } from '@tributary/common';

/** Senders that may wait for room at the same time: one per topic that is being written to. */
export const MAX_BUDGET_WAITERS = 100_000;

interface Waiter {
  readonly bytes: number;
  readonly grant: () => void;
  gone: boolean;
}

export class SendBudget {
  private used = 0;
  private readonly waiters = new BoundedQueue<Waiter>(MAX_BUDGET_WAITERS);

  constructor(private readonly maxBytes: number) {}

  get usedBytes(): number {
    return this.used;
  }

  /** True, and the bytes are taken, when there is room and nobody waits. One alone may be larger than all. */
  tryTake(bytes: number): boolean {
    if (this.waiters.length > 0 || !this.fits(bytes)) return false;
    this.used += bytes;
    return true;
  }

  /** `granted` is called once there is room; undefined: too many wait already. */
  wait(bytes: number, granted: () => void): { readonly cancel: () => void } | undefined {
    const waiter: Waiter = { bytes, grant: granted, gone: false };
    if (!this.waiters.push(waiter)) return undefined;
    return {
      cancel: () => {
        waiter.gone = true;
        this.grantNext();
      },
    };
  }

  release(bytes: number): void {
    this.used -= bytes;
    this.grantNext();
  }

  private grantNext(): void {
    for (let next = this.waiters.peek(); next; next = this.waiters.peek()) {
      if (!next.gone && !this.fits(next.bytes)) return;
      this.waiters.shift();
      if (next.gone) continue;
      next.gone = true;
      this.used += next.bytes;
      next.grant();
    }
  }

  private fits(bytes: number): boolean {
    return this.used === 0 || this.used + bytes <= this.maxBytes;
  }
}
