/** `trib cluster info`, and what cluster-wait and cluster-journal add. */
import type { Command } from 'commander';
import { renderJson, renderTable } from '../output/render';
import { registerJournalCommand } from './cluster-journal';
import { registerClusterWaitCommand } from './cluster-wait';
import {
  outputFormat,
  timeoutMsOf,
  withClient,
  withConnection,
  type ConnectionOptions,
} from './connection';
import { runCommand } from './run-command';

export function registerClusterCommands(program: Command): void {
  const cluster = program.command('cluster').description('the cluster as a whole');
  withConnection(
    cluster.command('info').description('brokers, controller, health of the partitions'),
  ).action(runCommand(clusterInfo));
  registerClusterWaitCommand(cluster);
  registerJournalCommand(cluster);
}

async function clusterInfo(
  _args: readonly string[],
  options: ConnectionOptions,
  command: Command,
): Promise<void> {
  await withClient(options, command, async (client) => {
    const info = await client.admin().describeCluster({ timeoutMs: timeoutMsOf(options) });
    if (outputFormat(options) === 'json') {
      process.stdout.write(renderJson(info));
      return;
    }
    const { offlinePartitions, underMinIsrPartitions, underReplicatedPartitions } = info;
    const outages = info.offlineReplicas > 0 ? `, ${info.offlineReplicas} replicas offline` : '';
    process.stdout.write(
      `cluster ${info.clusterId}  controller ${info.controllerId ?? 'none'} (epoch ${info.controllerEpoch})\n` +
        `${info.topics} topics, ${info.partitions} partitions: ${offlinePartitions} offline, ` +
        `${underMinIsrPartitions} below min ISR, ${underReplicatedPartitions} under-replicated${outages}\n`,
    );
    const rows = info.brokers.map((broker) => ({
      broker: broker.brokerId,
      address: `${broker.host}:${broker.port}`,
      rack: broker.rack || null,
      eligible: broker.eligible,
      leaders: broker.leaders,
      replicas: broker.replicas,
    }));
    process.stdout.write(
      renderTable(['broker', 'address', 'rack', 'eligible', 'leaders', 'replicas'], rows),
    );
  });
}
