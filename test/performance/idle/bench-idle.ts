/**
 * What a cluster costs that nobody uses: three brokers and a ZooKeeper as processes, no client; processor time per broker,
 * and every node of the coordinator that was written meanwhile (session heartbeats write none). Needs /proc (Linux).
 * Called by the bench.
 */
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient } from '@tributary/client';
import { DevCluster } from '@tributary/testkit';
import type { IdleArguments } from '../arguments';
import type { ScratchDirectory } from '../scratch-directory';
import { treeVersions, writtenBetween } from './tree-versions';

const WANTED_PERCENT = 2;
/** What the start left to do is over by then: checkpoints, snapshots, first collections of garbage. */
const SETTLE_MS = 10_000;
/** Of `/proc/PID/stat`; the same on every Linux that Node runs on. */
const TICKS_PER_SECOND = 100;
const IN_SYNC_WITHIN_MS = 120_000;

export interface IdleOutcome {
  readonly partitions: number;
  /** Of one core, the largest of the brokers. */
  readonly percentOfCore: number;
  readonly writtenNodes: readonly string[];
}

export interface IdleReport {
  readonly table: string;
  readonly summary: {
    readonly suite: 'idle';
    readonly seconds: number;
    readonly outcomes: readonly IdleOutcome[];
  };
}

export async function benchIdle(
  scratch: ScratchDirectory,
  options: IdleArguments,
  print: (line: string) => void,
): Promise<IdleReport> {
  const outcomes: IdleOutcome[] = [];
  for (const partitions of options.partitions) {
    print(`${partitions} partitions, nobody uses them for ${options.seconds} s`);
    const directory = scratch.make(`idle-${partitions}`);
    outcomes.push(await watchIdle(directory, partitions, options.seconds));
  }
  const { seconds } = options;
  return { table: tableOf(outcomes, seconds), summary: { suite: 'idle', seconds, outcomes } };
}

async function watchIdle(
  directory: string,
  partitions: number,
  seconds: number,
): Promise<IdleOutcome> {
  const cluster = await DevCluster.start({ brokers: 3, zookeeperNodes: 1, directory });
  try {
    if (partitions > 0) await makeTopic(cluster, partitions);
    await pause(SETTLE_MS);
    const versions = await treeVersions(cluster.zookeeper ?? '');
    const before = cluster.brokers.map(({ pid }) => cpuSeconds(pid));
    const startedAt = performance.now();
    await pause(seconds * 1000);
    const tookSeconds = (performance.now() - startedAt) / 1000;
    const used = cluster.brokers.map(({ pid }, index) => cpuSeconds(pid) - (before[index] ?? 0));
    const writtenNodes = writtenBetween(versions, await treeVersions(cluster.zookeeper ?? ''));
    const percentOfCore = (Math.max(...used) / tookSeconds) * 100;
    return { partitions, percentOfCore: Math.round(percentOfCore * 100) / 100, writtenNodes };
  } finally {
    await cluster.stop();
  }
}

async function makeTopic(cluster: DevCluster, partitions: number): Promise<void> {
  const client = createClient({ brokers: cluster.addresses, clientId: 'bench-idle' });
  try {
    const topic = { topic: 'idle', partitions, replicationFactor: 3 };
    await client.admin().createTopic(topic, { timeoutMs: IN_SYNC_WITHIN_MS });
  } finally {
    await client.close();
  }
}

/** Processor time of user and system. */
function cpuSeconds(pid: number | undefined): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  // Behind the name, which may hold anything but ends with the last bracket: state is field 3, utime 14, stime 15.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

function tableOf(outcomes: readonly IdleOutcome[], seconds: number): string {
  const rows = outcomes.map(({ partitions, percentOfCore, writtenNodes }) => {
    const cpu = `${percentOfCore.toFixed(2)} % of a core per broker`;
    const written = writtenNodes.length === 0 ? 'nothing' : writtenNodes.join(' ');
    return `  ${String(partitions).padStart(5)} partitions: ${cpu}, written to ZooKeeper: ${written}`;
  });
  const wanted = `under ${WANTED_PERCENT} %, and nothing written but session heartbeats`;
  return `idle for ${seconds} s (wanted without data: ${wanted})\n${rows.join('\n')}\n`;
}
