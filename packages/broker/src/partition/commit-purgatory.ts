/**
 * Where acks=all waits: each waiter names the offset that the HW must reach, and gives up at its deadline.
 * One per partition, under a count that all partitions of the broker share.
 *
 * Invariant: waiters are sorted by offset, so that a HW move touches only those that it wakes; every waiter is called
 * exactly once. Called by `Partition`.
 */
import type { Clock, Timer } from '@tributary/common';

/** How many may wait on this broker, over all partitions. */
export class WaiterBudget {
  private taken = 0;

  constructor(readonly maxWaiters: number) {}

  get waiting(): number {
    return this.taken;
  }

  get full(): boolean {
    return this.taken >= this.maxWaiters;
  }

  take(): void {
    this.taken += 1;
  }

  release(): void {
    this.taken -= 1;
  }
}

export type WaitEnd = 'reached' | 'timeout' | 'leadership ended';

interface Waiter {
  readonly offset: number;
  readonly deadline: number;
  readonly finish: (end: WaitEnd, reason: string) => void;
}

export class CommitPurgatory {
  private waiters: Waiter[] = [];
  private timer: Timer | undefined;
  private timerDue = Infinity;

  constructor(
    private readonly clock: Clock,
    private readonly budget: WaiterBudget,
  ) {}

  get waiting(): number {
    return this.waiters.length;
  }

  /** `finish` is called once: when the HW is at or above `offset`, at the deadline, or when leadership ends. */
  wait(offset: number, timeoutMs: number, finish: Waiter['finish']): void {
    this.budget.take();
    const deadline = this.clock.now() + timeoutMs;
    let at = this.waiters.length;
    // Almost always the last: only duplicates wait for offsets that are not the newest.
    while (at > 0 && (this.waiters[at - 1] as Waiter).offset > offset) at -= 1;
    const waiter = { offset, deadline, finish };
    if (at === this.waiters.length) this.waiters.push(waiter);
    else this.waiters.splice(at, 0, waiter);
    if (deadline < this.timerDue) this.arm(deadline);
  }

  reached(highWatermark: number): void {
    let count = 0;
    while (count < this.waiters.length && (this.waiters[count] as Waiter).offset <= highWatermark) {
      count += 1;
    }
    if (count > 0) this.finish(this.waiters.splice(0, count), 'reached', '');
  }

  endAll(reason: string): void {
    const ended = this.waiters;
    this.waiters = [];
    this.finish(ended, 'leadership ended', reason);
  }

  private finish(waiters: readonly Waiter[], end: WaitEnd, reason: string): void {
    if (this.waiters.length === 0) this.disarm();
    for (const waiter of waiters) {
      this.budget.release();
      waiter.finish(end, reason);
    }
  }

  /** One timer for all, for the earliest deadline. A wait that ended meanwhile only makes it fire idly. */
  private arm(due: number): void {
    this.disarm();
    this.timerDue = due;
    this.timer = this.clock.setTimer(due - this.clock.now(), () => this.expire());
  }

  private disarm(): void {
    this.timer?.cancel();
    this.timer = undefined;
    this.timerDue = Infinity;
  }

  private expire(): void {
    this.disarm();
    const now = this.clock.now();
    const late = this.waiters.filter((waiter) => waiter.deadline <= now);
    this.waiters = this.waiters.filter((waiter) => waiter.deadline > now);
    const next = this.waiters.reduce((least, waiter) => Math.min(least, waiter.deadline), Infinity);
    if (next !== Infinity) this.arm(next);
    this.finish(late, 'timeout', '');
  }
}
