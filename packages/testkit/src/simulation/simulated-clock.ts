/**
 * Time that passes only when a test says so. Timers fire in the order of their due time, then of their
 * making; between two of them all promise jobs run dry, so that one seed gives one run.
 * Called by unit tests and by every simulated world.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Clock, Timer } from '@tributary/common';
import { TimerHeap } from './timer-heap';

export class SimulatedClock implements Clock {
  private time = 0;
  private made = 0;
  private readonly pending = new TimerHeap();
  private fired = 0;
  private onStep: (() => void) | undefined;

  /** @param epochMs wall time at the start; default 2024-01-01T00:00:00Z. */
  constructor(private epochMs = 1_704_067_200_000) {}

  now(): number {
    return this.time;
  }

  wallTime(): number {
    return this.epochMs + Math.floor(this.time);
  }

  /** The wall clock jumps; monotonic time and timers do not notice. */
  jumpWallTime(byMs: number): void {
    this.epochMs += byMs;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    const due = this.time + Math.max(0, delayMs);
    const entry = { due, order: this.made++, fire, cancelled: false };
    this.pending.push(entry);
    return { cancel: () => this.pending.cancel(entry) };
  }

  get pendingTimers(): number {
    return this.pending.size;
  }

  /** Timers that have fired so far: in a simulated world everything that happens begins with one. */
  get steps(): number {
    return this.fired;
  }

  /** Called after each step, when all that it caused has run; replaces the one before. */
  observe(onStep: () => void): void {
    this.onStep = onStep;
  }

  /** Fires the next timer, if one is due by `until`. False: none was. */
  async step(until = Infinity): Promise<boolean> {
    await settle();
    return this.fireNext(until);
  }

  /** Lets `ms` pass, firing what becomes due. */
  async advance(ms: number): Promise<void> {
    const until = this.time + ms;
    await settle();
    while (await this.fireNext(until));
    this.time = until;
  }

  /** Runs until the condition holds; false if it did not within `withinMs`. */
  async runUntil(condition: () => boolean, withinMs: number): Promise<boolean> {
    const until = this.time + withinMs;
    await settle();
    while (!condition()) {
      if (!(await this.fireNext(until))) {
        this.time = until;
        return condition();
      }
    }
    return true;
  }

  /** Runs until the promise settles, and gives its outcome; throws if it does not within `withinMs`. */
  async settleWithin<T>(work: Promise<T>, withinMs: number): Promise<T> {
    let done = false;
    const mark = (): void => {
      done = true;
    };
    work.then(mark, mark);
    if (!(await this.runUntil(() => done, withinMs))) {
      throw new Error(`not settled within ${withinMs} simulated ms`);
    }
    return work;
  }

  /** Everything has settled before, and has again afterwards. */
  private async fireNext(until: number): Promise<boolean> {
    const next = this.pending.peek();
    if (!next || next.due > until) return false;
    this.pending.pop();
    this.time = Math.max(this.time, next.due);
    this.fired += 1;
    next.fire();
    await settle();
    this.onStep?.();
    return true;
  }
}

/** All promise jobs, and those that they start, have run when this resolves. */
export async function settle(): Promise<void> {
  await nextTurn();
}
