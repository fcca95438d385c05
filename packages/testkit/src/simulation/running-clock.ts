/**
 * Lets a simulated clock run by itself while a test awaits things that need time (messages on a simulated
 * network, leases): one timer after the other, as fast as they come. For tests that are written without a word
 * about time. Stop it at the end.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { SimulatedClock } from './simulated-clock';

export class RunningClock {
  private stopped = false;

  constructor(private readonly clock: SimulatedClock) {
    void this.run();
  }

  /** Resolves when it holds; rejects when it does not within so many simulated milliseconds. */
  async until(condition: () => boolean, withinMs: number): Promise<void> {
    const end = this.clock.now() + withinMs;
    const tick = (): Promise<void> =>
      new Promise((resolve) => void this.clock.setTimer(5, resolve));
    while (!condition()) {
      if (this.clock.now() >= end) throw new Error(`not within ${withinMs} simulated ms`);
      await tick();
    }
  }

  stop(): void {
    this.stopped = true;
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      if (!(await this.clock.step())) await nextTurn();
    }
  }
}
