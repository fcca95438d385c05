/** ZooKeeper loses its leader, or its majority for longer than a session. No broker may lose anything by that. */
import { setTimeout as pause } from 'node:timers/promises';
import { TributaryError } from '@tributary/common';
import type { Scenario, Stage } from '../scenario';

const LEADER_DOWN_MS = 4_000;
const BEYOND_SESSION_MS = 3_000;

export const zookeeperLeaderKill: Scenario = {
  name: 'zookeeper-leader-kill',
  summary: 'kill -9 the leader of the ZooKeeper ensemble, start it again after 4 s',
  needs: [],
  roundSeconds: () => 8,
  errorsAllowed: false,
  async faults(stage) {
    const leader = await leaderOf(stage);
    await killNodes(stage, [leader], LEADER_DOWN_MS);
  },
};

export const zookeeperQuorumLoss: Scenario = {
  name: 'zookeeper-quorum-loss',
  summary: 'kill -9 the ZooKeeper leader and one more for longer than a session: no majority',
  needs: [],
  roundSeconds: (session) => session + 8,
  errorsAllowed: true,
  async faults(stage) {
    const leader = await leaderOf(stage);
    const other = stage.cluster.zookeeperNodes().find(({ id }) => id !== leader);
    const nodes = other ? [leader, other.id] : [leader];
    await killNodes(stage, nodes, stage.sessionMs + BEYOND_SESSION_MS);
  },
};

async function leaderOf({ cluster }: Stage): Promise<number> {
  const leader = await cluster.zookeeperLeader();
  if (leader !== undefined) return leader;
  throw new TributaryError('UNAVAILABLE', 'ZooKeeper has no leader now');
}

async function killNodes(
  { cluster, timeline }: Stage,
  nodes: readonly number[],
  downMs: number,
): Promise<void> {
  const names = `ZooKeeper node${nodes.length > 1 ? 's' : ''} ${nodes.join(' and ')}`;
  const healed = timeline.fault(`kill -9 ${names}`);
  await Promise.all(nodes.map((id) => cluster.killZooKeeper(id)));
  await pause(downMs);
  await Promise.all(nodes.map((id) => cluster.startZooKeeper(id)));
  healed(`${names} serve${nodes.length > 1 ? '' : 's'} again`);
}
