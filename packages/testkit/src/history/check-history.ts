/**
 * Judges a history against the client invariants C1 to C8 of the design: nothing acknowledged is lost, nothing is
 * doubled or reordered, nothing refused for sure appears, no reader saw what was not committed or skipped
 * something, and the visible end never fell. Pure; called by chaos runs, integration tests and the simulation.
 */
import type { History } from './history';
import { countContradicted, countDisagreeing, countSkips } from './live-reads';
import { Examples, place } from './notes';
import { countFallenEnds } from './visible-ends';
import { countDisorder, countLost, countNonMonotonic, countResurrected } from './written-order';

export interface Verdict {
  readonly acked: number;
  readonly read: number;
  /** C1: acknowledged, and not in the final log at its offset. */
  readonly lost: number;
  /** C4, C6: ids that stand more than once in the final log. */
  readonly duplicated: number;
  /** C4: neighbours in the final log of a partition whose ids fall. */
  readonly reordered: number;
  /** C7: live reads that the final log contradicts: they were above the high watermark. */
  readonly readAboveHighWatermark: number;
  /** C2: live reads that got another record at an offset than an earlier one. */
  readonly disagreeing: number;
  /** C5: live reads that were not the next one of their assignment. */
  readonly skipped: number;
  /** C7, C8: ends of partitions told that are below what was known to be committed. */
  readonly fallenEnds: number;
  /** C6: refused for sure, and yet in the final log. */
  readonly resurrected: number;
  /** C3: acknowledged at an offset not above one that was acknowledged before this write was sent. */
  readonly nonMonotonic: number;
  /** Still unanswered or unknown. */
  readonly unknown: number;
  /** Up to ten examples for a person. */
  readonly examples: readonly string[];
}

/** The fields of a verdict that must be 0. */
export const verdictFaults = [
  'lost',
  'duplicated',
  'reordered',
  'readAboveHighWatermark',
  'disagreeing',
  'skipped',
  'fallenEnds',
  'resurrected',
  'nonMonotonic',
] as const satisfies readonly (keyof Verdict)[];

export function isClean(verdict: Verdict): boolean {
  return verdictFaults.every((fault) => verdict[fault] === 0);
}

export function checkHistory(history: History): Verdict {
  const { note, texts: examples } = new Examples();
  const finalByOffset = new Map<string, number>();
  for (const read of history.finalReads) finalByOffset.set(place(read), read.id);

  const acknowledged = history.writes.filter((write) => write.result.fate === 'acknowledged');
  return {
    acked: acknowledged.length,
    read: history.finalReads.length,
    lost: countLost(acknowledged, finalByOffset, note),
    ...countDisorder(history.finalReads, note),
    readAboveHighWatermark: countContradicted(history.liveReads, finalByOffset, note),
    disagreeing: countDisagreeing(history.liveReads, note),
    skipped: countSkips(history.liveReads, note),
    fallenEnds: countFallenEnds(history, note),
    resurrected: countResurrected(history, note),
    nonMonotonic: countNonMonotonic(acknowledged, note),
    unknown: history.writes.filter(
      ({ result }) => result.fate === 'unknown' || result.fate === 'pending',
    ).length,
    examples,
  };
}
