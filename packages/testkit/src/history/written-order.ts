/**
 * C1, C3, C4 and C6: what was acknowledged is there, where the acknowledgement said; offsets of acknowledgements rise;
 * nothing is doubled, reordered, or there though it was refused for sure. Pure; called by `checkHistory`.
 */
import type { History, ReadRecord, WriteAttempt } from './history';
import { place, type Note } from './notes';

/** C1: acknowledged, and not in the final log at its offset. */
export function countLost(
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

/** C4 over the final log: each id once, in the order of sending. */
export function countDisorder(
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

/** C6: refused for sure, and yet in the final log. */
export function countResurrected(history: History, note: Note): number {
  const found = new Set(history.finalReads.map((read) => `${read.partition}:${read.id}`));
  const back = history.writes.filter(
    (write) => write.result.fate === 'not written' && found.has(`${write.partition}:${write.id}`),
  );
  for (const write of back)
    note(`refused for sure and yet there: id ${write.id} in ${write.partition}`);
  return back.length;
}

/** C3: an acknowledgement's offset must exceed every offset acknowledged before its write was sent. */
export function countNonMonotonic(acknowledged: readonly WriteAttempt[], note: Note): number {
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
