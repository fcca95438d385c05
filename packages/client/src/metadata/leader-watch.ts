/**
 * Looks out for the next leaders of partitions whose leader failed, or that have none: one look at a time, each of which
 * waits at its source for a leader in a later epoch. So a failover is known when it happens, and not at the next poll, and
 * thousands of partitions that lost their leader at once share one look.
 *
 * Invariants: nothing runs while nothing is wanted, and a partition is wanted for `WANTED_MS` after the last who asked; who
 * awaits a look gets one that began after that. Called by MetadataCache.
 */
import { partitionName, sleep, TributaryError, type Clock, type Timer } from '@tributary/common';
import type { AwaitedLeader } from '../seams';
import { FAILOVER_WAIT_MAX_MS, FAILOVER_WAITS } from './failover-backoff';

/** Longest look, in an outage that lasts. */
export const MAX_LEADER_LOOK_MS = 250;
const FIRST_LOOK_MS = 50;
/** What fails at once goes into one look; twice as long after each look that was ended for more, half as long after one that was not. */
const GATHER_MS = 2;
const WANTED_MS = 1_500;

export interface LeaderWatchOptions {
  readonly clock: Clock;
  readonly closing: AbortSignal;
  /** Resolves once what the source answered is in the cache. */
  look(awaited: readonly AwaitedLeader[], maxWaitMs: number, signal: AbortSignal): Promise<void>;
  /** The cache has a leader in a later epoch. */
  found(awaited: AwaitedLeader): boolean;
}

interface Wanted extends AwaitedLeader {
  readonly until: number;
}

interface Looker {
  readonly resolve: () => void;
  readonly reject: (error: TributaryError) => void;
}

interface Listener {
  readonly awaited: AwaitedLeader;
  readonly call: () => void;
}

export class LeaderWatch {
  private readonly wanted = new Map<string, Wanted>();
  private readonly listeners = new Set<Listener>();
  /** Who awaits the next look. */
  private lookers: Looker[] = [];
  private gathering: Timer | undefined;
  private gatherMs = GATHER_MS;
  private running = false;
  /** Ends the look, or the rest after one, for the next. */
  private hurry = new AbortController();

  constructor(private readonly options: LeaderWatchOptions) {
    const { closing } = options;
    closing.addEventListener('abort', () => this.hurry.abort(), { once: true });
  }

  want(awaited: AwaitedLeader): void {
    const { clock, closing } = this.options;
    if (closing.aborted) return;
    const key = partitionName(awaited.topic, awaited.partition);
    const known = this.wanted.get(key);
    this.wanted.set(key, { ...awaited, until: clock.now() + WANTED_MS });
    if (known?.leaderEpoch === awaited.leaderEpoch) return;
    this.gathering ??= clock.setTimer(this.gatherMs, () => {
      this.gathering = undefined;
      if (this.running) this.hurry.abort();
      else void this.run();
    });
  }

  /** Resolves at the end of a look that begins from now on; something must be wanted. Rejects with what it failed with. */
  nextLook(): Promise<void> {
    return new Promise((resolve, reject) => this.lookers.push({ resolve, reject }));
  }

  /** Calls once, when the cache has a leader in a later epoch. Answers how to call that off. */
  onLeader(awaited: AwaitedLeader, call: () => void): () => void {
    const listener = { awaited, call };
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  /** The cache has changed. */
  tell(): void {
    for (const listener of [...this.listeners]) {
      if (!this.options.found(listener.awaited)) continue;
      this.listeners.delete(listener);
      listener.call();
    }
  }

  private async run(): Promise<void> {
    const { clock, closing } = this.options;
    this.running = true;
    this.gatherMs = GATHER_MS;
    for (let quiet = 0; this.prune() > 0 && !closing.aborted;) {
      const startedAt = clock.now();
      const maxMs = quiet < FAILOVER_WAITS ? FAILOVER_WAIT_MAX_MS : MAX_LEADER_LOOK_MS;
      const waitMs = Math.min(maxMs, FIRST_LOOK_MS * 2 ** quiet);
      this.hurry = new AbortController();
      const { signal } = this.hurry;
      const news = await this.look(waitMs, signal);
      quiet = news ? 0 : quiet + 1;
      const restMs = startedAt + waitMs - clock.now();
      // A source that does not wait is not asked without a pause.
      if (!news && restMs > 0) await sleep(clock, restMs, signal).catch(() => undefined);
    }
    this.running = false;
    for (const { resolve } of this.lookers.splice(0)) resolve();
  }

  /** True: there was something new, or there is more to look for. */
  private async look(waitMs: number, signal: AbortSignal): Promise<boolean> {
    const lookers = this.lookers.splice(0);
    const before = this.wanted.size;
    try {
      await this.options.look([...this.wanted.values()], waitMs, signal);
      this.gatherMs = Math.max(GATHER_MS, this.gatherMs / 2);
      for (const { resolve } of lookers) resolve();
      return this.prune() < before;
    } catch (thrown) {
      if (signal.aborted) {
        this.lookers.unshift(...lookers);
        // Partitions that fail one after another would else keep each look from its end.
        this.gatherMs = Math.min(2 * this.gatherMs, MAX_LEADER_LOOK_MS);
        return true;
      }
      const error = TributaryError.from(thrown);
      for (const { reject } of lookers) reject(error);
      return false;
    }
  }

  /** How many are still wanted. */
  private prune(): number {
    const now = this.options.clock.now();
    for (const [key, one] of this.wanted) {
      if (one.until <= now || this.options.found(one)) this.wanted.delete(key);
    }
    return this.wanted.size;
  }
}
