/** All brokers die at once; nothing acknowledged may be lost, since the machine, and its page cache, lives. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario } from '../scenario';

const DOWN_MS = 1_000;

export const killAll: Scenario = {
  name: 'kill-all',
  summary: 'kill -9 all brokers at once, start them again after 1 s',
  needs: [],
  roundSeconds: () => 15,
  errorsAllowed: false,
  async faults({ cluster, timeline }) {
    const healed = timeline.fault('kill -9 all brokers');
    await Promise.all(cluster.brokerIds.map((id) => cluster.kill(id)));
    await pause(DOWN_MS);
    healed('starting all brokers again');
    await Promise.all(cluster.brokerIds.map((id) => cluster.startBroker(id)));
  },
};
