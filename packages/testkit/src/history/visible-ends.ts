/**
 * C7 and C8 over what the cluster said where partitions end: that end, the high watermark, never falls, and is never
 * at or below what somebody consumed, or had acknowledged, before the question. Pure; called by `checkHistory`.
 */
import type { EndProbe, History } from './history';
import type { Note } from './notes';

/** A proof that the end had been reached at a time. */
interface Known {
  readonly at: number;
  readonly end: number;
  readonly how: string;
}

export function countFallenEnds(history: History, note: Note): number {
  const probes = byPartition(history.endProbes);
  if (probes.size === 0) return 0;
  const known = knownEnds(history);
  let fallen = 0;
  for (const [partition, asked] of probes) {
    fallen += countFallen(asked, known.get(partition) ?? [], (end, how) =>
      note(`the end of partition ${partition} was said to be ${end} after ${how}`),
    );
  }
  return fallen;
}

function countFallen(
  probes: EndProbe[],
  known: Known[],
  note: (end: number, how: string) => void,
): number {
  probes.sort((a, b) => a.askedAt - b.askedAt);
  known.sort((a, b) => a.at - b.at);
  let fallen = 0;
  let next = 0;
  let least: Known | undefined;
  for (const { askedAt, end } of probes) {
    for (; next < known.length && known[next]!.at < askedAt; next += 1) {
      if (!least || known[next]!.end > least.end) least = known[next];
    }
    if (!least || end >= least.end) continue;
    fallen += 1;
    note(end, least.how);
  }
  return fallen;
}

function knownEnds(history: History): Map<number, Known[]> {
  const { endProbes, liveReads, writes } = history;
  const known = endProbes.map(({ partition, answeredAt: at, end }) => {
    return { partition, at, end, how: `it had been said to be ${end}` };
  });
  for (const { partition, offset, at } of liveReads) {
    if (at === undefined) continue;
    known.push({ partition, at, end: offset + 1, how: `@${offset} had been read` });
  }
  for (const { partition, result } of writes) {
    if (result.fate !== 'acknowledged') continue;
    const { at, offset } = result;
    known.push({ partition, at, end: offset + 1, how: `@${offset} had been acknowledged` });
  }
  return byPartition(known);
}

function byPartition<T extends { readonly partition: number }>(
  all: readonly T[],
): Map<number, T[]> {
  const groups = new Map<number, T[]>();
  for (const one of all) {
    const group = groups.get(one.partition);
    if (group) group.push(one);
    else groups.set(one.partition, [one]);
  }
  return groups;
}
