/** What one seed plays: the cluster, its topics and its load, all drawn from the seed. Called by SeedRun. */
import type { DataLimits } from '@tributary/broker';
import { randomInteger, seededRandom, type FlushMode, type Random } from '@tributary/common';

export interface PlannedTopic {
  readonly topic: string;
  readonly partitions: number;
  readonly replicationFactor: number;
  readonly flush: FlushMode;
  readonly minIsr: number;
  /** Compacted, with so many keys; 0: not compacted, no keys. */
  readonly keys: number;
  readonly segmentBytes: number;
}

export interface SeedPlan {
  readonly seed: number;
  readonly brokers: number;
  readonly topics: readonly PlannedTopic[];
  /** Every topic has flush=sync: all machines may lose their power at once. */
  readonly allSync: boolean;
  /**
   * Bits flip on disks. Then no topic has min ISR 1: a single replica would have what no other has, and a flipped bit would
   * take it away for good.
   */
  readonly rots: boolean;
  /** A topic of this name comes and goes. */
  readonly churns: boolean;
  readonly sessionTimeoutMs: number;
  /** Of the brokers; small ones, so that pushes come in pieces, and a replica is soon far behind. */
  readonly dataLimits: Partial<DataLimits>;
  /** Of a datasync at most; undefined: no time. */
  readonly syncMs: number | undefined;
  readonly maxDelayMs: number;
  /** Of the load, before everything is healed. */
  readonly loadMs: number;
  readonly writeIntervalMs: number;
  /** Between two faults, on average. */
  readonly faultIntervalMs: number;
}

export const CHURN_TOPIC = 'comes-and-goes';

export function planOf(seed: number): SeedPlan {
  // Apart from the run's own numbers, so that a change of the plan does not shift those.
  const random = seededRandom(seed * 7919 + 13);
  const brokers = pick(random, [3, 3, 3, 4, 4, 5]);
  const allSync = random.next() < 0.35;
  const rots = random.next() < 0.6;
  const draw = { allSync, rots };
  const topics = ['orders', 'bills'].map((topic, at) => plannedTopic(random, topic, at, draw));
  if (random.next() < 0.7) topics.push(compactedTopic(random, draw));
  const usesSync = topics.some(({ flush }) => flush === 'sync');
  return {
    seed,
    brokers,
    topics,
    allSync,
    rots,
    churns: random.next() < 0.5,
    sessionTimeoutMs: between(random, 2_500, 6_000),
    dataLimits: dataLimitsOf(random),
    syncMs: usesSync ? between(random, 2, 80) : undefined,
    maxDelayMs: 1 + random.next() * random.next() * 20,
    loadMs: between(random, 5_000, 10_000),
    writeIntervalMs: random.next() < 0.6 ? between(random, 25, 60) : between(random, 80, 250),
    faultIntervalMs: between(random, 150, 700),
  };
}

function dataLimitsOf(random: Random): Partial<DataLimits> {
  const replicaLagTimeMaxMs = between(random, 1_500, 5_000);
  const small = {
    maxPushBytes: between(random, 200, 2_000),
    attachCreditBytes: between(random, 300, 4_000),
    // A follower is moved to the catch-up stream, and back, within what a run writes.
    catchUpFromBytes: between(random, 1_500, 10_000),
    catchUpUntilBytes: between(random, 300, 1_500),
    catchUpPushBytes: between(random, 200, 2_000),
    catchUpCreditBytes: between(random, 300, 4_000),
  };
  return random.next() < 0.6 ? { replicaLagTimeMaxMs, ...small } : { replicaLagTimeMaxMs };
}

function compactedTopic(random: Random, draw: Pick<SeedPlan, 'allSync' | 'rots'>): PlannedTopic {
  const topic = plannedTopic(random, 'prices', 2, draw);
  return { ...topic, keys: between(random, 3, 8), segmentBytes: pick(random, [1024, 2048]) };
}

function plannedTopic(
  random: Random,
  topic: string,
  at: number,
  { allSync, rots }: Pick<SeedPlan, 'allSync' | 'rots'>,
): PlannedTopic {
  const flush = allSync || random.next() < 0.3 ? 'sync' : 'os';
  const replicationFactor = at === 0 || random.next() < 0.7 ? 3 : 2;
  // One replica's page cache alone is no promise.
  const minIsr = flush === 'sync' && !rots && random.next() < 0.5 ? 1 : 2;
  const partitions = 1 + randomInteger(random, 2);
  // A full segment goes to the device: where they are small, the power takes little, and much can rot.
  const segmentBytes = pick(random, rots ? [2048, 4096, 8192] : [8192, 65_536]);
  return { topic, partitions, replicationFactor, flush, minIsr, keys: 0, segmentBytes };
}

export function between(random: Random, least: number, most: number): number {
  return least + Math.floor(random.next() * (most - least + 1));
}

export function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[randomInteger(random, choices.length)]!;
}
