/**
 * May a leader change its ISR? The checks of KIP-497, 841 and 903 in their order (kafka-semantics 2.4); the
 * order is the point: an identical state already stored is a success before versions are compared, or a
 * leader whose answer was lost would never get on (KAFKA-14144).
 * Pure; called by the controller's step, again for each request that waited for a write.
 */
import { TributaryError, type ErrorCode } from '@tributary/common';
import type { StoredPartitionState, VersionedPartitionState } from '@tributary/coordination';
import type { AlterPartitionRequest } from '@tributary/protocol';
import { isTrusted } from './broker-standing';
import {
  isEligible,
  isNewLife,
  type AlterRequest,
  type ControllerState,
  type PartitionEntry,
  type TopicState,
} from './controller-state';
import { nextEligibleLeaders } from './partition-decision';
import { PartitionSeats } from './partition-seats';
import { sameSet, takingPart } from './replica-move';

export type AlterVerdict =
  | { readonly type: 'refused'; readonly error: TributaryError }
  | { readonly type: 'already'; readonly state: VersionedPartitionState }
  | { readonly type: 'write'; readonly state: StoredPartitionState };

export function judgeAlteration(state: ControllerState, alter: AlterRequest): AlterVerdict {
  const { request, brokerId } = alter;
  const sender = state.brokers.get(brokerId);
  if (sender?.registration.brokerEpoch !== request.brokerEpoch) {
    return refused('FENCED_BROKER_EPOCH', `broker ${brokerId} has another broker epoch now`);
  }
  const topic = state.topics.get(request.topicId);
  if (!topic || topic.deletion) return refused('UNKNOWN_TOPIC', `no topic ${request.topic} now`);
  const entry = topic.partitions[request.partition];
  const stored = entry?.stored;
  if (!entry || !stored) {
    return refused('UNKNOWN_PARTITION', `no partition ${request.topic}-${request.partition}`);
  }
  const where = `${request.topic}-${request.partition}`;
  if (request.leaderEpoch > stored.leaderEpoch || request.partitionEpoch > stored.partitionEpoch) {
    return refused('NOT_CONTROLLER', `${where}: a newer controller must have written this state`);
  }
  if (request.leaderEpoch < stored.leaderEpoch) {
    return refused('FENCED_LEADER_EPOCH', `${where} is in leader epoch ${stored.leaderEpoch}`);
  }
  if (stored.leader !== brokerId) {
    return refused('FENCED_LEADER_EPOCH', `${where} is led by broker ${stored.leader}`);
  }
  if (isNewLife(stored, sender)) {
    return refused(
      'FENCED_LEADER_EPOCH',
      `${where} was led by an earlier life of broker ${brokerId}`,
    );
  }
  const wanted = request.isr.map((member) => member.brokerId);
  if (sameSet(stored.isr, wanted)) return { type: 'already', state: stored };
  if (request.partitionEpoch < stored.partitionEpoch) {
    const epoch = stored.partitionEpoch;
    return refused('INVALID_PARTITION_EPOCH', `${where} is in partition epoch ${epoch}`);
  }
  const seats = new PartitionSeats(topic, stored, state.brokers);
  const problem = memberProblem(entry, stored, seats, alter);
  if (problem) return problem;
  return { type: 'write', state: alteredState({ state, topic, entry, stored, seats }, wanted) };
}

function memberProblem(
  entry: PartitionEntry,
  stored: VersionedPartitionState,
  seats: PartitionSeats,
  { request, brokerId }: AlterRequest,
): AlterVerdict | undefined {
  const wanted = request.isr.map((member) => member.brokerId);
  const replicas = takingPart(entry);
  const isSet = new Set(wanted).size === wanted.length;
  if (!isSet || !wanted.includes(brokerId) || wanted.some((id) => !replicas.includes(id))) {
    return refused(
      'INVALID_ARGUMENT',
      `ISR ${wanted.join(',')} is no set of replicas ${replicas.join(',')} with the leader`,
    );
  }
  for (const member of request.isr) {
    if (member.brokerId === brokerId) continue;
    const why = ineligible(stored, seats, member);
    if (why) return refused('INELIGIBLE_REPLICA', `broker ${member.brokerId} ${why}`);
  }
  return undefined;
}

/** KIP-841 and KIP-903. Who is in already need only be alive; who joins must be eligible as attached. */
function ineligible(
  stored: VersionedPartitionState,
  seats: PartitionSeats,
  member: AlterPartitionRequest['isr'][number],
): string | undefined {
  if (seats.isOffline(member.brokerId)) return 'has a replica that is offline';
  const broker = seats.broker(member.brokerId);
  if (!broker) return 'is not registered';
  const isMember = stored.isr.includes(member.brokerId);
  const epoch = broker.registration.brokerEpoch;
  // A member since before this leader's epoch may never have attached: the leader knows no epoch of it.
  const isKnownMember = isMember && member.brokerEpoch === 0;
  if (!isKnownMember && member.brokerEpoch !== epoch) {
    return `is in broker epoch ${epoch}, the leader saw ${member.brokerEpoch}`;
  }
  if (isMember && isNewLife(stored, broker))
    return 'started anew: its seat is that of another life';
  if (isMember) return isTrusted(broker.standing) ? undefined : `is ${broker.standing}`;
  if (isEligible(broker)) return undefined;
  return broker.leaving ? 'shuts down' : `is ${broker.standing}`;
}

interface Altered {
  readonly state: ControllerState;
  readonly topic: TopicState;
  readonly entry: PartitionEntry;
  readonly stored: VersionedPartitionState;
  readonly seats: PartitionSeats;
}

function alteredState(
  { state, topic, entry, stored, seats }: Altered,
  wanted: readonly number[],
): StoredPartitionState {
  const replicas = takingPart(entry);
  const eligibleLeaders = nextEligibleLeaders(topic, stored, seats, wanted, replicas);
  return {
    topic: stored.topic,
    topicId: stored.topicId,
    partition: stored.partition,
    leader: stored.leader,
    leaderEpoch: stored.leaderEpoch,
    controllerEpoch: state.controllerEpoch,
    isr: [...wanted],
    eligibleLeaders,
    replicas: [...replicas],
    seatEpochs: new Map([...seats.epochs(wanted, true), ...seats.epochs(eligibleLeaders, false)]),
  };
}

function refused(code: ErrorCode, message: string): AlterVerdict {
  return { type: 'refused', error: new TributaryError(code, message) };
}
