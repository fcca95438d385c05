/**
 * The seams inside a broker: what the control plane (controller/, metadata/) and the data plane
 * (partition/, replication/, rpc/) want of each other. Each side depends on these interfaces alone.
 */
import type {
  BrokerHelloInput,
  ControllerAnswer,
  ControllerRequestInput,
  LocalReplica,
  OfflineReplica,
  PartitionState,
  RestoredReplica,
  StopReplica,
  StopResult,
} from '@tributary/protocol';
import type { MetadataImage } from './metadata/metadata-image';

/** The data plane, as the receiver of the control stream drives it. Implemented by ReplicaManager. */
export interface ReplicaHost {
  /**
   * Becomes leader or follower of the partitions named (changed states, already in `image`), atomically per
   * partition: a state is taken only with a leader epoch above the local one, or the same leader epoch and a higher
   * partition epoch; the same or older is ignored (KAFKA-1188). Never throws: a partition that fails goes offline here.
   */
  apply(changed: readonly PartitionState[], image: MetadataImage): Promise<void>;
  /** Deletes or stops replicas, each fenced by topic id, leader epoch and broker epoch. */
  stopReplicas(requests: readonly StopReplica[]): Promise<StopResult[]>;
  /** Ends all leadership at once and fails waiters with NOT_LEADER, 'maybe written' (session expired, higher controller). */
  resignAll(reason: string): void;
  /** What this broker leads now. */
  leaderships(): Leadership[];
  /** Ends the leadership of this very partition, if it is of an earlier leader epoch than this one. */
  endLeadership(later: Leadership, reason: string): void;
  /** What lies on the disks, for BrokerHello. */
  localReplicas(): LocalReplica[];
  /**
   * How the process before this one ended, and the earlier registrations of this one, for BrokerHello. The first `apply`
   * after a registration says that it is known.
   */
  toldLives(): Pick<
    BrokerHelloInput,
    'previousStop' | 'previousBrokerEpoch' | 'earlierBrokerEpochs'
  >;
  /** Those that cannot serve, be it for good or while they are refilled. Told to each controller. */
  offlineReplicas(): OfflineReplica[];
  /** Those that were told to be offline in this registration and are complete again. Told to each controller. */
  restoredReplicas(): RestoredReplica[];
  /** The new registration's epoch, after each (re-)registration; undefined while not registered. */
  setBrokerEpoch(brokerEpoch: number | undefined): void;
  /** Both ZooKeeper and controller silent for zombieGraceMs: refuse acks 0 and 1 while true. */
  setIsolated(isolated: boolean): void;
  /** What this broker may push to replicas far behind, in bytes per second, from now on; undefined: no limit. */
  setCatchUpRate(bytesPerSecond: number | undefined): void;
}

export interface Leadership {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
}

export interface IsrChange {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly leaderEpoch: number;
  readonly partitionEpoch: number;
  readonly isr: readonly { readonly brokerId: number; readonly brokerEpoch: number }[];
  /** A person accepts that this damaged replica alone counts; see the proto. Default: no. */
  readonly acceptLoss?: boolean;
}

/** The way to the controller, as leaders use it. Implemented by the control-stream receiver. */
export interface PartitionAlterer {
  /**
   * Answers the state as it is after the change (which also comes as a delta). Rejects with
   * INVALID_PARTITION_EPOCH, FENCED_LEADER_EPOCH, INELIGIBLE_REPLICA, NOT_CONTROLLER, UNAVAILABLE (no stream now),
   * TIMEOUT (unknown: retry the same).
   */
  alterPartition(change: IsrChange): Promise<PartitionState>;
  /** One more of ReplicaHost.offlineReplicas. Without a stream now the next one begins with all of them. */
  replicaFailed(replica: OfflineReplica): void;
  /** One more of ReplicaHost.restoredReplicas. Without a stream now the next one begins with all of them. */
  replicaRestored(replica: RestoredReplica): void;
}

/** What a person asks of the controller: one of the four. */
export type ControllerCommand = Pick<
  ControllerRequestInput,
  'alterTopic' | 'reassignPartitions' | 'electLeaders' | 'alterBroker' | 'command'
>;

/** The way to the controller, as admin handlers use it. Implemented by the control-stream receiver. */
export interface ControllerAccess {
  /**
   * Answers when it is decided and written. Rejects with what the controller answered, UNAVAILABLE (no stream now, or the
   * controller has just begun), TIMEOUT (maybe written).
   */
  askController(command: ControllerCommand, timeoutMs: number): Promise<ControllerAnswer>;
}
