/**
 * The controller's memory during one term of office: immutable, changed by `step` alone.
 *
 * Invariants: `stored` of a partition is what the coordinator acknowledged last; a partition has at most
 * one write in flight; a topic is published only when all its partitions are stored, so that nobody sees
 * a topic with too few partitions; `sequence` is that of the last image or delta.
 */
import type {
  BrokerDuty,
  OwedDeletion,
  RegisteredBroker,
  StoredPartitionState,
  TopicRecord,
  VersionedBrokerSettings,
  VersionedPartitionState,
} from '@tributary/coordination';
import type {
  AlterPartitionRequest,
  ControllerAnswerInput,
  ControllerRequest,
  PartitionAnswerInput,
} from '@tributary/protocol';
import { isTrusted, type Standing } from './broker-standing';

/**
 * starting: the context is loaded, streams are coming up, nothing is elected yet.
 * active: in office. resigned: nothing is done any more, whatever comes.
 */
export type ControllerPhase = 'starting' | 'active' | 'resigned';

export interface ControllerState {
  readonly controllerId: number;
  readonly controllerEpoch: number;
  readonly phase: ControllerPhase;
  readonly sequence: number;
  readonly brokers: ReadonlyMap<number, BrokerState>;
  /** By topic id. */
  readonly topics: ReadonlyMap<string, TopicState>;
  /** Controlled shutdowns that have not been answered yet. */
  readonly shutdowns: readonly ShutdownRequest[];
  /** As stored, by broker id; `allBrokers` for the default of all. */
  readonly brokerSettings: ReadonlyMap<number, VersionedBrokerSettings>;
  /** That a person has asked for, and that are being written. */
  readonly elections: readonly Election[];
  /** Intervals of the timer of the preferred leaders that are over. */
  readonly steadinessTicks: number;
  /** Broker ids whose settings are being written. */
  readonly settingsInFlight: ReadonlyMap<number, SettingsUpdate>;
  /** By broker id, registered or not; see suspicion-duties.ts. */
  readonly suspicions: ReadonlyMap<number, Suspicion>;
  /** Brokers in service again whose moves away are still to be cancelled. */
  readonly returning: ReadonlySet<number>;
  /** By broker and topic id, the oldest first; see owed-deletions.ts. */
  readonly owedDeletions: ReadonlyMap<string, OwedEntry>;
  /** They are decided when what they concern is written; at most `maxWaitingCommands`. */
  readonly waitingCommands: readonly PendingCommand[];
}

export interface BrokerState {
  readonly registration: RegisteredBroker;
  readonly standing: Standing;
  /** Asked for controlled shutdown in this registration: gets nothing new, gives away what it can. */
  readonly leaving: boolean;
  /** A suspect that was not stable for long enough yet: leads only what no other can. */
  readonly onProbation: boolean;
  /** Its replicas that cannot serve, in this registration, by `partitionKey`. */
  readonly offline: ReadonlyMap<string, Outage>;
  /** Sequence of the image that the present stream began with; an acknowledgement below it is of another. */
  readonly imageSequence: number;
  /** As its process told in the last hello of this registration. */
  readonly past?: BrokerPast;
  /** `steadinessTicks` when it became ready; undefined: it has not been. */
  readonly readyAtTick?: number;
}

/** How the process before this one ended, and what lies on the disks since. */
export interface BrokerPast {
  readonly stop: 'clean' | 'process' | 'machine' | 'never ran';
  /** Of the last life of that process, or of one before it, that was imaged. 0: none is known. */
  readonly brokerEpoch: number;
  /** Broker epochs that its present process has had before this one. Empty: none, or it does not say. */
  readonly earlierEpochs: ReadonlySet<number>;
  /** By `partitionKey`. */
  readonly replicas: ReadonlyMap<string, ReplicaPast>;
}

export interface ReplicaPast {
  readonly lastEpoch: number;
  readonly logEndOffset: number;
  readonly cutBelowHighWatermark: boolean;
  readonly completeAgain: boolean;
}

export interface Suspicion {
  /** How often it failed without goodbye; forgotten after `suspicionMemoryMs` without. */
  readonly flaps: number;
  /** Of the timer that counts. */
  readonly round: number;
  /** Until it was stable for its time. */
  readonly onProbation: boolean;
}

export interface Outage {
  /** As the broker counts them: a higher one is another outage. */
  readonly incident: number;
  readonly reason: string;
}

export interface ShutdownRequest {
  readonly brokerId: number;
  readonly requestId: number;
}

export interface TopicState {
  readonly record: TopicRecord;
  /** min(min.insync.replicas, replication factor). */
  readonly minIsr: number;
  /** What counts is on the device: the machine may go down. */
  readonly isSynced: boolean;
  /** Where nobody complete is left, somebody else leads at once. */
  readonly mayElectUnclean: boolean;
  /** Index = partition number. */
  readonly partitions: readonly PartitionEntry[];
  readonly published: boolean;
  /** Set once the deletion is requested: out of the image, replicas are being deleted. */
  readonly deletion: TopicDeletion | undefined;
  /** Of assignment, reassignments or settings; one at a time. */
  readonly update: TopicUpdate | undefined;
}

