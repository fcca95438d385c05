/**
 * A person accepts that what is damaged of a replica on this broker is lost, because no other one can lead and refill it.
 * In this order: the controller makes this replica the only one that counts, in a leader epoch that nobody leads;
 * the log drops what is damaged and keeps the rest; the replica reports itself restored, and the controller lets it
 * lead. Invariant: a replica that still has what is lost here cannot take part unseen: behind the loss this log is in
 * an epoch of its own, so the other one is cut there and copies this one's. Called by the handler of AcceptLoss.
 */
import { partitionKey, partitionName, TributaryError, type Logger } from '@tributary/common';
import type { LogStore, LostRange, PartitionLog } from '@tributary/log';
import type { PartitionState } from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import type { Partition } from '../partition/partition';
import type { PartitionAlterer } from '../seams';
import type { FollowerLinks } from './follower-links';
import { absence, topicConfigOf, type PartitionName } from './image-view';
import type { OfflineReplicas } from './offline-replicas';
import type { RoleChanges } from './role-changes';

export interface LossAcceptanceHost {
  readonly brokerId: number;
  readonly logger: Logger;
  readonly logStore: LogStore;
  readonly alterer: PartitionAlterer;
  readonly changes: RoleChanges;
  readonly links: FollowerLinks;
  readonly offline: OfflineReplicas;
  readonly partitions: Map<string, Partition>;
  readonly brokerEpoch: () => number | undefined;
  readonly image: () => MetadataImage | undefined;
  readonly open: (log: PartitionLog, state: PartitionState) => Partition;
}

export interface AcceptedLoss {
  readonly lost: readonly LostRange[];
  readonly logStartOffset: number;
  readonly logEndOffset: number;
}

export class LossAcceptance {
  constructor(private readonly host: LossAcceptanceHost) {}

  /** @param force also while other members of the ISR may come back. Throws INELIGIBLE_REPLICA and others: then nothing was changed. */
  accept(name: PartitionName, force: boolean): Promise<AcceptedLoss> {
    const key = partitionKey(name.topicId, name.partition);
    return this.host.changes.inOrder(key, () => this.acceptNow(key, name, force));
  }

  private async acceptNow(key: string, name: PartitionName, force: boolean): Promise<AcceptedLoss> {
    const { brokerId, image } = this.host;
    const state = image()?.partition(name.topicId, name.partition);
    if (!state) throw absence(image(), name, '');
    this.checkDamaged(key, state);
    const others = state.isr.filter((id) => id !== brokerId);
    if (others.length > 0 && !force) throw mayComeBack(state, others);
    const granted = await this.askController(state);
    const { log, lost } = await this.repair(key, state, granted.leaderEpoch);
    const { logStartOffset, logEndOffset } = log;
    this.host.logger.warn('a loss was accepted: damaged records are gone for good', {
      partition: partitionName(state.topic, state.partition),
      lost: lost.map((range) => ({ ...range })),
      logStartOffset,
      logEndOffset,
    });
    this.host.offline.restored(key);
    return { lost, logStartOffset, logEndOffset };
  }

  private checkDamaged(key: string, { topic, partition, leader }: PartitionState): void {
    const { brokerId, offline } = this.host;
    const name = partitionName(topic, partition);
    const outage = offline.get(key);
    const where = `${name} on broker ${brokerId}`;
    if (!outage) {
      throw new TributaryError('INELIGIBLE_REPLICA', `nothing of ${where} is known to be damaged`, {
        hint: 'Describe the topic to see which replicas are offline, and why.',
      });
    }
    if (outage.kind === 'refilling') {
      const message = `${where} is being refilled from broker ${leader}: nothing is lost`;
      throw new TributaryError('INELIGIBLE_REPLICA', message, {
        hint: 'Wait until it is complete.',
      });
    }
    if (outage.kind === 'failed') {
      const message = `${where} is offline, but its disk is what failed: ${outage.reason}`;
      const hint = 'Check that disk, then restart the broker: its data may well be sound.';
      throw new TributaryError('STORAGE_ERROR', message, { hint });
    }
  }

  private askController(state: PartitionState): Promise<PartitionState> {
    const { alterer, brokerId, brokerEpoch } = this.host;
    const { topic, topicId, partition, leaderEpoch, partitionEpoch } = state;
    const isr = [{ brokerId, brokerEpoch: brokerEpoch() ?? 0 }];
    const change = { topic, topicId, partition, leaderEpoch, partitionEpoch, isr };
    return alterer.alterPartition({ ...change, acceptLoss: true });
  }

  private async repair(
    key: string,
    state: PartitionState,
    epoch: number,
  ): Promise<{ readonly log: PartitionLog; readonly lost: readonly LostRange[] }> {
    const { links, partitions, logStore, image, open, offline } = this.host;
    const { topic, topicId, partition, replicas } = state;
    const damaged = partitions.get(key);
    links.unfollow(key);
    partitions.delete(key);
    try {
      const repaired = await logStore.repair(
        { topic, topicId, partition },
        {
          config: topicConfigOf(image()?.topicById(topicId), replicas.length),
          endOffset: damaged?.state.logEndOffset ?? 0,
          highWatermark: damaged?.state.highWatermark ?? 0,
          epoch,
          stamped: replicas.length > 1,
        },
      );
      partitions.set(key, open(repaired.log, state));
      return repaired;
    } catch (thrown) {
      // As before: offline, and damaged. A disk that does not answer is another matter.
      const error = TributaryError.from(thrown, 'STORAGE_ERROR');
      if (error.code !== 'CORRUPT_LOG' && error.code !== 'DISK_FULL') {
        offline.report(state, 'failed', error.message);
      }
      throw error;
    }
  }
}

function mayComeBack({ topic, partition }: PartitionState, others: readonly number[]): Error {
  const brokers = others.map((id) => `broker ${id}`).join(', ');
  return new TributaryError(
    'INELIGIBLE_REPLICA',
    `${partitionName(topic, partition)} is in sync on ${brokers}, too: with it nothing would be lost`,
    { hint: `Start ${brokers}. If that is not possible, repeat the command with --force.` },
  );
}
