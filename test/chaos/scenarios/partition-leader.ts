/** A leader's packets vanish, without a reset, on the way to its peers, to ZooKeeper or to both. Clients reach all. */
import { setTimeout as pause } from 'node:timers/promises';
import { between, type Link } from '../cluster/network';
import type { Cut, Scenario, Stage } from '../scenario';
import { chooseVictim, leaderOf } from './victims';

const BEYOND_SESSION_MS = 3_000;

export const partitionLeader: Scenario = {
  name: 'partition-leader',
  summary:
    'cut a leader off (--from peers, zookeeper, both, or one-way: what it sends to its peers)',
  needs: ['network'],
  uses: 'cut',
  roundSeconds: (session) => session + 8,
  errorsAllowed: true,
  async faults(stage) {
    const { cluster, timeline, target, cut, sessionMs } = stage;
    const victim = await chooseVictim(stage, target);
    const healed = timeline.fault(
      `cut broker ${victim} (${target}) off from ${cut}, ${leaderOf(stage, victim)}`,
    );
    await cluster.cut(linksOf(stage, victim, cut));
    await pause(sessionMs + BEYOND_SESSION_MS);
    await cluster.healNetwork();
    healed('the network is whole again');
  },
};

function linksOf({ cluster }: Stage, victim: number, cut: Cut): Link[] {
  const peers = cluster.peersOf(victim);
  const zookeeper = between(victim, 'zookeeper');
  if (cut === 'peers') return peers;
  if (cut === 'zookeeper') return zookeeper;
  if (cut === 'both') return [...peers, ...zookeeper];
  return peers.filter(({ from }) => from === victim);
}
