/**
 * May a broker go on alone with a damaged replica, though records are lost? Only a person asks for that, and only where
 * nobody can lead. Answers the state to be written: that broker is the whole ISR, nobody leads yet, and the leader epoch
 * grows by one. No leader ever writes in that epoch, so that the broker may stamp with it what is left of the log
 * behind the loss: a replica that still has what is lost here then parts from it there. Pure; called for each
 * AlterPartition request with `accept_loss`.
 */
import { partitionKey, TributaryError, type ErrorCode } from '@tributary/common';
import type { StoredPartitionState } from '@tributary/coordination';
import type { AlterVerdict } from './alter-partition';
import type { AlterRequest, BrokerState, ControllerState } from './controller-state';
import { leaderCandidate } from './partition-decision';

export function judgeLoss(state: ControllerState, alter: AlterRequest): AlterVerdict {
  const { request, brokerId } = alter;
  const { topicId, partition } = request;
  if (state.phase !== 'active') {
    return refused('TIMEOUT', 'the controller has just begun and does not know all brokers yet');
  }
  const sender = state.brokers.get(brokerId);
  if (sender?.registration.brokerEpoch !== request.brokerEpoch) {
    return refused('FENCED_BROKER_EPOCH', `broker ${brokerId} has another broker epoch now`);
  }
  const topic = state.topics.get(topicId);
  if (!topic || topic.deletion) return refused('UNKNOWN_TOPIC', `no topic ${request.topic} now`);
  const where = `${request.topic}-${partition}`;
  const stored = topic.partitions[partition]?.stored;
  if (!stored) return refused('UNKNOWN_PARTITION', `no partition ${where}`);
  if (!sender.offline.has(partitionKey(topicId, partition))) {
    return refused(
      'INELIGIBLE_REPLICA',
      `the replica of ${where} on broker ${brokerId} is not offline`,
    );
  }
  if (!stored.isr.includes(brokerId)) {
    const isr = stored.isr.join(', ');
    return refused('INELIGIBLE_REPLICA', `${where}: in sync are ${isr}, not broker ${brokerId}`);
  }
  const other = leaderCandidate(topic, partition, state.brokers);
  if (other !== undefined) {
    return refused('INELIGIBLE_REPLICA', `${where}: broker ${other} can lead without any loss`);
  }
  return { type: 'write', state: aloneState(state, stored, sender) };
}

function aloneState(
  { controllerEpoch }: ControllerState,
  stored: StoredPartitionState,
  { registration }: BrokerState,
): StoredPartitionState {
  const { brokerId, brokerEpoch } = registration;
  return {
    topic: stored.topic,
    topicId: stored.topicId,
    partition: stored.partition,
    leader: -1,
    leaderEpoch: stored.leaderEpoch + 1,
    controllerEpoch,
    isr: [brokerId],
    eligibleLeaders: [],
    ...(stored.replicas ? { replicas: stored.replicas } : {}),
    seatEpochs: new Map([[brokerId, brokerEpoch]]),
  };
}

function refused(code: ErrorCode, message: string): AlterVerdict {
  return { type: 'refused', error: new TributaryError(code, message) };
}
