/** A broker stands still for longer than its session, then goes on, believing that it still leads. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario } from '../scenario';
import { chooseVictim, leaderOf } from './victims';

const BEYOND_SESSION_MS = 2_000;

export const pauseLeader: Scenario = {
  name: 'pause-leader',
  summary:
    'SIGSTOP a broker until its session has ended, then SIGCONT (--target as for kill-leader)',
  needs: [],
  uses: 'target',
  roundSeconds: (session) => session + 6,
  errorsAllowed: false,
  async faults(stage) {
    const { cluster, timeline, target, sessionMs } = stage;
    const victim = await chooseVictim(stage, target);
    const healed = timeline.fault(
      `SIGSTOP broker ${victim} (${target}), ${leaderOf(stage, victim)}`,
    );
    await cluster.pause(victim);
    await pause(sessionMs + BEYOND_SESSION_MS);
    await cluster.resume(victim);
    healed(`SIGCONT broker ${victim}`);
  },
};
