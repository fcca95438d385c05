/**
 * Refills damaged replicas of this broker from their leaders: sets the damaged log aside, lets the replica begin anew
 * as an ordinary follower, notices when it is complete, and removes what was set aside once the controller has it back
 * in the ISR. Invariant: nothing is set aside but with the permission of `mayRefill`, and nothing that was is removed
 * before this replica counts again. Made by ReplicaManager; called by role changes and by what a leader sends.
 */
import { partitionKey, partitionName, TributaryError, type Logger } from '@tributary/common';
import type { LogStore } from '@tributary/log';
import type { PartitionState } from '@tributary/protocol';
import type { Partition } from '../partition/partition';
import type { PartitionName } from './image-view';
import type { OfflineReplicas } from './offline-replicas';
import { CatchUp, type LeaderEnd } from './refill';

export interface RefillsHost {
  readonly brokerId: number;
  readonly logger: Logger;
  readonly logStore: LogStore;
  readonly offline: OfflineReplicas;
  /** The file of HWs goes by names: what the damaged log left there must not be taken for the next one's. */
  readonly checkpoint: () => Promise<void>;
}

export class Refills {
  private readonly running = new Map<string, CatchUp>();
  private readonly aside = new Set<string>();

  constructor(private readonly host: RefillsHost) {
    for (const { topicId, partition } of host.logStore.damaged()) {
      this.aside.add(partitionKey(topicId, partition));
    }
  }

  /** Nothing of the damaged log is open or served any more when it resolves. */
  async setAside({ topic, topicId, partition }: PartitionName): Promise<void> {
    const { logStore, checkpoint } = this.host;
    await logStore.setAsideDamaged({ topic, topicId, partition });
    this.aside.add(partitionKey(topicId, partition));
    await checkpoint();
  }

  /** Its new log is open and follows. */
  begun(state: PartitionState): void {
    const key = partitionKey(state.topicId, state.partition);
    this.running.set(key, new CatchUp());
    this.host.offline.refilling(key);
    this.host.logger.warn('a damaged replica is refilled', {
      partition: partitionName(state.topic, state.partition),
      leaderId: state.leader,
      damage: this.host.offline.get(key)?.reason,
    });
  }

  /** After what came with it was appended. */
  heard(partition: Partition, leader: LeaderEnd): void {
    const key = partitionKey(partition.topicId, partition.partition);
    const catchUp = this.running.get(key);
    if (!catchUp) return;
    const { offline, logger } = this.host;
    if (offline.get(key)?.kind !== 'refilling') {
      this.running.delete(key);
      return;
    }
    const { logEndOffset } = partition.log;
    if (!catchUp.heard(leader, logEndOffset)) return;
    this.running.delete(key);
    logger.info('a damaged replica is complete again', { partition: partition.name, logEndOffset });
    offline.restored(key);
  }

  /** States in force; answers those whose damaged log is of no use any more. */
  settled(states: readonly PartitionState[]): PartitionState[] {
    if (this.aside.size === 0) return [];
    const { brokerId, offline } = this.host;
    return states.filter(({ topicId, partition, isr }) => {
      const key = partitionKey(topicId, partition);
      return this.aside.has(key) && isr.includes(brokerId) && !offline.get(key);
    });
  }

  /** Never rejects: one that cannot be removed takes room, and is tried again at the next change. */
  async removeAside({ topic, topicId, partition }: PartitionName): Promise<void> {
    const key = partitionKey(topicId, partition);
    if (!this.aside.delete(key)) return;
    try {
      await this.host.logStore.removeDamaged(topicId, partition);
    } catch (thrown) {
      this.aside.add(key);
      const error = TributaryError.from(thrown, 'STORAGE_ERROR');
      const name = partitionName(topic, partition);
      this.host.logger.warn('a damaged log that was refilled cannot be removed', { partition: name, error }); // prettier-ignore
    }
  }
}
