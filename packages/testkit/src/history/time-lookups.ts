/**
 * C11: asked for a time, a partition names the first record whose timestamp is at or after it. Pure; called by
 * chaos runs once everything was read.
 */
import type { ReadRecord } from './history';
import { Examples } from './notes';

export interface TimeLookup {
  readonly partition: number;
  readonly timestamp: number;
  /** undefined: there is none, they said. */
  readonly offset: number | undefined;
}

export interface TimeVerdict {
  readonly lookups: number;
  readonly wrong: number;
  readonly examples: readonly string[];
}

/** @param reads everything, per partition in order of offset. */
export function checkTimeLookups(
  reads: readonly ReadRecord[],
  lookups: readonly TimeLookup[],
): TimeVerdict {
  const examples = new Examples();
  const byPartition = new Map<number, ReadRecord[]>();
  for (const read of reads) {
    const of = byPartition.get(read.partition);
    if (of) of.push(read);
    else byPartition.set(read.partition, [read]);
  }
  let wrong = 0;
  for (const { partition, timestamp, offset } of lookups) {
    const first = byPartition
      .get(partition)
      ?.find((read) => read.timestamp !== undefined && read.timestamp >= timestamp);
    if (first?.offset === offset) continue;
    wrong += 1;
    examples.note(
      `time ${timestamp} of partition ${partition} is at @${first?.offset}, they said @${offset}`,
    );
  }
  return { lookups: lookups.length, wrong, examples: examples.texts };
}
