/**
 * `trib cluster wait`: until every partition has a leader and all its replicas are in sync; the step between two restarts.
 * A look that fails (brokers restart) is made again until the time is up.
 */
import type { Client, ClusterDescription } from '@tributary/client';
import { Deadline, systemClock, TributaryError } from '@tributary/common';
import type { Command } from 'commander';
import { renderJson } from '../output/render';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { runCommand } from './run-command';
import { waitUntilDone, type Progress } from './wait-until';

/** One look; the next one may find a broker that answers. */
const LOOK_MS = 5_000;

export function registerClusterWaitCommand(cluster: Command): void {
  const about = 'until no partition is offline or under-replicated; fails when that is not so after --timeout';
  withConnection(cluster.command('wait').description(about)).action(runCommand(clusterWait));
} // prettier-ignore

async function clusterWait(
  _args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  const timeoutMs = timeoutMsOf(options);
  const deadline = Deadline.after(systemClock, timeoutMs);
  await withClient(options, command, async (client) => {
    const info = await waitUntilWell(client, deadline, timeoutMs);
    if (outputFormat(options) === 'json') process.stdout.write(renderJson(info));
  });
}

async function waitUntilWell(
  client: Client,
  deadline: Deadline,
  timeoutMs: number,
): Promise<ClusterDescription | undefined> {
  let info: ClusterDescription | undefined;
  await waitUntilDone(async () => {
    let progress: Progress;
    try {
      const lookMs = Math.max(1, Math.min(LOOK_MS, deadline.remainingMs));
      info = await client.admin().describeCluster({ timeoutMs: lookMs });
      progress = clusterProgress(info);
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      if (!error.retriable || deadline.remainingMs <= 0) throw error;
      progress = { done: false, lines: [`no broker answers: ${error.message}`] };
    }
    if (!progress.done && deadline.remainingMs <= 0) {
      throw new TributaryError('TIMEOUT', `after ${timeoutMs} ms ${progress.lines.join('; ')}`, {
        hint: 'See trib broker list and trib topic describe; wait longer with --timeout.',
      });
    }
    return progress;
  });
  return info;
}

/** Pure. */
export function clusterProgress(info: ClusterDescription): Progress {
  const { controllerId, partitions, offlinePartitions, underReplicatedPartitions } = info;
  if (controllerId === undefined) return { done: false, lines: ['there is no controller'] };
  if (offlinePartitions + underReplicatedPartitions === 0) {
    return { done: true, lines: [`all ${partitions} partitions are in sync`] };
  }
  const counts = `${offlinePartitions} offline, ${underReplicatedPartitions} under-replicated`;
  return { done: false, lines: [`${partitions} partitions: ${counts}`] };
}
