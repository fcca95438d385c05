/**
 * The verdict on one run: the checkers over the histories of all topics, look-ups by time, and the files of all
 * replicas side by side. Called by the runner when all faults are healed and the load has ended.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Client } from '@tributary/client';
import {
  checkCompaction,
  checkHistory,
  checkTimeLookups,
  checkWeakWrites,
  verdictFaults,
  type LeaderChange,
  type TimeLookup,
  type Verdict,
} from '@tributary/testkit';
import { topics, type Load } from './load/load';
import { readAll } from './workload';

/** `zombie.grace.ms` of the brokers, and a look of the isolation monitor. */
const ZOMBIE_MS = 11_000;
/** Times asked for, per partition. */
const LOOKUPS = 5;
/** Partitions that are asked, and compared. */
const MAX_PARTITIONS = 50;

export interface Judgement {
  readonly verdict: Verdict;
  /** C9 to C11, by what they count; those that must be 0 are among `faults`. */
  readonly more: {
    readonly weakAcked: number;
    readonly weakLost: number;
    readonly weakLostInHealth: number;
    readonly compactedKeys: number;
    readonly compactedLost: number;
    readonly compactedMisplaced: number;
    readonly timeLookups: number;
    readonly timeLookupsWrong: number;
  };
  /** One line for each invariant that broke, and examples. */
  readonly violations: readonly string[];
}

/** Reads everything and judges it. The cluster is whole and nobody writes. */
export async function judge(
  client: Client,
  load: Load,
  weakChanges: readonly LeaderChange[],
): Promise<Judgement> {
  await readAll(client, load.main, topics.main);
  await readAll(client, load.weak, topics.weak);
  await readAll(client, load.compacted, topics.compacted);
  const verdict = checkHistory(load.main);
  const weak = checkWeakWrites(load.weak, weakChanges, ZOMBIE_MS);
  const compaction = checkCompaction(load.compacted);
  const times = checkTimeLookups(load.main.finalReads, await lookUp(client, load));
  const violations = [
    ...verdictFaults.filter((fault) => verdict[fault] > 0).map((fault) => `${fault}: ${verdict[fault]}`), // prettier-ignore
    ...verdict.examples,
    ...weak.examples,
    ...compaction.examples,
    ...times.examples,
  ];
  if (verdict.acked === 0) violations.push('nothing was acknowledged');
  return {
    verdict,
    more: {
      weakAcked: weak.acked,
      weakLost: weak.lost,
      weakLostInHealth: weak.lostInHealth,
      compactedKeys: compaction.keys,
      compactedLost: compaction.lostKeys,
      compactedMisplaced: compaction.misplaced,
      timeLookups: times.lookups,
      timeLookupsWrong: times.wrong,
    },
    violations,
  };
}

async function lookUp(client: Client, load: Load): Promise<TimeLookup[]> {
  const lookups: TimeLookup[] = [];
  const times = load.main.finalReads.map(({ timestamp = 0 }) => timestamp);
  const first = times.reduce((least, time) => Math.min(least, time), Infinity);
  const last = times.reduce((most, time) => Math.max(most, time), 0);
  for (let step = 0; step < LOOKUPS; step += 1) {
    // The last one lies beyond the end.
    const timestamp = Math.round(first + ((last + 1 - first) * step) / (LOOKUPS - 1));
    const answers = await client
      .admin()
      .listOffsets(topics.main, { timestamp }, { timeoutMs: 30_000 });
    for (const { partition, offset } of answers.slice(0, MAX_PARTITIONS)) {
      lookups.push({ partition, timestamp, offset: offset === undefined ? undefined : Number(offset) }); // prettier-ignore
    }
  }
  return lookups;
}

/**
 * After an orderly stop: the logs of all replicas are the same, byte for byte. Answers where they are not.
 * @param assignments by partition, the brokers that have it
 */
export function compareReplicaFiles(
  directory: string,
  assignments: ReadonlyMap<number, readonly number[]>,
): string[] {
  const problems: string[] = [];
  for (const [partition, brokers] of [...assignments].slice(0, MAX_PARTITIONS)) {
    const logs = brokers.map((id) =>
      join(directory, `broker-${id}`, `${topics.main}-${partition}`),
    );
    const [expected, ...others] = logs.map(logBytes);
    others.forEach((found, index) => {
      if (found.equals(expected!)) return;
      problems.push(`replicas of partition ${partition} differ: ${expected!.length} bytes in ${logs[0]}, ${found.length} in ${logs[index + 1]}`); // prettier-ignore
    });
  }
  return problems;
}

function logBytes(partition: string): Buffer {
  const segments = readdirSync(partition).filter((name) => name.endsWith('.log'));
  return Buffer.concat(segments.sort().map((name) => readFileSync(join(partition, name))));
}
