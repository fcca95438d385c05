/**
 * C9: writes with acks 0 or 1 may be lost, but only where a leader changed after they were sent, or shortly before: an
 * old leader that is cut off goes on taking them until `zombie.grace.ms` is over. Never while all is well. Pure;
 * called by chaos runs for the topic that such a writer has for itself.
 */
import type { History, LeaderChange } from './history';
import { Examples, place } from './notes';

export interface WeakVerdict {
  readonly acked: number;
  /** Gone with a leader, as acks=1 allows. */
  readonly lost: number;
  /** Gone though their partition kept its leader. */
  readonly lostInHealth: number;
  readonly examples: readonly string[];
}

/** @param zombieMs how long after a change the old leader may still answer */
export function checkWeakWrites(
  history: History,
  changes: readonly LeaderChange[],
  zombieMs: number,
): WeakVerdict {
  const examples = new Examples();
  const found = new Map(history.finalReads.map((read) => [place(read), read.id]));
  const lastChange = new Map<number, number>();
  for (const { partition, at } of changes) {
    lastChange.set(partition, Math.max(at, lastChange.get(partition) ?? -Infinity));
  }
  const verdict = { acked: 0, lost: 0, lostInHealth: 0 };
  for (const { partition, id, sentAt, result } of history.writes) {
    if (result.fate !== 'acknowledged') continue;
    verdict.acked += 1;
    const { offset } = result;
    if (found.get(place({ partition, offset })) === id) continue;
    if ((lastChange.get(partition) ?? -Infinity) + zombieMs >= sentAt) verdict.lost += 1;
    else {
      verdict.lostInHealth += 1;
      examples.note(
        `lost without a change of leader: id ${id} at ${place({ partition, offset })}, acks=1`,
      );
    }
  }
  return { ...verdict, examples: examples.texts };
}
