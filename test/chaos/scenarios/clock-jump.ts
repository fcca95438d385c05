/** The wall clock of a leader jumps ahead and back. It decides nothing but ages of segments, so nobody may notice. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario } from '../scenario';
import { chooseVictim, leaderOf } from './victims';

/** Within the hour by which timestamps of producers may be ahead of a broker. */
const JUMP_MS = 30 * 60_000;
const STAY_MS = 2_500;

export const clockJump: Scenario = {
  name: 'clock-jump',
  summary: 'the wall clock of one broker jumps half an hour ahead, an hour back, and home again',
  needs: ['faulty-brokers'],
  uses: 'target',
  roundSeconds: () => 9,
  errorsAllowed: false,
  async faults(stage) {
    const { cluster, timeline, target } = stage;
    const victim = await chooseVictim(stage, target);
    const healed = timeline.fault(
      `the clock of broker ${victim} jumps 30 min ahead, ${leaderOf(stage, victim)}`,
    );
    cluster.inject(victim, { clockOffsetMs: JUMP_MS });
    await pause(STAY_MS);
    timeline.note(`the clock of broker ${victim} jumps an hour back`);
    cluster.inject(victim, { clockOffsetMs: -JUMP_MS });
    await pause(STAY_MS);
    cluster.inject(victim, { clockOffsetMs: 0 });
    healed(`the clock of broker ${victim} is right again`);
  },
};
