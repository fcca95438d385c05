/**
 * The scenario `kill-leader`: real brokers and a real ZooKeeper under a steady idempotent load; one broker is
 * killed with SIGKILL in the middle and started again; then every record is read back and judged.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { TributaryError } from '@tributary/common';
import { createClient, type Client } from '@tributary/client';
import {
  checkHistory,
  DevCluster,
  History,
  isClean,
  longestGapMs,
  type Verdict,
} from '@tributary/testkit';
import type { ChaosArguments, Target } from './arguments';
import { Timeline, type TimelineEvent } from './timeline';
import { readAll, Workload } from './workload';

const TOPIC = 'chaos';
const KILL_AT_SHARE = 0.35;
const RESTART_AFTER_MS = 3_000;
const BACK_IN_SYNC_WITHIN_MS = 60_000;

export interface KillLeaderResult {
  readonly verdict: Verdict;
  readonly unavailableMs: number;
  readonly elections: number;
  readonly timeline: readonly TimelineEvent[];
  readonly clean: boolean;
}

export async function killLeader(
  options: ChaosArguments,
  print: (line: string) => void,
): Promise<KillLeaderResult> {
  print(`starting ZooKeeper (${options.zookeeperNodes} node) and three brokers`);
  const cluster = await DevCluster.start({ brokers: 3, zookeeperNodes: options.zookeeperNodes });
  const client = createClient({ brokers: cluster.addresses, clientId: 'chaos' });
  try {
    return await run(cluster, client, options, print);
  } finally {
    await client.close();
    await cluster.stop();
  }
}

async function run(
  cluster: DevCluster,
  client: Client,
  options: ChaosArguments,
  print: (line: string) => void,
): Promise<KillLeaderResult> {
  await client.admin().createTopic(
    {
      topic: TOPIC,
      partitions: options.partitions,
      replicationFactor: 3,
      configs: { 'min.insync.replicas': '2' },
    },
    { timeoutMs: 30_000 },
  );
  const history = new History();
  const timeline = new Timeline(client, TOPIC, print);
  const firstAck = new FirstAckWatch(timeline);
  const workload = new Workload(client, history, { topic: TOPIC, partitions: options.partitions, recordsPerSecond: options.recordsPerSecond, recordBytes: 100 }, (write, at) => firstAck.seen(write.partition, write.sentAt, at)); // prettier-ignore
  timeline.start();
  workload.start();
  timeline.note(`load: ${options.recordsPerSecond} records/s over ${options.partitions} partitions, acks=all, idempotent, RF 3, min ISR 2`); // prettier-ignore

  const durationMs = options.seconds * 1000;
  await pause(durationMs * KILL_AT_SHARE);
  const victim = await chooseVictim(client, options.target);
  firstAck.watch(timeline.ledBy(victim));
  timeline.note(`kill -9 broker ${victim} (${options.target}), leader of partitions ${timeline.ledBy(victim).join(' ')}`); // prettier-ignore
  await cluster.kill(victim);
  await pause(RESTART_AFTER_MS);
  timeline.note(`starting broker ${victim} again`);
  await cluster.startBroker(victim);
  await pause(durationMs * (1 - KILL_AT_SHARE) - RESTART_AFTER_MS);
  await inSync(timeline);
  timeline.note('load ends');
  await workload.stop();
  await timeline.stop();

  await readAll(client, history, TOPIC);
  const verdict = checkHistory(history);
  timeline.note(`read back ${verdict.read} records, ${verdict.acked} had been acknowledged`);
  for (const example of verdict.examples) print(`  ${example}`);
  return {
    verdict,
    unavailableMs: longestGapMs(history),
    elections: timeline.elections,
    timeline: timeline.events,
    clean: isClean(verdict) && verdict.acked > 0,
  };
}

/** The broker to kill: a leader that is not the controller, the controller, or one that is both. */
async function chooseVictim(client: Client, target: Target): Promise<number> {
  const cluster = await client.admin().describeCluster({ timeoutMs: 10_000 });
  const candidates = cluster.brokers
    .filter(({ brokerId, leaders }) =>
      target === 'leader'
        ? brokerId !== cluster.controllerId && leaders > 0
        : brokerId === cluster.controllerId,
    )
    .sort((a, b) => b.leaders - a.leaders);
  const victim = candidates[0];
  if (!victim || (target === 'both' && victim.leaders === 0)) {
    throw new TributaryError('INVALID_ARGUMENT', `no broker is a ${target} now`);
  }
  return victim.brokerId;
}

async function inSync(timeline: Timeline): Promise<void> {
  const until = performance.now() + BACK_IN_SYNC_WITHIN_MS;
  while (!timeline.allInSync) {
    if (performance.now() > until) {
      throw new TributaryError(
        'TIMEOUT',
        `not all replicas were back in the ISR within ${BACK_IN_SYNC_WITHIN_MS} ms`,
      );
    }
    await pause(50);
  }
}

/** Notes the first acknowledged write of each wounded partition that was sent after the kill. */
class FirstAckWatch {
  private readonly waiting = new Set<number>();
  private killedAt = Infinity;

  constructor(private readonly timeline: Timeline) {}

  watch(partitions: readonly number[]): void {
    for (const partition of partitions) this.waiting.add(partition);
    this.killedAt = performance.now();
  }

  seen(partition: number, sentAt: number, at: number): void {
    if (sentAt < this.killedAt || !this.waiting.delete(partition)) return;
    const first = `first acknowledged write of partition ${partition} after the kill, ${Math.round(at - this.killedAt)} ms`;
    this.timeline.note(
      this.waiting.size === 0 ? `${first}; all partitions take writes again` : first,
    );
  }
}
