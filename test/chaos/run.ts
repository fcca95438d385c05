/**
 * One chaos run: a cluster, load, faults, healing, verdict. Invariant: whatever happens, the cluster is gone at the end;
 * its directory stays only where an invariant broke, for whoever looks into it.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createClient, type Client } from '@tributary/client';
import { seededRandom } from '@tributary/common';
import { longestWaits } from '@tributary/testkit';
import type { ChaosArguments } from './arguments';
import { ChaosCluster } from './cluster/chaos-cluster';
import { compareReplicaFiles, judge } from './judge';
import { Load, topics } from './load/load';
import { BUCKET_MS, type RunPicture } from './result';
import type { Cut, Scenario, Target } from './scenario';
import { ClusterWatch } from './watch/cluster-watch';
import { FirstAcknowledgements } from './watch/first-acknowledgements';
import { Timeline } from './watch/timeline';

/** Of the load before the first fault, at most. */
const WARM_UP_MAX_MS = 5_000;
const WARM_UP_SHARE = 0.25;
/** What is measured is a cluster that keeps up: no more than so much of a second is unanswered, for so long. */
const STEADY_BACKLOG_SECONDS = 0.25;
const STEADY_FOR_MS = 1_000;
const STEADY_WITHIN_MS = 30_000;
/** All replicas must be back within the session timeout and this, after the last fault. */
const RECOVERY_MARGIN_MS = 10_000;
/** A run waits so much longer, to tell slow from stuck. */
const STUCK_AFTER_MS = 60_000;
const LOG_MAINTENANCE_MS = 1_000;
/** Named in the result. */
const LONGEST_WAITS = 12;

export interface RunOptions extends ChaosArguments {
  readonly target: Target;
  readonly cut: Cut;
}

export async function runOnce(
  scenario: Scenario,
  options: RunOptions,
  print: (line: string) => void,
): Promise<RunPicture> {
  print(`starting ZooKeeper (${options.zookeeperNodes} nodes) and brokers for ${scenario.name}, seed ${options.seed}`); // prettier-ignore
  const cluster = await ChaosCluster.start({
    needs: scenario.needs,
    zookeeperNodes: options.zookeeperNodes,
    sessionTimeoutMs: options.sessionTimeoutMs,
    logMaintenanceMs: LOG_MAINTENANCE_MS,
    ...(options.network ? { network: options.network } : {}),
  });
  let keep = true;
  const onInterrupt = (): void => void cluster.close({ keep: false }).then(() => process.exit(130));
  process.once('SIGINT', onInterrupt);
  process.once('SIGTERM', onInterrupt);
  const run = new Run(scenario, options, cluster, print);
  try {
    const picture = await run.play();
    keep = options.keep || !picture.result.clean;
    return picture;
  } finally {
    await run.close();
    await cluster.close({ keep });
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onInterrupt);
    if (keep) print(`logs and data are kept in ${cluster.directory}`);
  }
}

class Run {
  private readonly violations: string[] = [];
  private readonly client: Client;
  private readonly timeline: Timeline;
  private readonly watch: ClusterWatch;
  private readonly load: Load;
  private readonly firstAcks: FirstAcknowledgements;

  constructor(
    private readonly scenario: Scenario,
    private readonly options: RunOptions,
    private readonly cluster: ChaosCluster,
    print: (line: string) => void,
  ) {
    const { partitions, recordsPerSecond } = options;
    this.timeline = new Timeline(print);
    this.client = createClient({ brokers: cluster.addresses, clientId: 'chaos-watch' });
    this.watch = new ClusterWatch(
      this.client,
      cluster.brokerIds,
      Object.values(topics),
      this.timeline,
    );
    this.firstAcks = new FirstAcknowledgements(this.timeline, this.watch);
    const { addresses: brokers, zookeeper } = cluster;
    this.load = new Load({ brokers, zookeeper, partitions, recordsPerSecond }, (write, at) =>
      this.firstAcks.seen(write, at),
    );
  }

  async play(): Promise<RunPicture> {
    const { timeline, load, watch, options } = this;
    await load.prepare();
    const stalls = monitorEventLoopDelay({ resolution: 5 });
    stalls.enable();
    watch.start();
    load.start();
    timeline.note(`load: ${options.recordsPerSecond} records/s over ${options.partitions} partitions, acks=all, idempotent, RF 3, min ISR 2`); // prettier-ignore
    await this.steady();
    const endsAt = performance.now() + options.seconds * 1000;
    await pause(Math.min(WARM_UP_MAX_MS, options.seconds * 1000 * WARM_UP_SHARE));
    await this.inSync(STUCK_AFTER_MS);
    await this.faults(endsAt);
    const recoveredMs = await this.recovery();
    await pause(Math.max(0, endsAt - performance.now()));
    stalls.disable();
    timeline.note('load ends');
    await load.stop();
    await watch.stop();
    return this.judge(recoveredMs, Math.round(stalls.max / 1e6));
  }

  async close(): Promise<void> {
    await this.load.close();
    await this.client.close();
  }

