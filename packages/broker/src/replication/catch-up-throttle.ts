/**
 * What this broker may push on catch-up streams: so many bytes per second in all, stream after stream, one push in each
 * turn of the event loop, so that the work for clients and for followers in sync comes between two of them.
 *
 * Invariants: over any longer time no more than the rate; a turn that was asked for comes, also when the rate
 * changes meanwhile. Called by the push queues of catch-up streams; the rate is a setting of the broker.
 */
import type { Clock, Timer } from '@tributary/common';

/** How much of what was not used may be used at once: makes up for timers that are late. */
const BURST_MS = 20;
/** So that a very low rate is felt as one, and not as a pause of the size of a push. */
const MAX_WAIT_MS = 60_000;

/** Pushes once; answers its bytes. 0: there was nothing to push. */
export type PushTurn = () => number;

export class CatchUpThrottle {
  /** Bytes that may go now; below 0 they went ahead of their time. */
  private balance = 0;
  private refilledAt: number;
  private turns: PushTurn[] = [];
  private timer: Timer | undefined;

  /** @param rate bytes per second; undefined: unlimited. */
  constructor(
    private readonly clock: Clock,
    private rate: number | undefined,
  ) {
    this.refilledAt = clock.now();
  }

  /** From now on; also for those who wait. */
  setRate(bytesPerSecond: number | undefined): void {
    this.refill();
    this.rate = bytesPerSecond;
    this.stopTimer();
    this.arm();
  }

  /** Never called back within this call. */
  wait(turn: PushTurn): void {
    this.turns.push(turn);
    this.arm();
  }

  close(): void {
    this.stopTimer();
    this.turns = [];
  }

  private arm(): void {
    if (this.timer || this.turns.length === 0) return;
    this.refill();
    const { rate, balance } = this;
    const waitMs = rate === undefined || balance >= 0 ? 0 : Math.ceil((-balance / rate) * 1000);
    this.timer = this.clock.setTimer(Math.min(waitMs, MAX_WAIT_MS), () => {
      this.timer = undefined;
      this.serve();
    });
  }

  private serve(): void {
    this.refill();
    let pushed = 0;
    while (pushed === 0 && this.balance >= 0) {
      const turn = this.turns.shift();
      if (!turn) break;
      pushed = turn();
    }
    if (this.rate !== undefined) this.balance -= pushed;
    this.arm();
  }

  private refill(): void {
    const now = this.clock.now();
    const elapsedMs = now - this.refilledAt;
    this.refilledAt = now;
    if (this.rate === undefined) this.balance = 0;
    else {
      const { rate } = this;
      this.balance = Math.min((rate * BURST_MS) / 1000, this.balance + (rate * elapsedMs) / 1000);
    }
  }

  private stopTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }
}
