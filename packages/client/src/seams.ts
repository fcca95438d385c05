/**
 * What the parts of the SDK share: one context per client, the metadata cache, the connections. Producer,
 * consumer and admin depend on these interfaces; `client.ts` wires them.
 */
import type { Clock, Deadline, Logger, Random, TributaryError } from '@tributary/common';
import type { GroupStore } from '@tributary/coordination';
import type { Address, Connection } from '@tributary/protocol';
import type { CodecSet } from '@tributary/record';

export interface ClientContext {
  readonly clientId: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly codecs: CodecSet;
  readonly metadata: ClusterMetadata;
  readonly connections: BrokerConnections;
  /** Made on first use: on the coordinator, or through group.proto of the brokers. */
  readonly groups: () => GroupStore;
  /** Default timeout of a call. */
  readonly requestTimeoutMs: number;
  /** Aborted when the client closes: everything of it ends. */
  readonly closing: AbortSignal;
}

export interface BrokerNode {
  readonly brokerId: number;
  readonly brokerEpoch: number;
  readonly address: Address;
}

export interface PartitionView {
  readonly partition: number;
  /** undefined: no leader now. */
  readonly leader: BrokerNode | undefined;
  readonly leaderEpoch: number;
  readonly replicas: readonly number[];
  readonly isr: readonly number[];
  /** Not in the ISR, and complete all the same. Default: none. */
  readonly eligibleLeaders?: readonly number[];
  /** Cannot serve though their brokers live. undefined: the source does not tell. */
  readonly offlineReplicas?: readonly OfflineReplicaView[];
  /** While they are moved: those of `replicas` that are new, and those that go. Default: none. */
  readonly addingReplicas?: readonly number[];
  readonly removingReplicas?: readonly number[];
}

export interface OfflineReplicaView {
  readonly brokerId: number;
  readonly reason: string;
}

export interface TopicView {
  readonly topic: string;
  readonly topicId: string;
  /** By partition number. */
  readonly partitions: readonly PartitionView[];
  readonly configs: Readonly<Record<string, string>>;
}

/** A partition whose leader failed, or that has none. */
export interface AwaitedLeader {
  readonly topic: string;
  readonly partition: number;
  /** The last one known. */
  readonly leaderEpoch: number;
}

/** What one look at the cluster gives. Two implementations: from the coordinator, from any broker. */
export interface MetadataSource {
  /** topics undefined: all. A topic that does not exist is absent from the answer. */
  read(topics: readonly string[] | undefined, deadline: Deadline): Promise<ClusterSnapshot>;
  /**
   * The topics of `awaited`, once one of them has a leader in a later epoch, or after `maxWaitMs`. Of their other partitions
   * it may know nothing: leader epoch -1.
   */
  readNext(
    awaited: readonly AwaitedLeader[],
    maxWaitMs: number,
    deadline: Deadline,
  ): Promise<ClusterSnapshot>;
  /** Any broker to talk to when no partition is meant (admin, producer ids, groups); another one each `attempt`. */
  anyBroker(attempt: number, deadline: Deadline): Promise<BrokerNode>;
  /** What the last read said is known to be old: the next one asks another broker, where there is a choice. */
  doubt?(): void;
  close(): Promise<void>;
}

export interface ClusterSnapshot {
  readonly clusterId: string;
  readonly controllerId: number | undefined;
  readonly brokers: readonly BrokerNode[];
  readonly topics: readonly TopicView[];
}

/**
 * Read on demand, cached; one refresh in flight at a time. A lower leader epoch of the same topic id is
 * never accepted. Looks out for the next leader only of partitions whose leader failed, or that have none.
 */
export interface ClusterMetadata {
  /** Waits (with backoff) until the topic exists, or UNKNOWN_TOPIC at the deadline if `waitForTopic` is false or it never came. */
  topic(topic: string, deadline: Deadline): Promise<TopicView>;
  /** From the cache alone. */
  cached(topic: string): TopicView | undefined;
  /** Waits until the partition has a leader. Throws UNKNOWN_PARTITION, LEADER_NOT_AVAILABLE at the deadline. */
  leader(
    topic: string,
    partition: number,
    deadline: Deadline,
  ): Promise<PartitionView & { leader: BrokerNode }>;
  /** A broker refused or vanished: forget this leader (or take the hint that the error carries), refresh soon. */
  reportFailure(topic: string, partition: number, leaderEpoch: number, error: TributaryError): void;
  /**
   * Calls once, when a leader in an epoch later than this is known; soon, where somebody reported a failure or waits in
   * `leader`. Answers how to call that off.
   */
  onLeader(awaited: AwaitedLeader, call: () => void): () => void;
  /** Begins a read of this topic where the last one is long ago. Waits for nothing. */
  refreshIfOld(topic: string): void;
  /** Forces a fresh read of these topics. */
  refresh(topics: readonly string[], deadline: Deadline): Promise<void>;
  snapshot(deadline: Deadline): Promise<ClusterSnapshot>;
  anyBroker(attempt: number, deadline: Deadline): Promise<BrokerNode>;
}

export interface BrokerConnections {
  /** One connection per broker address; made lazily, kept, replaced when the broker's address changes. */
  to(broker: BrokerNode): Connection;
  closeAll(): void;
}
