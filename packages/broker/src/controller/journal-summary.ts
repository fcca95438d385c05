/**
 * What a step decided about many partitions for one reason, as one entry of the journal: a broker that leaves, a topic that
 * is created. Called when a step ends; what concerns a few partitions keeps an entry for each.
 */
import type { JournalEntry } from './controller-effect';

/** Of one reason and one step; more are told as one. */
export const maxEntriesPerReason = 10;

export interface PartitionNote {
  readonly topic: string;
  readonly partition: number;
  /** -1: none. */
  readonly leader: number;
  readonly what: string;
  readonly why: string;
}

export function summarize(notes: readonly PartitionNote[]): JournalEntry[] {
  const byReason = new Map<string, PartitionNote[]>();
  for (const note of notes) {
    const others = byReason.get(note.why);
    if (others) others.push(note);
    else byReason.set(note.why, [note]);
  }
  return [...byReason].flatMap(([why, all]) =>
    all.length <= maxEntriesPerReason ? all.map(single) : [together(why, all)],
  );
}

function single({ topic, partition, what, why }: PartitionNote): JournalEntry {
  return { who: `${topic}-${partition}`, what, why };
}

function together(why: string, notes: readonly PartitionNote[]): JournalEntry {
  const topics = [...new Set(notes.map(({ topic }) => topic))];
  const [first = ''] = topics;
  const of = topics.length === 1 ? first : `${topics.length} topics`;
  const leaders = new Map<number, number>();
  for (const { leader } of notes) leaders.set(leader, (leaders.get(leader) ?? 0) + 1);
  const led = [...leaders]
    .sort(([a], [b]) => a - b)
    .map(([leader, count]) => `${count} by ${leader < 0 ? 'nobody' : leader}`);
  return { who: `${notes.length} partitions of ${of}`, what: `led: ${led.join(', ')}`, why };
}
