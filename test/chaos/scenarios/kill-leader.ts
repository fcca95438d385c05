/** A broker dies without a word and comes back after a while: a leader, the controller, or one that is both. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario, Stage, Target } from '../scenario';
import { chooseVictim, leaderOf } from './victims';

const DOWN_MS = 3_000;

export const killLeader: Scenario = {
  name: 'kill-leader',
  summary: 'kill -9 one broker, start it again after 3 s (--target leader, controller or both)',
  needs: [],
  uses: 'target',
  roundSeconds: () => 8,
  errorsAllowed: false,
  faults: (stage) => killOne(stage, stage.target),
};

export const killController: Scenario = {
  name: 'kill-controller',
  summary: 'the same to the controller',
  needs: [],
  roundSeconds: () => 8,
  errorsAllowed: false,
  faults: (stage) => killOne(stage, 'controller'),
};

async function killOne(stage: Stage, target: Target): Promise<void> {
  const { cluster, timeline } = stage;
  const victim = await chooseVictim(stage, target);
  const healed = timeline.fault(`kill -9 broker ${victim} (${target}), ${leaderOf(stage, victim)}`);
  await cluster.kill(victim);
  await pause(DOWN_MS);
  healed(`starting broker ${victim} again`);
  await cluster.startBroker(victim);
}