export interface TopicUpdate {
  readonly after: TopicRecord;
  readonly why: string;
  /** Who is to be answered, and with what, once it is written. */
  readonly commands: readonly CommandInFlight[];
}

export interface SettingsUpdate {
  readonly why: string;
  readonly commands: readonly CommandInFlight[];
}

/** What a person asks, as some broker passed it on. */
export interface PendingCommand {
  /** Whose stream it came on. */
  readonly brokerId: number;
  readonly request: ControllerRequest;
}

export interface CommandInFlight {
  readonly brokerId: number;
  readonly requestId: number;
  readonly answer: CommandAnswer;
}

/** Without its request id. */
export type CommandAnswer = Omit<ControllerAnswerInput, 'requestId'>;

/** That a person has asked for: answered when the last of its partitions is written or lost. */
export interface Election {
  readonly brokerId: number;
  readonly requestId: number;
  readonly answers: readonly PartitionAnswerInput[];
  /** `partitionKey`s that are being written, with their places in `answers`. */
  readonly waiting: ReadonlyMap<string, number>;
}

export interface TopicDeletion {
  /** `replicaKey`s that have not confirmed yet. */
  readonly waiting: ReadonlySet<string>;
  /** Its nodes are being removed, and what these brokers have is being noted. */
  readonly completing: readonly OwedDeletion[] | undefined;
}

/** See owed-deletions.ts. */
export interface OwedEntry {
  readonly owed: OwedDeletion;
  /** Partitions that the broker has not confirmed. */
  readonly waiting: ReadonlySet<number>;
  /** Its note is being removed. */
  readonly settling: boolean;
}

export interface PartitionEntry {
  /** All of them, also those that are being added or removed. */
  readonly replicas: readonly number[];
  /** Being moved here (KIP-455). */
  readonly adding: readonly number[];
  /** They go once all that are added are in sync. */
  readonly removing: readonly number[];
  /** Those of `removing` that have confirmed their deletion to this controller. Default: none. */
  readonly removed?: readonly number[];
  /** Those that owed a deletion (owed-replicas.ts) and have confirmed it to this controller. Default: none. */
  readonly paid?: readonly number[];
  readonly stored: VersionedPartitionState | undefined;
  /** Its node vanished under us: left alone until the topic is read again under another id. */
  readonly isOrphan: boolean;
  readonly write: WriteInFlight | undefined;
  /** Requests that came during a write; looked at when it is done. At most `maxWaitingAlterations`. */
  readonly waiting: readonly AlterRequest[];
}

/** A leader has one request in flight; retries after a timeout make it a few. */
export const maxWaitingAlterations = 4;

export interface WriteInFlight {
  readonly state: StoredPartitionState;
  readonly why: string;
  /** Who is to be answered. */
  readonly request: AlterRequest | undefined;
}

export interface AlterRequest {
  /** Whose stream it came on. */
  readonly brokerId: number;
  readonly request: AlterPartitionRequest;
}

export function replicaKey(partition: number, brokerId: number): string {
  return `${partition}/${brokerId}`;
}

/** Keeps its seats: trusted and not on its way out. */
export function stays(broker: BrokerState | undefined): boolean {
  return broker !== undefined && isTrusted(broker.standing) && !broker.leaving;
}

/**
 * Another life than the one that got its seat in this state. Where the state does not say which one that was: one that
 * has registered since it was written.
 */
export function isNewLife(
  stored: VersionedPartitionState,
  broker: BrokerState | undefined,
): boolean {
  if (!broker) return false;
  const { brokerId, brokerEpoch } = broker.registration;
  const given = stored.seatEpochs?.get(brokerId) ?? stored.writtenAt;
  return given !== undefined && brokerEpoch > given;
}

/** May be elected and may join an ISR. */
export function isEligible(broker: BrokerState | undefined): boolean {
  return broker?.standing === 'ready' && !broker.leaving;
}

/** In the order given, but those on probation after all others. */
export function steadyFirst(
  brokerIds: readonly number[],
  brokers: ReadonlyMap<number, BrokerState>,
): number[] {
  const onProbation = (id: number): boolean => brokers.get(id)?.onProbation ?? false;
  return [...brokerIds.filter((id) => !onProbation(id)), ...brokerIds.filter(onProbation)];
}

/** What a person has told this broker to be, registered or not. */
export function dutyOf(
  { brokerSettings }: Pick<ControllerState, 'brokerSettings'>,
  brokerId: number,
): BrokerDuty {
  return brokerSettings.get(brokerId)?.duty ?? 'in service';
}

/** Drained or decommissioned: leads only what no other in-sync replica can lead. */
export function prefersNotToLead(
  state: Pick<ControllerState, 'brokerSettings'>,
  brokerId: number,
): boolean {
  return dutyOf(state, brokerId) !== 'in service';
}
