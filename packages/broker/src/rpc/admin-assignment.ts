/**
 * Spreads the replicas of a new topic over the brokers: leaders round robin from a random start, followers at a
 * distance that grows by one with each round, so that the followers of one leader are spread as well.
 * Pure but for the start. Called by topic creation.
 */
import { randomInteger, type Random } from '@tributary/common';

export interface AssignmentRequest {
  readonly brokerIds: readonly number[];
  readonly partitions: number;
  readonly replicationFactor: number;
}

export function spreadReplicas(request: AssignmentRequest, random: Random): number[][] {
  const brokers = [...request.brokerIds].sort((a, b) => a - b);
  const count = brokers.length;
  const start = randomInteger(random, count);
  const firstShift = randomInteger(random, count);
  return Array.from({ length: request.partitions }, (_, partition) => {
    const shift = firstShift + Math.floor(partition / count);
    const leader = (start + partition) % count;
    return Array.from({ length: request.replicationFactor }, (_, replica) => {
      if (replica === 0) return at(brokers, leader);
      // Never a multiple of `count`: a replica is never put beside its leader.
      const distance = 1 + ((shift + replica - 1) % (count - 1));
      return at(brokers, (leader + distance) % count);
    });
  });
}

function at(brokers: readonly number[], index: number): number {
  const broker = brokers[index];
  if (broker === undefined) throw new RangeError(`no broker at ${index}`);
  return broker;
}
