/**
 * Judges a history against the client invariants C1, C2, C3, C4, C6 and C7 of the design: nothing
 * acknowledged is lost, nothing is doubled or reordered, nothing refused for sure appears, and no reader saw
 * what was not committed. Pure; called by chaos runs, integration tests and the simulation.
 */
import type { History, ReadRecord, WriteAttempt } from './history';

export interface Verdict {
  readonly acked: number;
  readonly read: number;
  /** Acknowledged, and not in the final log at its offset. */
  readonly lost: number;
  /** Ids that stand more than once in the final log. */
  readonly duplicated: number;
  /** Neighbours in the final log of a partition whose ids fall. */
  readonly reordered: number;
  /** Live reads that the final log contradicts: they were above the high watermark. */
  readonly readAboveHighWatermark: number;
  /** Refused for sure, and yet in the final log. */
  readonly resurrected: number;
  /** Acknowledged at an offset not above one that was acknowledged before this write was sent. */
  readonly nonMonotonic: number;
  /** Still unanswered or unknown. */
  readonly unknown: number;
  /** Up to ten examples for a person. */
  readonly examples: readonly string[];
}

export function isClean(verdict: Verdict): boolean {
  const { lost, duplicated, reordered, readAboveHighWatermark, resurrected, nonMonotonic } =
    verdict;
  return lost + duplicated + reordered + readAboveHighWatermark + resurrected + nonMonotonic === 0;
}

export function checkHistory(history: History): Verdict {
  const examples: string[] = [];
  const note = (text: string): void => {
    if (examples.length < 10) examples.push(text);
  };
  const finalByOffset = new Map<string, number>();
  for (const read of history.finalReads) finalByOffset.set(place(read), read.id);

  const acknowledged = history.writes.filter((write) => write.result.fate === 'acknowledged');
  return {
    acked: acknowledged.length,
    read: history.finalReads.length,
    lost: countLost(acknowledged, finalByOffset, note),
    ...countDisorder(history.finalReads, note),
    readAboveHighWatermark: countContradicted(history.liveReads, finalByOffset, note),
    resurrected: countResurrected(history, note),
    nonMonotonic: countNonMonotonic(acknowledged, note),
    unknown: history.writes.filter(
      ({ result }) => result.fate === 'unknown' || result.fate === 'pending',
    ).length,
    examples,
  };
}

type Note = (text: string) => void;

function place(read: { readonly partition: number; readonly offset: number }): string {
  return `${read.partition}@${read.offset}`;
}

function countLost(
  acknowledged: readonly WriteAttempt[],
  final: ReadonlyMap<string, number>,
  note: Note,
): number {
  let lost = 0;
  for (const { partition, id, result } of acknowledged) {
    if (result.fate !== 'acknowledged') continue;
    const found = final.get(place({ partition, offset: result.offset }));
    if (found === id) continue;
    lost += 1;
    note(
      `lost: id ${id} acknowledged at ${partition}@${result.offset}, found ${found ?? 'nothing'}`,
    );
  }
  return lost;
}

function countDisorder(
  reads: readonly ReadRecord[],
  note: Note,
): { duplicated: number; reordered: number } {
  const seen = new Set<string>();
  const last = new Map<number, ReadRecord>();
  let duplicated = 0;
  let reordered = 0;
  for (const read of reads) {
    const name = `${read.partition}:${read.id}`;
    const previous = last.get(read.partition);
    if (seen.has(name)) {
      duplicated += 1;
      note(`duplicated: id ${read.id} again at ${place(read)}`);
    } else if (previous && (read.id < previous.id || read.offset <= previous.offset)) {
      reordered += 1;
      note(
        `reordered: id ${read.id} at ${place(read)} after id ${previous.id} at ${place(previous)}`,
      );
    }
    seen.add(name);
    last.set(read.partition, read);
  }
  return { duplicated, reordered };
}

function countContradicted(
  live: readonly ReadRecord[],
  final: ReadonlyMap<string, number>,
  note: Note,
): number {
  const contradicted = live.filter((read) => final.get(place(read)) !== read.id);
  for (const read of contradicted)
    note(`read above the high watermark: id ${read.id} at ${place(read)}`);
  return contradicted.length;
}

function countResurrected(history: History, note: Note): number {
  const found = new Set(history.finalReads.map((read) => `${read.partition}:${read.id}`));
  const back = history.writes.filter(
    (write) => write.result.fate === 'not written' && found.has(`${write.partition}:${write.id}`),
  );
  for (const write of back)
    note(`refused for sure and yet there: id ${write.id} in ${write.partition}`);
  return back.length;
}

/** An acknowledgement's offset must exceed every offset acknowledged before its write was sent. */
function countNonMonotonic(acknowledged: readonly WriteAttempt[], note: Note): number {
  const events = acknowledged.flatMap((write) => {
    if (write.result.fate !== 'acknowledged') return [];
    const { partition } = write;
    const { offset, at } = write.result;
    return [
      { at: write.sentAt, kind: 1, partition, offset, write },
      { at, kind: 0, partition, offset, write },
    ];
  });
  events.sort((a, b) => a.at - b.at || b.kind - a.kind);
  const highest = new Map<number, number>();
  const floor = new Map<WriteAttempt, number>();
  let wrong = 0;
  for (const { kind, partition, offset, write } of events) {
    const top = highest.get(partition) ?? -1;
    if (kind === 1) {
      floor.set(write, top);
    } else {
      if (offset <= (floor.get(write) ?? -1)) {
        wrong += 1;
        note(`not monotonic: id ${write.id} at ${place({ partition, offset })}`);
      }
      highest.set(partition, Math.max(top, offset));
    }
  }
  return wrong;
}

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
