/**
 * What this broker may push on catch-up streams, or take in from them: so many bytes per second in all, stream after stream,
 * one push in each turn of the event loop, so that the work for clients and for followers in sync comes between two of them.
 * Without a rate of a person's choice the leader's side finds its own: a moderate one, that gives way where the loop is late to
 * a turn because it or the machine is busy, but never below twice what is written to the same partitions meanwhile, or
 * they would not come closer (docs/adr/0019).
 *
 * Invariants: over any longer time no more than the rate; a turn that was asked for comes, also when the rate changes
 * meanwhile. Called by the push queues of catch-up streams and by what acknowledges on them.
 */
import type { Clock, Timer } from '@tributary/common';

const AUTOMATIC_BYTES_PER_SECOND = 32 * 1024 * 1024;
/** However busy the broker is. */
const AUTOMATIC_FLOOR_BYTES_PER_SECOND = 4 * 1024 * 1024;
const TIMES_WHAT_IS_WRITTEN = 2;
/** How much of what was not used may be used at once: makes up for timers that are late. */
const BURST_MS = 20;
/** How much of the floor may be made up for. */
const FLOOR_BURST_MS = 500;
/** A timer that is late by less tells nothing. */
const LATE_MS = 1.5;
/** So many times as long as a turn was late, the next one waits. */
const YIELD_FACTOR = 3;
const MAX_YIELD_MS = 50;
/** Between two looks at a very low rate. */
const MAX_WAIT_MS = 60_000;

/** Pushes once; answers its bytes. 0: there was nothing to push. */
export type PushTurn = () => number;

export class CatchUpThrottle {
  /** Bytes that may go now; below 0 they went ahead of their time. */
  private balance = 0;
  /** Bytes that the floor promises and that have not gone. */
  private promised = 0;
  private refilledAt: number;
  private turns: PushTurn[] = [];
  private timer: Timer | undefined;
  private yieldUntil = -Infinity;
  private readonly writeRates = new Map<object, number>();

  /**
   * @param fixed bytes per second, as a person chose; undefined: none did.
   * @param isAutomatic what that means: a rate of its own finding, or no limit.
   */
  constructor(
    private readonly clock: Clock,
    private fixed: number | undefined,
    private readonly isAutomatic: boolean,
  ) {
    this.refilledAt = clock.now();
  }

  /** From now on; also for those who wait. */
  setRate(bytesPerSecond: number | undefined): void {
    this.refill();
    this.fixed = bytesPerSecond;
    this.stopTimer();
    this.arm();
  }

  /** What is written to the partitions of this stream, which it has to push, too; 0: it is over. */
  noteWrites(stream: object, bytesPerSecond: number): void {
    this.refill();
    if (bytesPerSecond > 0) this.writeRates.set(stream, bytesPerSecond);
    else this.writeRates.delete(stream);
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

  /** undefined: no limit. */
  private get rate(): number | undefined {
    if (this.fixed !== undefined || !this.isAutomatic) return this.fixed;
    return Math.max(AUTOMATIC_BYTES_PER_SECOND, this.floor);
  }

  private get floor(): number {
    if (this.fixed !== undefined || !this.isAutomatic) return 0;
    const written = [...this.writeRates.values()].reduce((sum, rate) => sum + rate, 0);
    return Math.max(AUTOMATIC_FLOOR_BYTES_PER_SECOND, TIMES_WHAT_IS_WRITTEN * written);
  }

  private arm(): void {
    if (this.timer || this.turns.length === 0) return;
    this.refill();
    const now = this.refilledAt;
    const { rate, balance } = this;
    const forRateMs = rate === undefined || balance >= 0 ? 0 : Math.ceil((-balance / rate) * 1000);
    const yields = this.promised <= 0 || this.fixed !== undefined;
    const waitMs = Math.max(
      Math.min(forRateMs, MAX_WAIT_MS),
      yields ? Math.ceil(this.yieldUntil - now) : 0,
    );
    this.timer = this.clock.setTimer(waitMs, () => {
      this.timer = undefined;
      const late = this.clock.now() - now - waitMs;
      if (this.isAutomatic && late > LATE_MS) {
        this.yieldUntil = this.clock.now() + Math.min(MAX_YIELD_MS, late * YIELD_FACTOR);
      }
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
    this.promised -= pushed;
    this.arm();
  }

  private refill(): void {
    const now = this.clock.now();
    const elapsedMs = now - this.refilledAt;
    this.refilledAt = now;
    const { rate, floor } = this;
    this.balance = rate === undefined ? 0 : topUp(this.balance, rate, elapsedMs, BURST_MS);
    this.promised = topUp(Math.max(0, this.promised), floor, elapsedMs, FLOOR_BURST_MS);
  }

  private stopTimer(): void {
    this.timer?.cancel();
    this.timer = undefined;
  }
}

function topUp(bytes: number, perSecond: number, elapsedMs: number, burstMs: number): number {
  return Math.min((perSecond * burstMs) / 1000, bytes + (perSecond * elapsedMs) / 1000);
}
