/** What the admin takes and gives. Offsets are bigint here, as everywhere in the public SDK. */
import type { CallOptions } from '../call-options';

export interface NewTopic {
  readonly topic: string;
  /** Default: as the brokers are set. */
  readonly partitions?: number;
  readonly replicationFactor?: number;
  readonly configs?: Readonly<Record<string, string>>;
}

export interface CreateTopicOptions extends CallOptions {
  /** Check everything, create nothing. */
  readonly validateOnly?: boolean;
}

export interface CreatedTopic {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: number;
  readonly replicationFactor: number;
}

export interface TopicListing {
  readonly topic: string;
  readonly topicId: string;
  readonly partitions: readonly PartitionDescription[];
  readonly configs: Readonly<Record<string, string>>;
}

export interface PartitionDescription {
  readonly partition: number;
  /** Broker id; undefined: none now. */
  readonly leader: number | undefined;
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
  /** Left the ISR when it fell below min ISR, and have every committed record: each can lead without a loss. */
  readonly eligibleLeaders: readonly number[];
  /** Cannot serve though their brokers live: the disk failed, or bytes are damaged. */
  readonly offlineReplicas: readonly OfflineReplica[];
  /** While replicas are moved: those of `replicas` that are new, and those that go when the new ones are in sync. */
  readonly addingReplicas: readonly number[];
  readonly removingReplicas: readonly number[];
}

export interface OfflineReplica {
  readonly brokerId: number;
  readonly reason: string;
}

export interface DescribeTopicOptions extends CallOptions {
  /** Ask the leaders for start and end, too. Default true. */
  readonly offsets?: boolean;
}

export interface DescribedPartition extends PartitionDescription {
  /** First offset that can be read; undefined: not asked for, or no leader says it. */
  readonly startOffset?: bigint;
  /** The high watermark: offset after the last record that can be read. */
  readonly endOffset?: bigint;
  /** For example why the high watermark is frozen. */
  readonly note?: string;
}

export interface TopicDescription extends Omit<TopicListing, 'partitions'> {
  readonly partitions: readonly DescribedPartition[];
}

/** `max-timestamp`: the first record that has the largest timestamp; `timestamp`: the first record at or after it. */
export type OffsetQuery = 'earliest' | 'latest' | 'max-timestamp' | { readonly timestamp: number };

/** By partition number: the first offset that stays; `latest`: nothing of what is there now. */
export type DeletionOffsets = Readonly<Record<number, bigint | number | 'latest'>>;

export interface DeletedRecords {
  readonly partition: number;
  /** First offset that can be read now. */
  readonly startOffset: bigint;
}

export interface ListOffsetsOptions extends CallOptions {
  /** Default: all of the topic. */
  readonly partitions?: readonly number[];
}

export interface ListedOffset {
  readonly partition: number;
  /** undefined: there is no such record. */
  readonly offset: bigint | undefined;
  /** Of the record found; undefined for earliest and latest. */
  readonly timestamp: number | undefined;
  readonly leaderEpoch: number;
  readonly note?: string;
}

export interface ClusterDescription {
  readonly clusterId: string;
  readonly controllerId: number | undefined;
  readonly controllerEpoch: number;
  readonly brokers: readonly ClusterMember[];
  readonly topics: number;
  readonly partitions: number;
  readonly offlinePartitions: number;
  readonly underReplicatedPartitions: number;
  readonly underMinIsrPartitions: number;
  /** Cannot serve though their brokers live. */
  readonly offlineReplicas: number;
}

export interface AcceptLossOptions extends CallOptions {
  /** Whose replica is damaged. */
  readonly brokerId: number;
  /** Also while other in-sync replicas may still come back with what is lost here. Default false. */
  readonly force?: boolean;
}

export interface AcceptedLoss {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** Offsets that no record has any more; rising. */
  readonly lost: readonly LostOffsets[];
  readonly startOffset: bigint;
  readonly endOffset: bigint;
}

export interface LostOffsets {
  readonly fromOffset: bigint;
  /** Exclusive. */
  readonly toOffset: bigint;
  /** On that broker, and where in it the damage began. */
  readonly file: string;
  readonly position: number;
}

export interface ClusterMember {
  readonly brokerId: number;
  readonly brokerEpoch: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | undefined;
  /** May lead. */
  readonly eligible: boolean;
  readonly leaders: number;
  readonly replicas: number;
}

export interface GroupMemberDescription {
  readonly memberId: string;
  readonly clientId: string;
  readonly host: string;
  readonly topics: readonly string[];
  readonly assigned: readonly { readonly topic: string; readonly partition: number }[];
}

export interface GroupPartitionDescription {
  readonly topic: string;
  readonly partition: number;
  /** Next offset to read, as committed; undefined: none yet. */
  readonly committedOffset: bigint | undefined;
  readonly committedAt: number | undefined;
  readonly endOffset: bigint | undefined;
  /** Records not read yet; undefined: nothing is committed, or the end is not known. */
  readonly lag: bigint | undefined;
  /** Member id; undefined: nobody owns it now. */
  readonly owner: string | undefined;
}

export interface DescribedGroup {
  readonly group: string;
  /** -1: never assigned. */
  readonly generation: number;
  readonly members: readonly GroupMemberDescription[];
  readonly partitions: readonly GroupPartitionDescription[];
}

export interface NewGroupOffset {
  readonly topic: string;
  readonly partition: number;
  /** Next offset to read. */
  readonly offset: bigint;
  readonly metadata?: string;
}

export type ResetTarget = OffsetQuery | { readonly offset: bigint };

export interface ResetOffsetsOptions extends CallOptions {
  /** Default: all of the topic. */
  readonly partitions?: readonly number[];
}
