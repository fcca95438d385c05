/** Whom to hit. Called by scenarios. */
import { TributaryError } from '@tributary/common';
import type { Stage, Target } from '../scenario';

/** A leader that is not the controller, the controller, or one that is both. Throws INVALID_ARGUMENT: there is none. */
export async function chooseVictim({ client }: Stage, target: Target): Promise<number> {
  const cluster = await client.admin().describeCluster({ timeoutMs: 10_000 });
  const candidates = cluster.brokers
    .filter(({ brokerId, leaders }) =>
      target === 'leader'
        ? brokerId !== cluster.controllerId && leaders > 0
        : brokerId === cluster.controllerId,
    )
    .sort((a, b) => b.leaders - a.leaders);
  const victim = candidates[0];
  if (!victim || (target === 'both' && victim.leaders === 0)) {
    throw new TributaryError('INVALID_ARGUMENT', `no broker is a ${target} now`);
  }
  return victim.brokerId;
}

/** For the timeline. */
export function leaderOf({ watch }: Stage, broker: number): string {
  const led = watch.ledBy(broker);
  return led.length > 24 ? `leader of ${led.length} partitions` : `leader of partitions ${led.join(' ') || 'none'}`; // prettier-ignore
}
