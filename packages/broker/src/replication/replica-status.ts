/** One replica for metrics, health and `trib`: read only. Called by ReplicaManager. */
import type { OfflineReplica } from '@tributary/protocol';
import { isUnderMinIsr } from '../partition/in-sync-replicas';
import type { Partition } from '../partition/partition';
import type { Role } from '../partition/partition-state';

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
  /** Why it is offline; empty otherwise. */
  readonly reason: string;
}

export function replicaStatus(partition: Partition): ReplicaStatus {
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
    reason: state.role === 'offline' ? state.reason : '',
  };
}

/** What the controller is told of it: nothing, unless its disk failed. */
export function offlineReplica({ topicId, partition, state }: Partition): OfflineReplica[] {
  if (state.role !== 'offline' || !state.failed) return [];
  return [{ topicId, partition, reason: state.reason }];
}
