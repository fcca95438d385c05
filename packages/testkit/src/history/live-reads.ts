/**
 * C2, C5 and C7 over what readers saw while faults went on: one value per offset whoever reads it, no gap within an
 * assignment, and nothing that the final log contradicts. Pure; called by `checkHistory`.
 */
import type { LiveRead } from './history';
import { place, type Note } from './notes';

/** C7: reads that the final log contradicts were above the high watermark. */
export function countContradicted(
  live: readonly LiveRead[],
  final: ReadonlyMap<string, number>,
  note: Note,
): number {
  const contradicted = live.filter((read) => final.get(place(read)) !== read.id);
  for (const read of contradicted)
    note(`read above the high watermark: id ${read.id} at ${place(read)}`);
  return contradicted.length;
}

/** C2: two readers, or one reader twice, got different records at one offset. */
export function countDisagreeing(live: readonly LiveRead[], note: Note): number {
  const first = new Map<string, number>();
  let disagreeing = 0;
  for (const read of live) {
    const name = place(read);
    const seen = first.get(name);
    if (seen === undefined) first.set(name, read.id);
    else if (seen !== read.id) {
      disagreeing += 1;
      note(`two reads disagree: ids ${seen} and ${read.id} at ${name}`);
    }
  }
  return disagreeing;
}

/** C5: within one assignment of one reader the next record is the one after the last. */
export function countSkips(live: readonly LiveRead[], note: Note): number {
  const last = new Map<string, number>();
  let skips = 0;
  for (const read of live) {
    if (read.reader === undefined) continue;
    const stream = `${read.reader}/${read.partition}`;
    const before = last.get(stream);
    last.set(stream, read.offset);
    if (before === undefined || read.offset === before + 1) continue;
    skips += 1;
    note(`${read.reader} read ${place(read)} right after @${before}`);
  }
  return skips;
}
