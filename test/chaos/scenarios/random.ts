/** Any of the others, one after the other, as the seed says. Each heals what it did before the next one begins. */
import { setTimeout as pause } from 'node:timers/promises';
import { randomInteger, type Random } from '@tributary/common';
import { cuts, targets, type Scenario, type Stage } from '../scenario';

const PAUSE_MAX_MS = 2_000;
const IN_SYNC_WITHIN_MS = 30_000;
/** Every other time the next fault waits until all replicas are back; else it meets them on their way. */
const WAIT_SHARE = 0.5;

export function randomScenario(others: readonly Scenario[]): Scenario {
  return {
    name: 'random',
    summary: 'all of the above, chosen by --seed, as many as fit',
    needs: [...new Set(others.flatMap(({ needs }) => needs))],
    roundSeconds: (session) => 2 * Math.max(...others.map((one) => one.roundSeconds(session))),
    errorsAllowed: true,
    async faults(stage) {
      for (;;) {
        const leftSeconds = (stage.endsAt - performance.now()) / 1000;
        const session = stage.sessionMs / 1000;
        const fitting = others.filter((one) => one.roundSeconds(session) < leftSeconds);
        if (fitting.length === 0) return;
        await round(choose(stage.random, fitting), stage);
      }
    },
  };
}

async function round(scenario: Scenario, stage: Stage): Promise<void> {
  const { random, cluster, timeline, watch } = stage;
  const [target, cut] = [choose(random, targets), choose(random, cuts)];
  const wait = random.next() < WAIT_SHARE;
  const rest = randomInteger(random, PAUSE_MAX_MS);
  timeline.note(`next: ${scenario.name}`);
  try {
    await scenario.faults({ ...stage, target, cut });
  } catch (error) {
    // For example: the controller leads nothing, so nobody is "both". Others will do.
    timeline.note(`${scenario.name} could not go on: ${String(error)}`);
  }
  await cluster.heal();
  await pause(rest);
  const until = performance.now() + IN_SYNC_WITHIN_MS;
  while (wait && !watch.allInSync && performance.now() < until) await pause(20);
}

function choose<T>(random: Random, from: readonly T[]): T {
  return from[randomInteger(random, from.length)]!;
}
