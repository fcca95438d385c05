/** What the admin takes and gives for what the controller decides: topics altered, replicas moved, leaders elected, brokers. */
import type { TributaryError } from '@tributary/common';
import type { CallOptions } from '../call-options';

/** What shall be different; at least one of it. All or nothing. */
export interface TopicAlteration {
  /** Settings, as docs/topic-config.md lists them. */
  readonly setConfigs?: Readonly<Record<string, string>>;
  /** Back to their defaults. */
  readonly removeConfigs?: readonly string[];
  /** In all; only ever more. Records of a key may go to another partition from then on. */
  readonly partitions?: number;
  /** Brokers of each added partition, the preferred leader first. Default: placed by the controller. */
  readonly newAssignments?: readonly (readonly number[])[];
}

export interface AlterTopicOptions extends CallOptions {
  /** Check everything, change nothing. Default false. */
  readonly validateOnly?: boolean;
}

export interface AlteredTopic {
  readonly topic: string;
  readonly topicId: string;
  /** As stored now: what is not listed has its default. */
  readonly configs: Readonly<Record<string, string>>;
  readonly partitions: number;
}

export interface NamedPartition {
  readonly topic: string;
  readonly partition: number;
}

/** KIP-455: the replicas that a partition shall have. */
export interface PartitionMove extends NamedPartition {
  /** Broker ids; the first is the preferred leader. */
  readonly replicas: readonly number[];
}

/** One partition of a request that names several: the others are done whatever happened to this one. */
export interface PartitionResult extends NamedPartition {
  readonly topicId: string;
  /** undefined: it was begun, or done. */
  readonly error: TributaryError | undefined;
}

export interface ListReassignmentsOptions extends CallOptions {
  /** Default: all. */
  readonly topics?: readonly string[];
  /** Ask the leaders how far the new replicas are. Default true. */
  readonly progress?: boolean;
}

/** Replicas of a partition that are being moved now. */
export interface OngoingReassignment extends NamedPartition {
  readonly topicId: string;
  /** Those that there will be, the preferred leader first. */
  readonly replicas: readonly number[];
  readonly adding: readonly AddedReplica[];
  /** They go when all of `adding` are in sync. */
  readonly removing: readonly number[];
}

export interface AddedReplica {
  readonly brokerId: number;
  readonly inSync: boolean;
  /** As the leader of the partition tells it; undefined: it is not known. */
  readonly progress: ReplicaProgress | undefined;
  /** Why not; undefined where it is known, or was not asked for. */
  readonly unknown: string | undefined;
}

/** How far a replica is. Bytes are about right: the leader counts whole segments, and shares of the one that is being copied. */
export interface ReplicaProgress {
  /** It has every record below. */
  readonly endOffset: bigint;
  readonly leaderEndOffset: bigint;
  /** What it has, in bytes of its leader's log. */
  readonly bytes: number;
  readonly leaderBytes: number;
  /** That came to it in the last seconds. */
  readonly bytesPerSecond: number;
  /** `replication.catch.up.bytes.per.second` of the leader, where that bounds this replica now. */
  readonly throttleBytesPerSecond: number | undefined;
}

export interface ElectLeadersOptions extends CallOptions {
  /**
   * `preferred`: the first replica of the assignment, where it is in sync. `unclean`: where nobody in sync is left, one
   * that lacks committed records; they are lost.
   */
  readonly kind: 'preferred' | 'unclean';
  /** Default: all that need it; an unclean election must name them. */
  readonly partitions?: readonly NamedPartition[];
}

/**
 * `drained`: leads nothing that another broker can lead, keeps its replicas. `decommissioned`: drained, gets no new
 * replicas, and those that it has are moved away.
 */
export type BrokerDuty = 'in service' | 'drained' | 'decommissioned';

export interface BrokerAlteration {
  readonly setConfigs?: Readonly<Record<string, string>>;
  /** Back to the value of all brokers, or the default. */
  readonly removeConfigs?: readonly string[];
  /** Not for all brokers at once. */
  readonly duty?: BrokerDuty;
}

export interface AlteredBroker {
  /** As stored now, of that broker alone (or of all). */
  readonly configs: Readonly<Record<string, string>>;
  readonly duty: BrokerDuty;
}

export interface BrokerDescription {
  readonly brokerId: number;
  /** False: it is away, but has replicas, a duty or settings. */
  readonly registered: boolean;
  readonly brokerEpoch: number;
  readonly host: string;
  readonly port: number;
  readonly rack: string | undefined;
  /** May lead and may join an ISR. */
  readonly eligible: boolean;
  readonly controller: boolean;
  readonly duty: BrokerDuty;
  /** Altered while it runs, those of all brokers included. */
  readonly configs: Readonly<Record<string, string>>;
  /** Those of `configs` that were altered for this broker; the others hold for all brokers. */
  readonly ownConfigNames: readonly string[];
  readonly leaders: number;
  readonly replicas: number;
  readonly outOfSyncReplicas: number;
  /** Being moved to it, and away from it. */
  readonly addingReplicas: number;
  readonly removingReplicas: number;
}

export interface ListDecisionsOptions extends CallOptions {
  /** The newest so many of all brokers. Default: all that are kept, at most 1,000 of each broker. */
  readonly limit?: number;
}

export interface Decision {
  /** The controller that took it. */
  readonly brokerId: number;
  /** ms since the epoch, by the clock of that broker. */
  readonly at: number;
  readonly controllerEpoch: number;
  /** Broker, partition or topic that it is about. */
  readonly who: string;
  readonly what: string;
  readonly why: string;
}

export interface DecisionList {
  /** Of all brokers, in the order of their controller epochs and, within one, of time. */
  readonly decisions: readonly Decision[];
  /** Brokers that did not answer: what they decided is missing. */
  readonly unanswered: readonly {
    readonly brokerId: number;
    readonly error: TributaryError;
  }[];
}
