/**
 * What the produce, fetch and list-offsets handlers ask of the rest of the broker, and how they find the
 * partition that a request means. Implemented by ReplicaManager.
 */
import { shownTopic, TributaryError, type Clock, type LeaderHint } from '@tributary/common';
import type { Acceptor } from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import type { WaiterBudget } from '../partition/commit-purgatory';
import type { Partition } from '../partition/partition';
import type { LeaderState } from '../partition/partition-state';
import type { DataLimits } from '../replication/data-limits';
import type { PartitionName } from '../replication/image-view';

export interface DataHost {
  readonly clock: Clock;
  readonly limits: DataLimits;
  readonly budget: WaiterBudget;
  readonly isIsolated: boolean;
  readonly currentImage: MetadataImage | undefined;
  acceptor(): Acceptor;
  find(name: PartitionName, listener: string): Partition;
  leaderHint(partition: Partition, listener: string): LeaderHint | undefined;
}

export interface Caller {
  readonly listener: string;
  /** On the unary twins a topic may be meant by its name alone. */
  readonly mayUseNames: boolean;
}

export interface AskedPartition extends PartitionName {
  readonly leaderEpoch: number;
}

export interface LedPartition {
  readonly partition: Partition;
  readonly leader: LeaderState;
}

/** The partition, if this broker leads it in the epoch that the caller means; throws why not otherwise. */
export function ledPartition(host: DataHost, asked: AskedPartition, caller: Caller): LedPartition {
  const named = asked.topicId === '' ? byName(host, asked, caller) : asked;
  const partition = host.find(named, caller.listener);
  const hint = (): LeaderHint | undefined => host.leaderHint(partition, caller.listener);
  return { partition, leader: partition.requireLeader(named.leaderEpoch, hint) };
}

function byName(host: DataHost, asked: AskedPartition, caller: Caller): AskedPartition {
  if (!caller.mayUseNames) {
    throw new TributaryError(
      'INVALID_ARGUMENT',
      `topic ${shownTopic(asked.topic)} comes without its topic id`,
    );
  }
  const topic = host.currentImage?.topicByName(asked.topic);
  if (!topic) {
    throw new TributaryError('UNKNOWN_TOPIC', `topic ${shownTopic(asked.topic)} is not known here`);
  }
  // Who does not know the id has no leader epoch to be fenced by, either.
  return { ...asked, topicId: topic.topicId, leaderEpoch: -1 };
}
