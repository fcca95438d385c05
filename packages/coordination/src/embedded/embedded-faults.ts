/**
 * What the simulator may do to the clients of an embedded ensemble. Everything is off unless asked for, and drawn from
 * the simulator's seed.
 */
import type { Random } from '@tributary/common';

export interface EmbeddedFaults {
  readonly random: Random;
  /** A read answers from the past (never behind what the session saw). 0 to 1. */
  readonly staleReads?: number;
  /** A write's reply is lost with its connection; whether it was applied is a coin toss. 0 to 1. */
  readonly lostReplies?: number;
  /** A broken connection is back within this. Default 50. */
  readonly reconnectMs?: number;
  /** Watches come up to this much later. Default 0. */
  readonly lateWatchMs?: number;
  /** By session: so long, in ms, each of its requests is on its way, in order. Default: no time at all. */
  readonly lateRequests?: ReadonlyMap<string, number>;
}

export class FaultDice {
  constructor(private readonly faults: EmbeddedFaults | undefined) {}

  get staleReadsPossible(): boolean {
    return (this.faults?.staleReads ?? 0) > 0;
  }

  staleRead(): boolean {
    return this.happens(this.faults?.staleReads);
  }

  lostReply(): boolean {
    return this.happens(this.faults?.lostReplies);
  }

  coin(): boolean {
    return this.happens(0.5);
  }

  reconnectMs(): number {
    return this.upTo(this.faults?.reconnectMs ?? 50);
  }

  lateWatchMs(): number {
    return this.upTo(this.faults?.lateWatchMs ?? 0);
  }

  lateRequestMs(sessionId: string): number {
    return this.faults?.lateRequests?.get(sessionId) ?? 0;
  }

  /** A whole number from `low` to `high`. */
  between(low: number, high: number): number {
    return low + Math.floor((this.faults?.random.next() ?? 0) * (high - low + 1));
  }

  private happens(probability: number | undefined): boolean {
    if (!this.faults || !probability) return false;
    return this.faults.random.next() < probability;
  }

  private upTo(ms: number): number {
    return ms > 0 && this.faults ? this.faults.random.next() * ms : 0;
  }
}
