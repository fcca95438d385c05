/** Every broker in turn is stopped in order and started again, the next one once all replicas are back. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Scenario, Stage } from '../scenario';

const BACK_WITHIN_MS = 30_000;

export const rollingRestart: Scenario = {
  name: 'rolling-restart',
  summary: 'SIGTERM each broker in turn and start it again; no error may reach the application',
  needs: [],
  roundSeconds: () => 15,
  errorsAllowed: false,
  async faults(stage) {
    const { cluster, timeline } = stage;
    for (const id of cluster.brokerIds) {
      const healed = timeline.fault(`SIGTERM to broker ${id}`);
      await cluster.kill(id, 'SIGTERM');
      timeline.note(`broker ${id} has ended; starting it again`);
      await cluster.startBroker(id);
      healed(`broker ${id} is ready`);
      await allInSync(stage);
    }
  },
};

async function allInSync({ watch, violation }: Stage): Promise<void> {
  const until = performance.now() + BACK_WITHIN_MS;
  // The watch may not have seen the last change yet.
  await pause(200);
  while (!watch.allInSync) {
    if (performance.now() > until) return violation('a restarted broker did not get back into every ISR'); // prettier-ignore
    await pause(20);
  }
}
