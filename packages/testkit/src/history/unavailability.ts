/**
 * How long partitions did not take writes, as a producer sees it. Pure; called by chaos runs and tests.
 */
import type { History } from './history';

/** The longest time between two neighbouring acknowledgements of any one partition. */
export function longestGapMs(history: History): number {
  const acks = new Map<number, number[]>();
  for (const { partition, result } of history.writes) {
    if (result.fate !== 'acknowledged') continue;
    const times = acks.get(partition) ?? [];
    times.push(result.at);
    acks.set(partition, times);
  }
  let longest = 0;
  for (const times of acks.values()) {
    times.sort((a, b) => a - b);
    for (let i = 1; i < times.length; i += 1)
      longest = Math.max(longest, times[i]! - times[i - 1]!);
  }
  return Math.round(longest);
}

export interface Wait {
  readonly partition: number;
  readonly sentAt: number;
  readonly waitedMs: number;
}

/**
 * By partition: the longest that a write waited for its answer, whatever the answer, from `since` on (the first
 * fault; before it a producer still finds its way). A partition that was down for long shows it in the first write
 * that was sent into the outage. The longest first.
 */
export function longestWaits(history: History, since: number): Wait[] {
  const waits = new Map<number, Wait>();
  for (const { partition, sentAt, result } of history.writes) {
    if (result.fate === 'pending' || result.at < since) continue;
    const waitedMs = result.at - sentAt;
    if (waitedMs > (waits.get(partition)?.waitedMs ?? -1)) {
      waits.set(partition, { partition, sentAt, waitedMs });
    }
  }
  return [...waits.values()].sort((a, b) => b.waitedMs - a.waitedMs);
}
