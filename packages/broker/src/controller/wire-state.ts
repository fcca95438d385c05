/** What the controller knows, as brokers are told it. Pure; called by the draft of each step and where images are made. */
import { partitionKey } from '@tributary/common';
import { allBrokers, type VersionedPartitionState } from '@tributary/coordination';
import type { BrokerInfo, PartitionState, ReplicaOutage } from '@tributary/protocol';
import { wireDuties } from '../metadata/broker-duty';
import { isTrusted } from './broker-standing';
import {
  isNewLife,
  type BrokerState,
  type ControllerState,
  type PartitionEntry,
} from './controller-state';
import { takingPart } from './replica-move';

/** As others see it: it may be leader and may join an ISR. */
export function isSeenEligible(broker: BrokerState | undefined): boolean {
  return broker !== undefined && isTrusted(broker.standing) && !broker.leaving;
}

export function brokerInfoOf(
  broker: BrokerState,
  settings: ControllerState['brokerSettings'],
): BrokerInfo {
  const { brokerId, brokerEpoch, endpoints, rack } = broker.registration;
  const own = settings.get(brokerId);
  return {
    brokerId,
    brokerEpoch,
    endpoints: endpoints.map((endpoint) => ({ ...endpoint })),
    rack: rack ?? '',
    eligible: isSeenEligible(broker),
    duty: wireDuties[own?.duty ?? 'in service'],
    configs: { ...settings.get(allBrokers)?.configs, ...own?.configs },
  };
}

/** As brokers are told. A leader that is to be replaced must not begin to lead by it until the next write is done. */
export function wireState(
  stored: VersionedPartitionState,
  entry: PartitionEntry,
  { phase, brokers }: Pick<ControllerState, 'phase' | 'brokers'>,
): PartitionState {
  const { writtenAt: _writtenAt, seatEpochs: _seatEpochs, ...state } = stored;
  const taking = takingPart(entry);
  const leader = brokers.get(stored.leader);
  const isOver = phase === 'active' && !(leader && isTrusted(leader.standing));
  return {
    ...state,
    leader: isOver || isNewLife(stored, leader) ? -1 : stored.leader,
    isr: [...stored.isr],
    eligibleLeaders: [...stored.eligibleLeaders],
    replicas: [
      ...entry.replicas.filter((id) => taking.includes(id)),
      ...taking.filter((id) => !entry.replicas.includes(id)),
    ],
    offlineReplicas: outages(stored, entry, brokers),
    addingReplicas: [...entry.adding],
    removingReplicas: [...entry.removing],
  };
}

/**
 * A broker that reads itself here may drop what its replica holds, to be refilled: so it is not told while a write is
 * under way that gives it a seat. One that begins later does not, for its seat counts as away.
 */
function outages(
  { topicId, partition }: VersionedPartitionState,
  { replicas, write }: PartitionEntry,
  brokers: ReadonlyMap<number, BrokerState>,
): ReplicaOutage[] {
  const key = partitionKey(topicId, partition);
  return replicas.flatMap((brokerId) => {
    const outage = brokers.get(brokerId)?.offline.get(key);
    const seats = write ? [...write.state.isr, ...write.state.eligibleLeaders] : [];
    return outage && !seats.includes(brokerId) ? [{ brokerId, ...outage }] : [];
  });
}
