/**
 * The vocabulary of what lies in the coordinator, as the other packages see it. Implementations stand in
 * the files of the same nouns; every path and payload is in `layout.ts`.
 */
import type { Watch } from './coordinator';

export interface Endpoint {
  readonly listener: string;
  readonly host: string;
  readonly port: number;
}

/** `/brokers/ids/ID` */
export interface BrokerRegistration {
  readonly brokerId: number;
  readonly endpoints: readonly Endpoint[];
  readonly rack: string | undefined;
  /** Machine that the broker runs on: for the message when two brokers claim one id. */
  readonly hostname: string;
}

export interface RegisteredBroker extends BrokerRegistration {
  /** czxid of the ephemeral node: KIP-380. */
  readonly brokerEpoch: number;
}

export interface BrokerRegistry {
  /**
   * Creates the ephemeral node in the current session and answers the broker epoch. A node of an earlier
   * session of this process is removed first. A foreign owner: waits one session timeout, then throws
   * BROKER_ID_IN_USE naming its host. Called only after the logs are recovered.
   */
  register(registration: BrokerRegistration): Promise<number>;
  list(): Promise<RegisteredBroker[]>;
  /** Also called when one bounced (same id, other epoch). */
  watch(onChange: (brokers: RegisteredBroker[]) => void): Watch;
}

/** `/cluster/id`: create-or-read. */
export interface ClusterIdentity {
  getOrCreate(): Promise<string>;
}

/** Proof of being the controller: every controller write checks `/controller_epoch` at this version. */
export interface ControllerFence {
  readonly controllerEpoch: number;
  readonly epochVersion: number;
}

export interface CurrentController {
  readonly brokerId: number;
  readonly controllerEpoch: number;
}

export type ElectionResult =
  | { readonly won: true; readonly fence: ControllerFence }
  | { readonly won: false; readonly current: CurrentController | undefined };

/** `/controller` (ephemeral) and `/controller_epoch`. */
export interface ControllerElection {
  /**
   * One multi: create /controller, bump /controller_epoch. An ambiguous reply is read back. With `replacing` the multi
   * first removes /controller where it still is that very reign; whoever came after it is left alone and answered.
   */
  elect(brokerId: number, replacing?: CurrentController): Promise<ElectionResult>;
  /** Of /controller_epoch, behind a barrier: every lower one is over. 0 before the first election. */
  epoch(): Promise<number>;
  /** Removes /controller if this fence still holds. */
  resign(fence: ControllerFence): Promise<void>;
  current(): Promise<CurrentController | undefined>;
  watch(onChange: (current: CurrentController | undefined) => void): Watch;
}

/** `/brokers/topics/T` and `/config/topics/T` */
export interface TopicRecord {
  readonly topic: string;
  readonly topicId: string;
  /** assignment[partition] = replicas; the first is the preferred leader. */
  readonly assignment: readonly (readonly number[])[];
  readonly configs: Readonly<Record<string, string>>;
  /** By partition: replicas that are being moved. Default: none. */
  readonly reassignments?: ReadonlyMap<number, Reassignment>;
  /**
   * By partition: brokers that were away when their replica was moved away, and have not confirmed its deletion since; the
   * newest last. None of them is in the partition's entry in `assignment`. Default: none.
   */
  readonly owed?: ReadonlyMap<number, readonly number[]>;
  /** Of the topic's node. Only where it was read. */
  readonly version?: number;
  /** Of the node of its settings. Only where it was read; undefined as well where that node is missing. */
  readonly configVersion?: number;
}

/** KIP-455: both are part of the partition's entry in `assignment` until the move is done. */
export interface Reassignment {
  readonly adding: readonly number[];
  readonly removing: readonly number[];
}

export interface DeletionMarker {
  readonly topic: string;
  readonly topicId: string;
}

/** `/admin/deleted_topics/BROKER:ID`: replicas of a topic that is gone, on a broker that was away when it went. */
export interface OwedDeletion {
  readonly topic: string;
  readonly topicId: string;
  readonly brokerId: number;
  readonly partitions: readonly number[];
}

export interface AgedOwedDeletion extends OwedDeletion {
  /** Since the topic went, by the wall clock of whoever reads it. */
  readonly ageMs: number;
}

export interface OwedDeletionStore {
  /** The oldest first. */
  readAll(): Promise<AgedOwedDeletion[]>;
  /** Controller only. It is confirmed, or given up. Nothing there any more counts as done. Throws as other writes do. */
  settle(fence: ControllerFence, owed: OwedDeletion): Promise<void>;
}

