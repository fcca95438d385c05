/**
 * When the checkpoints of a log directory are written. Invariant: at most one write within `CHECKPOINT_INTERVAL_MS`,
 * however often something moves (with `flush=sync` thousands of times a second), unless a caller must have it
 * on the device now; one write at a time. Called by LogDirectory.
 */
import type { Clock, Timer } from '@tributary/common';

/** What moved within it is recovered once more after a crash: it costs time, no data. */
export const CHECKPOINT_INTERVAL_MS = 1_000;

export interface CheckpointScheduleOptions {
  readonly clock: Clock;
  /** Takes the values that are true when it is called; durable when it resolves. */
  readonly write: () => Promise<void>;
  /** Of a write that nobody waits for. */
  readonly onFailure: (error: unknown) => void;
}

export class CheckpointSchedule {
  private timer: Timer | undefined;
  private lastAt = -Infinity;
  private running: Promise<void> = Promise.resolve();
  private closed = false;

  constructor(private readonly options: CheckpointScheduleOptions) {}

  /** Something moved: at once after a quiet time, else at the end of the interval. */
  soon(): void {
    if (this.timer || this.closed) return;
    const { clock, onFailure } = this.options;
    const delayMs = this.lastAt + CHECKPOINT_INTERVAL_MS - clock.now();
    if (delayMs <= 0) {
      this.now().catch(onFailure);
      return;
    }
    this.timer = clock.setTimer(delayMs, () => {
      this.timer = undefined;
      this.now().catch(onFailure);
    });
  }

  /** Everything that is true at the call is on the device when it resolves. */
  now(): Promise<void> {
    this.lastAt = this.options.clock.now();
    const turn = this.running.then(() => this.options.write());
    this.running = turn.catch(() => undefined); // its caller hears of it
    return turn;
  }

  /** No more by itself; resolves when nothing is under way. */
  async close(): Promise<void> {
    this.closed = true;
    this.timer?.cancel();
    this.timer = undefined;
    await this.running;
  }
}
