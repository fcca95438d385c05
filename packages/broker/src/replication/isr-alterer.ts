/**
 * Carries a leader's wish for another ISR to the controller and the answer back into the core. Invariant: every
 * question is answered to the core exactly once, never in the same tick; the core drops what is late.
 * Called by ReplicaManager for `alterPartition` effects.
 */
import { TributaryError, type Logger } from '@tributary/common';
import type { PartitionState } from '@tributary/protocol';
import type { AlterEffect, Partition } from '../partition/partition';
import type { PartitionAlterer } from '../seams';

export interface IsrAltererHost {
  readonly alterer: PartitionAlterer;
  readonly logger: Logger;
  readonly brokerId: number;
  readonly brokerEpoch: () => number | undefined;
}

export async function alterIsr(
  host: IsrAltererHost,
  partition: Partition,
  effect: AlterEffect,
): Promise<void> {
  const { requestId } = effect;
  try {
    const { leaderEpoch, partitionEpoch, isr } = await ask(host, partition, effect);
    partition.dispatch({ kind: 'altered', requestId, leaderEpoch, partitionEpoch, isr });
  } catch (error) {
    const { code, message } = TributaryError.from(error);
    host.logger.debug('ISR change was not confirmed', {
      partition: partition.name,
      code,
      reason: message,
    });
    partition.dispatch({ kind: 'alterFailed', requestId, code });
  }
}

async function ask(
  host: IsrAltererHost,
  partition: Partition,
  effect: AlterEffect,
): Promise<PartitionState> {
  const own = await Promise.resolve(host.brokerEpoch());
  if (own === undefined) {
    throw new TributaryError('UNAVAILABLE', 'this broker is not registered now');
  }
  const { topic, topicId, partition: number } = partition;
  const { leaderEpoch, partitionEpoch, members } = effect;
  return host.alterer.alterPartition({
    topic,
    topicId,
    partition: number,
    leaderEpoch,
    partitionEpoch,
    isr: members.map((member) =>
      member.brokerId === host.brokerId ? { ...member, brokerEpoch: own } : member,
    ),
  });
}
