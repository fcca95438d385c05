/** One replica for metrics, health and `trib`: read only. Called by ReplicaManager. */
import { partitionKey } from '@tributary/common';
import { isUnderMinIsr } from '../partition/in-sync-replicas';
import type { Partition } from '../partition/partition';
import type { Role } from '../partition/partition-state';
import type { Outage, OutageKind } from './offline-replicas';

export interface ReplicaStatus {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly role: Role;
  readonly leaderEpoch: number;
  readonly highWatermark: number;
  readonly logStartOffset: number;
  readonly logEndOffset: number;
  readonly sizeBytes: number;
  /** Leaders only; empty otherwise. */
  readonly isr: readonly number[];
  readonly replicas: readonly number[];
  readonly underMinIsr: boolean;
  /** acks=all answers that are owed. */
  readonly waiting: number;
  /** Why it is offline, or has to be refilled; empty otherwise. */
  readonly reason: string;
  /** A follower that is far behind its leader, on the throttled stream. */
  readonly catchingUp: boolean;
  /** undefined: it can serve. */
  readonly outage: OutageKind | undefined;
}

/** Those that have no log at all included. */
export function replicaStatuses(
  partitions: Iterable<Partition>,
  outages: readonly Outage[],
  isCatchingUp: (key: string) => boolean,
): ReplicaStatus[] {
  const left = new Map(outages.map((outage) => [keyOf(outage), outage]));
  const found = [...partitions].map((partition) => {
    const outage = left.get(keyOf(partition));
    left.delete(keyOf(partition));
    return replicaStatus(partition, outage, isCatchingUp(keyOf(partition)));
  });
  return [...found, ...[...left.values()].map(absentReplica)];
}

function keyOf({ topicId, partition }: Pick<Outage, 'topicId' | 'partition'>): string {
  return partitionKey(topicId, partition);
}

function replicaStatus(
  partition: Partition,
  outage: Outage | undefined,
  catchingUp: boolean,
): ReplicaStatus {
  const { topic, topicId, partition: number, state, log, waiting } = partition;
  const leads = state.role === 'leader';
  return {
    topic,
    topicId,
    partition: number,
    role: state.role,
    leaderEpoch: state.leaderEpoch,
    highWatermark: state.highWatermark,
    logStartOffset: log.logStartOffset,
    logEndOffset: log.logEndOffset,
    sizeBytes: log.sizeBytes,
    isr: leads ? state.isr : [],
    replicas: leads ? state.replicas : [],
    underMinIsr: leads && isUnderMinIsr(state),
    waiting,
    reason: outage?.reason ?? (state.role === 'offline' ? state.reason : ''),
    catchingUp,
    outage: outage?.kind,
  };
}

function absentReplica({ topic, topicId, partition, reason, kind }: Outage): ReplicaStatus {
  return {
    topic,
    topicId,
    partition,
    role: 'offline',
    leaderEpoch: -1,
    highWatermark: 0,
    logStartOffset: 0,
    logEndOffset: 0,
    sizeBytes: 0,
    isr: [],
    replicas: [],
    underMinIsr: false,
    waiting: 0,
    reason,
    catchingUp: false,
    outage: kind,
  };
}
