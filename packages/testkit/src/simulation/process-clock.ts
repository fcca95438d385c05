/**
 * Time as one process sees it: the world's, until the process dies. Invariant: after `die` no timer of that
 * process fires, those set later included, so that nothing of a killed process runs on. Called by simulated machines
 * and brokers.
 */
import type { Clock, Timer } from '@tributary/common';

const NEVER: Timer = { cancel: () => undefined };

export class ProcessClock implements Clock {
  private readonly timers = new Set<Timer>();
  private dead = false;

  constructor(private readonly world: Clock) {}

  get alive(): boolean {
    return !this.dead;
  }

  now(): number {
    return this.world.now();
  }

  wallTime(): number {
    return this.world.wallTime();
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    if (this.dead) return NEVER;
    const timer = this.world.setTimer(delayMs, () => {
      this.timers.delete(timer);
      fire();
    });
    this.timers.add(timer);
    return {
      cancel: () => {
        timer.cancel();
        this.timers.delete(timer);
      },
    };
  }

  die(): void {
    this.dead = true;
    for (const timer of this.timers) timer.cancel();
    this.timers.clear();
  }
}
