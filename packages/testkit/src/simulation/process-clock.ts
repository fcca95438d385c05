/**
 * Time as one process sees it: the world's, until the process dies or is stopped. Invariants: after `die` no timer of that
 * process fires, those set later included, so that nothing of a killed process runs on; between `pause` and `resume` none
 * fires, and what was due meanwhile comes at once afterwards, in order (SIGSTOP). Called by simulated machines and
 * brokers.
 */
import type { Clock, Timer } from '@tributary/common';

const NEVER: Timer = { cancel: () => undefined };

interface Running {
  timer: Timer;
}

export class ProcessClock implements Clock {
  private readonly running = new Set<Running>();
  /** Became due while the process was stopped. */
  private readonly due = new Map<Running, () => void>();
  private dead = false;
  private paused = false;
  private wallOffsetMs = 0;

  constructor(private readonly world: Clock) {}

  get alive(): boolean {
    return !this.dead;
  }

  now(): number {
    return this.world.now();
  }

  wallTime(): number {
    return this.world.wallTime() + this.wallOffsetMs;
  }

  /** The machine's wall clock jumps; monotonic time and timers do not notice. */
  jumpWallTime(byMs: number): void {
    this.wallOffsetMs += byMs;
  }

  setTimer(delayMs: number, fire: () => void): Timer {
    if (this.dead) return NEVER;
    const running: Running = { timer: NEVER };
    const run = (): void => {
      if (this.paused) {
        this.due.set(running, run);
        return;
      }
      this.running.delete(running);
      fire();
    };
    running.timer = this.world.setTimer(delayMs, run);
    this.running.add(running);
    return {
      cancel: () => {
        running.timer.cancel();
        this.running.delete(running);
        this.due.delete(running);
      },
    };
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
    for (const [running, run] of this.due) running.timer = this.world.setTimer(0, run);
    this.due.clear();
  }

  die(): void {
    this.dead = true;
    for (const { timer } of this.running) timer.cancel();
    this.running.clear();
    this.due.clear();
  }
}
