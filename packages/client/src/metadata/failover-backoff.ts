/**
 * Waits of whoever found no leader, or one that is gone. A failover takes a fraction of a second, and a wait that began
 * before its end adds to it: so the first waits stay short, and only an outage that lasts gets long ones.
 * Full jitter, as everywhere. Called by producer and fetcher; the looks of the metadata keep to the same limits.
 */
import { backoffMs, type ErrorCode, type Random } from '@tributary/common';

/** Short waits before the long ones: about a second of them. */
export const FAILOVER_WAITS = 20;
export const FAILOVER_WAIT_MAX_MS = 100;

const leaderlessCodes: readonly ErrorCode[] = [
  'UNAVAILABLE',
  'NOT_LEADER',
  'FENCED_LEADER_EPOCH',
  'UNKNOWN_LEADER_EPOCH',
  'LEADER_NOT_AVAILABLE',
  'BROKER_MISMATCH',
];

export interface FailoverBackoffOptions {
  /** Longest wait of an outage that lasts. */
  readonly maxMs: number;
  /** What failed; undefined: nothing is known of it. Anything else than a leader that is gone waits longer each time. */
  readonly code?: ErrorCode | undefined;
}

/** @param attempt 0 for the first wait. */
export function failoverBackoffMs(
  attempt: number,
  random: Random,
  { maxMs, code }: FailoverBackoffOptions,
): number {
  const isLeaderless = code === undefined || leaderlessCodes.includes(code);
  if (!isLeaderless) return backoffMs(attempt, random, { maxMs });
  if (attempt < FAILOVER_WAITS) return backoffMs(attempt, random, { maxMs: FAILOVER_WAIT_MAX_MS });
  const baseMs = Math.min(maxMs, FAILOVER_WAIT_MAX_MS);
  return backoffMs(attempt - FAILOVER_WAITS, random, { baseMs, maxMs });
}
