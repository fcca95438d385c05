/** A disk that has no byte left, and one that takes its time. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario } from '../scenario';
import { chooseVictim, leaderOf } from './victims';

const FULL_MS = 6_000;
const SLOW_MS = 6_000;
const SYNC_DELAY_MS = 1_500;
const APPEND_DELAY_MS = 4;
const READ_DELAY_MS = 100;

export const diskFull: Scenario = {
  name: 'disk-full',
  summary: 'fill the disk of one broker to the last byte for 6 s',
  needs: ['small-disk'],
  roundSeconds: () => 10,
  errorsAllowed: true,
  async faults(stage) {
    const { cluster, timeline } = stage;
    const victim = cluster.smallDiskBroker;
    const healed = timeline.fault(
      `the disk of broker ${victim} is full, ${leaderOf(stage, victim)}`,
    );
    cluster.fillDisk();
    await pause(FULL_MS);
    cluster.emptyDisk();
    healed(`the disk of broker ${victim} has room again`);
  },
};

export const slowDisk: Scenario = {
  name: 'slow-disk',
  summary: 'the disk of one leader takes 4 ms for an append and 1.5 s for a sync, for 6 s',
  needs: ['faulty-brokers'],
  uses: 'target',
  roundSeconds: () => 10,
  errorsAllowed: false,
  async faults(stage) {
    const { cluster, timeline, target } = stage;
    const victim = await chooseVictim(stage, target);
    const healed = timeline.fault(
      `the disk of broker ${victim} is slow, ${leaderOf(stage, victim)}`,
    );
    cluster.inject(victim, { syncDelayMs: SYNC_DELAY_MS, appendDelayMs: APPEND_DELAY_MS, readDelayMs: READ_DELAY_MS }); // prettier-ignore
    await pause(SLOW_MS);
    cluster.inject(victim, { syncDelayMs: 0, appendDelayMs: 0, readDelayMs: 0 });
    healed(`the disk of broker ${victim} is as quick as before`);
  },
};
