/**
 * Full-jitter exponential backoff: the n-th wait is uniform in [0, min(maxMs, baseMs * 2^n)], at least
 * `minMs`. Pure: called by every retry loop of clients, replication and the control plane.
 * Source: "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
 */
import type { Random } from './random';

export interface BackoffOptions {
  /** Default 50. */
  readonly baseMs?: number;
  /** Default 1000. */
  readonly maxMs?: number;
  /** Lower bound of each wait. Default 5. */
  readonly minMs?: number;
}

/** @param attempt 0 for the first retry. */
export function backoffMs(attempt: number, random: Random, options: BackoffOptions = {}): number {
  const { baseMs = 50, maxMs = 1000, minMs = 5 } = options;
  const ceiling = Math.min(maxMs, baseMs * 2 ** Math.min(attempt, 30));
  return Math.max(minMs, random.next() * ceiling);
}
