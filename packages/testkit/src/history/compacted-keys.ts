/**
 * C10: of a compacted topic, read from its start after compaction ran: the last value of each key survives, and what
 * survives kept its offset. Keys are bound to partitions. Pure; called by chaos runs.
 */
import type { History, WriteAttempt } from './history';
import { Examples, place } from './notes';

export interface CompactionVerdict {
  readonly keys: number;
  /** Keys whose last acknowledged value is gone and no later one is there. */
  readonly lostKeys: number;
  /** Records that stand at another offset than acknowledged, out of order, or were never written. */
  readonly misplaced: number;
  readonly examples: readonly string[];
}

export function checkCompaction(history: History): CompactionVerdict {
  const examples = new Examples();
  const byId = new Map(history.writes.map((write) => [`${write.partition}:${write.id}`, write]));
  const lastRead = new Map<string, { readonly offset: number; readonly id: number }>();
  const lastOffset = new Map<number, number>();
  let misplaced = 0;
  for (const read of history.finalReads) {
    const write = byId.get(`${read.partition}:${read.id}`);
    const inOrder = read.offset > (lastOffset.get(read.partition) ?? -1);
    lastOffset.set(read.partition, read.offset);
    if (!write || write.key !== read.key || !mayStandAt(write, read.offset) || !inOrder) {
      misplaced += 1;
      examples.note(`misplaced: id ${read.id} of key ${read.key} at ${place(read)}`);
    }
    if (read.key !== undefined) lastRead.set(read.key, read);
  }
  const lastAcked = lastAcknowledged(history.writes);
  let lostKeys = 0;
  for (const [key, { id, offset }] of lastAcked) {
    const read = lastRead.get(key);
    if (read && (read.offset > offset || (read.offset === offset && read.id === id))) continue;
    lostKeys += 1;
    examples.note(`key ${key}: id ${id} acknowledged at @${offset}, last read ${read ? `id ${read.id} at @${read.offset}` : 'nothing'}`); // prettier-ignore
  }
  return { keys: lastAcked.size, lostKeys, misplaced, examples: examples.texts };
}

function mayStandAt({ result }: WriteAttempt, offset: number): boolean {
  return result.fate === 'acknowledged' ? result.offset === offset : result.fate !== 'not written';
}

function lastAcknowledged(
  writes: readonly WriteAttempt[],
): Map<string, { readonly offset: number; readonly id: number }> {
  const last = new Map<string, { offset: number; id: number }>();
  for (const { key, id, result } of writes) {
    if (key === undefined || result.fate !== 'acknowledged') continue;
    const { offset } = result;
    if (offset > (last.get(key)?.offset ?? -1)) last.set(key, { offset, id });
  }
  return last;
}