  /** Starting to write and read very many partitions at once keeps a small machine busy for seconds. */
  private async steady(): Promise<void> {
    const { load, options, timeline } = this;
    const backlog = options.recordsPerSecond * STEADY_BACKLOG_SECONDS;
    const giveUpAt = performance.now() + STEADY_WITHIN_MS;
    let since = performance.now();
    while (performance.now() < since + STEADY_FOR_MS) {
      if (performance.now() > giveUpAt)
        return timeline.note(`the load is not steady after ${STEADY_WITHIN_MS} ms`);
      await pause(20);
      if (load.unanswered > backlog) since = performance.now();
    }
  }

  private async faults(endsAt: number): Promise<void> {
    const { cluster, watch, timeline, client, options, scenario } = this;
    const random = seededRandom(options.seed);
    const { sessionTimeoutMs: sessionMs, target, cut } = options;
    const violation = (text: string): void => this.violate(text);
    const stage = { cluster, watch, timeline, client, random, sessionMs, target, cut, violation, endsAt }; // prettier-ignore
    try {
      await scenario.faults(stage);
    } catch (error) {
      this.violate(`the scenario could not go on: ${String(error)}`);
    }
    await cluster.heal();
  }

  /** Waits until all is well again; how long that took after the last fault was healed. */
  private async recovery(): Promise<number> {
    const { timeline, options } = this;
    const healedAt = timeline.healedMs ?? timeline.nowMs;
    const limit = options.sessionTimeoutMs + RECOVERY_MARGIN_MS;
    if (!(await this.inSync(limit + STUCK_AFTER_MS))) {
      const { outOfSync } = this.watch;
      this.violate(`stuck: ${outOfSync.length} partitions are not back in full ISR ${limit + STUCK_AFTER_MS} ms after the last fault: ${outOfSync.slice(0, 5).join(', ')}`); // prettier-ignore
    }
    const backMs = this.watch.allInSync ? this.watch.inSyncSinceMs : timeline.nowMs;
    const took = Math.max(0, backMs - healedAt);
    if (took > limit) this.violate(`recovery took ${took} ms, more than ${limit} ms`);
    return took;
  }

  private async inSync(withinMs: number): Promise<boolean> {
    const until = performance.now() + withinMs;
    while (!this.watch.allInSync) {
      if (performance.now() > until) return false;
      await pause(20);
    }
    return true;
  }

  private async judge(recoveredMs: number, runnerStallMs: number): Promise<RunPicture> {
    const { load, watch, timeline, scenario, options, cluster, violations } = this;
    const { verdict, more, violations: found } = await judge(this.client, load, watch.changesOf(topics.weak)); // prettier-ignore
    for (const text of found) this.violate(text);
    timeline.note(`read back ${verdict.read} records, ${verdict.acked} had been acknowledged`);
    if (load.errors > 0 && !scenario.errorsAllowed) this.violate(`${load.errors} errors reached the application: ${load.errorTexts[0]}`); // prettier-ignore
    await this.close();
    await cluster.stop();
    for (const problem of compareReplicaFiles(cluster.directory, watch.replicas())) this.violate(problem); // prettier-ignore
    const { examples: _told, ...counts } = verdict;
    const firstFault = timeline.startedAt + (timeline.faults[0]?.fromMs ?? 0);
    const waits = longestWaits(load.main, firstFault);
    const { seed, seconds, partitions, recordsPerSecond, target, cut } = options;
    return {
      result: {
        ...{ scenario: scenario.name, ...(scenario.uses === 'target' ? { target } : {}), ...(scenario.uses === 'cut' ? { from: cut } : {}) }, // prettier-ignore
        ...{ seed, seconds, partitions, recordsPerSecond, network: cluster.networkKind },
        ...{ clean: violations.length === 0, violations },
        ...counts,
        unavailableMs: Math.round(waits[0]?.waitedMs ?? 0),
        longestWaits: waits.slice(0, LONGEST_WAITS).map(({ partition, sentAt, waitedMs }) => ({
          ...{ partition, atMs: Math.round(sentAt - timeline.startedAt), ms: Math.round(waitedMs) },
        })),
        ...{ recoveredMs, errors: load.errors, errorTexts: load.errorTexts },
        ...{ elections: watch.elections, runnerStallMs, more, timeline: timeline.events },
      },
      faults: timeline.faults,
      acknowledged: this.acknowledged(),
      bands: watch.bands,
    };
  }

  private acknowledged(): number[] {
    const buckets: number[] = [];
    for (const { result } of this.load.main.writes) {
      if (result.fate !== 'acknowledged') continue;
      const bucket = Math.floor((result.at - this.timeline.startedAt) / BUCKET_MS);
      buckets[bucket] = (buckets[bucket] ?? 0) + 1;
    }
    return Array.from(buckets, (count) => count ?? 0);
  }

  private violate(text: string): void {
    this.violations.push(text);
    this.timeline.note(`VIOLATION: ${text}`);
  }
}
