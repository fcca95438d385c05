/**
 * Spreads the replicas of new partitions over the brokers: those of one partition over as many racks as there are, all of
 * them and the leaderships evenly. Pure but for the `Random`. Called where topics are created and get more partitions.
 */
import type { Random } from '@tributary/common';
import { balanceLeaders } from './leader-balance';
import { ReplicaLoad, type PlacementBroker } from './replica-load';

export interface PlacementRequest {
  /** That may get replicas; at least `replicationFactor`. */
  readonly brokers: readonly PlacementBroker[];
  readonly partitions: number;
  readonly replicationFactor: number;
  /** Replicas of the partitions that the topic has: what they lie on gets the fewer of the new ones. Default: none. */
  readonly existing?: readonly (readonly number[])[];
}

/** Of each new partition; the first is the preferred leader. */
export function placeReplicas(request: PlacementRequest, random: Random): number[][] {
  const { partitions, replicationFactor, existing = [] } = request;
  const brokers = [...request.brokers].sort((a, b) => a.brokerId - b.brokerId);
  const load = new ReplicaLoad(brokers, random);
  for (const replicas of existing) load.count(replicas);
  const placed = Array.from({ length: partitions }, () => {
    const chosen: number[] = [];
    while (chosen.length < replicationFactor) {
      const next = load.next(chosen);
      if (next === undefined)
        throw new RangeError(`${replicationFactor} replicas on ${brokers.length} brokers`);
      chosen.push(next);
    }
    load.count(chosen);
    return chosen;
  });
  const able = new Set(brokers.filter(({ mayLead }) => mayLead).map(({ brokerId }) => brokerId));
  const led = new Map<number, number>();
  for (const [leader] of existing)
    if (leader !== undefined) led.set(leader, (led.get(leader) ?? 0) + 1);
  return balanceLeaders(placed, (brokerId) => able.has(brokerId), led);
}