export interface TopicStore {
  /** One multi. Throws TOPIC_EXISTS (also while the old one is being deleted, saying so). */
  create(record: TopicRecord): Promise<void>;
  get(topic: string): Promise<TopicRecord | undefined>;
  /**
   * Controller only. Compare-and-set of assignment, reassignments and settings from `before`, as it was read, to `after`;
   * answers it with its versions. A lost reply is read back. Throws BAD_VERSION when the topic is not as `before` any
   * more, STALE_CONTROLLER_EPOCH, COORDINATOR_UNAVAILABLE (maybe written).
   */
  update(fence: ControllerFence, before: TopicRecord, after: TopicRecord): Promise<TopicRecord>;
  names(): Promise<string[]>;
  watchNames(onChange: (names: string[]) => void): Watch;
  /** Creates `/admin/delete_topics/T` holding the id. Idempotent. Throws UNKNOWN_TOPIC, TOPIC_ID_MISMATCH. */
  requestDeletion(marker: DeletionMarker): Promise<void>;
  deletions(): Promise<DeletionMarker[]>;
  watchDeletions(onChange: (markers: DeletionMarker[]) => void): Watch;
  /** Called when this deletion is complete, or another topic of that name is being deleted. */
  watchDeletion(marker: DeletionMarker, onGone: () => void): Watch;
  /**
   * Controller only: removes states, config, topic and marker, if the topic still has that id, and in the same moment
   * notes what is `owed` of its data.
   */
  completeDeletion(
    fence: ControllerFence,
    marker: DeletionMarker,
    owed?: readonly OwedDeletion[],
  ): Promise<void>;
}

/** `/brokers/topics/T/partitions/P/state` */
export interface StoredPartitionState {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** -1: none. */
  readonly leader: number;
  readonly leaderEpoch: number;
  /** Of the controller that wrote it. */
  readonly controllerEpoch: number;
  readonly isr: readonly number[];
  readonly eligibleLeaders: readonly number[];
  /**
   * Those that take part since this leader epoch began: while replicas are moved not yet, or no longer, the whole
   * assignment. Default: not known, the assignment.
   */
  readonly replicas?: readonly number[];
  /**
   * By broker id: the broker epoch in which a member of `isr` or `eligibleLeaders` got its seat. A broker in a later one
   * is another process, or lost its session meanwhile. Missing: not known.
   */
  readonly seatEpochs?: ReadonlyMap<number, number>;
}

export interface VersionedPartitionState extends StoredPartitionState {
  /** Version of the node. */
  readonly partitionEpoch: number;
  /**
   * Transaction that wrote it, to be compared with broker epochs: a broker with a higher one has been registered since.
   * Only where it was read.
   */
  readonly writtenAt?: number;
}

export interface PartitionStateWrite {
  readonly state: StoredPartitionState;
  /** undefined: the node must not exist yet. */
  readonly expectedPartitionEpoch: number | undefined;
}

export type PartitionStateWriteResult =
  | { readonly ok: true; readonly state: VersionedPartitionState }
  /** Somebody else wrote: what is there now; undefined when the node is missing. */
  | { readonly ok: false; readonly current: VersionedPartitionState | undefined };

export interface PartitionStateStore {
  /** All states of one topic, or of these partitions of it, by partition. */
  read(topic: string, only?: readonly number[]): Promise<VersionedPartitionState[]>;
  /** Calls back with the state now and after each change that is seen, until it is stopped; undefined: there is none. */
  watch(
    topic: string,
    partition: number,
    onChange: (state: StoredPartitionState | undefined) => void,
  ): Watch;
  /**
   * Bounded, pipelined multis, each with a check of the fence; one result per write, in order. A partition
   * that lost its compare-and-set does not hold up the others. Lost replies are read back. Throws
   * STALE_CONTROLLER_EPOCH when the fence no longer holds (resign), COORDINATOR_UNAVAILABLE when it cannot be
   * known (resign, too).
   */
  write(
    fence: ControllerFence,
    writes: readonly PartitionStateWrite[],
  ): Promise<PartitionStateWriteResult[]>;
}

/** `/latest_producer_id_block`: blocks of 1,000 by compare-and-set. */
export interface ProducerIdBlocks {
  /** First id of a block of `size` that nobody else gets. */
  next(brokerId: number): Promise<{ readonly first: number; readonly size: number }>;
}

/**
 * drained: leads nothing that another broker can lead. decommissioned: drained, gets no new replicas, and those that it
 * has are moved away.
 */
export type BrokerDuty = 'in service' | 'drained' | 'decommissioned';

/** For `brokerId`: the settings of all brokers that have none of their own. */
export const allBrokers = -1;

/** `/config/brokers/ID`, or `/config/brokers/<default>`; also of brokers that are not registered. */
export interface BrokerSettings {
  readonly brokerId: number;
  readonly configs: Readonly<Record<string, string>>;
  readonly duty: BrokerDuty;
}

export interface VersionedBrokerSettings extends BrokerSettings {
  readonly version: number;
}

export interface BrokerSettingsStore {
  readAll(): Promise<VersionedBrokerSettings[]>;
  /**
   * Controller only. `expectedVersion` undefined: the node must not exist yet. A lost reply is read back. Throws
   * BAD_VERSION, STALE_CONTROLLER_EPOCH, COORDINATOR_UNAVAILABLE (maybe written).
   */
  write(
    fence: ControllerFence,
    settings: BrokerSettings,
    expectedVersion: number | undefined,
  ): Promise<VersionedBrokerSettings>;
}
