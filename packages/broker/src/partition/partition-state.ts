/**
 * The words of the partition's core: what a replica knows (state), what may happen to it (event), and what
 * its owner must do about it (effect). Nothing here does I/O; `partition-step.ts` is the one place that
 * turns a state into the next.
 *
 * ```
 *            lead                    lead (higher epoch)
 *  offline ---------> leader ----+
 *     ^  \             |   ^     |  resign, fail -> offline
 *     |   \ follow     |   +-----+
 *     |    v           | follow
 *     +-- follower <---+
 *   resign, fail
 * ```
 *
 * Invariants: leader epoch never goes back, nor the partition epoch within one (but for `resign`, which
 * forgets it, so that the same state may be taken again); highWatermark <= logEndOffset, and goes back
 * only with a truncation.
 */
import type { ErrorCode, FlushMode } from '@tributary/common';

/** What a leader must know of the brokers to judge who may join the ISR. */
export interface BrokerView {
  readonly brokerEpoch: number;
  /** Live, and not shutting down. */
  readonly eligible: boolean;
}

export type BrokerViews = ReadonlyMap<number, BrokerView>;

interface ReplicaState {
  readonly leaderEpoch: number;
  readonly partitionEpoch: number;
  /** Exclusive end of what is known to be committed. */
  readonly highWatermark: number;
  readonly logEndOffset: number;
  /** Of the next question to the controller. Never used twice, so that a late answer finds nothing. */
  readonly nextRequestId: number;
}

/** Neither leads nor follows: not told yet, resigned, not in the image, or its disk failed. */
export interface OfflineState extends ReplicaState {
  readonly role: 'offline';
  readonly reason: string;
  /** After an I/O error: stays offline until the process starts again. */
  readonly failed: boolean;
}

export interface FollowerState extends ReplicaState {
  readonly role: 'follower';
  /** -1: the partition has no leader now. */
  readonly leaderId: number;
}

/** What the leader knows of one other replica, in this leader epoch. */
export interface FollowerProgress {
  readonly brokerId: number;
  /** Of the newest attach; -1: never attached in this epoch. */
  readonly brokerEpoch: number;
  readonly attached: boolean;
  /** An acknowledgement came on the newest attach. */
  readonly acknowledged: boolean;
  /** As acknowledged on the newest attach; -1: nothing yet. */
  readonly logEndOffset: number;
  /** Send time of the newest mark that it has reached; -Infinity: none. */
  readonly caughtUpAt: number;
}

export interface IsrMember {
  readonly brokerId: number;
  readonly brokerEpoch: number;
}

/** An ISR that the controller was asked for and has not confirmed. One at a time. */
export interface PendingIsr {
  readonly requestId: number;
  readonly isr: readonly number[];
  readonly members: readonly IsrMember[];
  /** The outcome of the last try is unknown, or waits for news: ask the same again then. */
  readonly retryAt: number | undefined;
  /** Since when somebody claims that a higher leader epoch began; undefined: nobody does. */
  readonly doubtedAt?: number | undefined;
}

export interface LeaderState extends ReplicaState {
  readonly role: 'leader';
  readonly brokerId: number;
  /** Everything of the own log below it is on the device. With `flush=sync` only that counts for the HW. */
  readonly durableEndOffset: number;
  /** LESO: log end offset when this epoch began. */
  readonly epochStartOffset: number;
  /** As committed by the controller. */
  readonly isr: readonly number[];
  readonly replicas: readonly number[];
  readonly pending: PendingIsr | undefined;
  /** After INELIGIBLE_REPLICA: no expansion is asked for before this. */
  readonly expandNotBefore: number;
  /** Every other replica of the assignment or the ISR. */
  readonly followers: readonly FollowerProgress[];
  readonly brokers: BrokerViews;
  readonly settings: PartitionSettings;
}

export interface PartitionSettings {
  /** min(min.insync.replicas, replication factor). */
  readonly minInsyncReplicas: number;
  readonly replicaLagTimeMaxMs: number;
  /** What of the own log counts: all of it, or what is on the device. What followers acknowledge counts as they say it. */
  readonly flush: FlushMode;
}

export type PartitionState = OfflineState | FollowerState | LeaderState;
export type Role = PartitionState['role'];

export type PartitionEvent =
  /** The log is there and the epoch is on disk: leads from now on. */
  | {
      readonly kind: 'lead';
      readonly brokerId: number;
      readonly leaderEpoch: number;
      readonly partitionEpoch: number;
      readonly isr: readonly number[];
      readonly replicas: readonly number[];
      readonly logEndOffset: number;
      readonly durableEndOffset: number;
      readonly brokers: BrokerViews;
      readonly settings: PartitionSettings;
    }
  | {
      readonly kind: 'follow';
      readonly leaderId: number;
      readonly leaderEpoch: number;
      readonly partitionEpoch: number;
    }
  /** Same leader epoch, new partition epoch: an ISR change, ours or the controller's. */
  | {
      readonly kind: 'changed';
      readonly leaderId: number;
      readonly leaderEpoch: number;
      readonly partitionEpoch: number;
      readonly isr: readonly number[];
      readonly replicas: readonly number[];
    }
  /** Brokers came, went, or a setting changed. */
  | {
      readonly kind: 'cluster';
      readonly brokers: BrokerViews;
      readonly settings: PartitionSettings;
    }
  | { readonly kind: 'appended'; readonly logEndOffset: number }
  /** The own log is on the device up to there. */
  | { readonly kind: 'durable'; readonly durableEndOffset: number }
  | { readonly kind: 'attached'; readonly brokerId: number; readonly brokerEpoch: number }
  | { readonly kind: 'detached'; readonly brokerId: number }
  | {
      readonly kind: 'acknowledged';
      readonly brokerId: number;
      readonly logEndOffset: number;
      /** Send time of the newest mark that this acknowledgement reaches, if it reaches a new one. */
      readonly caughtUpAt: number | undefined;
    }
  | { readonly kind: 'tick' }
  /** A client claims a higher leader epoch. Clients are not believed, but the controller is asked. */
  | { readonly kind: 'doubted' }
  | {
      readonly kind: 'altered';
      readonly requestId: number;
      readonly leaderEpoch: number;
      readonly partitionEpoch: number;
      readonly isr: readonly number[];
    }
  | { readonly kind: 'alterFailed'; readonly requestId: number; readonly code: ErrorCode }
  /** A follower appended what its leader pushed, or heard a higher HW. */
  | {
      readonly kind: 'replicated';
      readonly logEndOffset: number;
      readonly leaderHighWatermark: number;
    }
  | {
      readonly kind: 'truncated';
      readonly logEndOffset: number;
      readonly logStartOffset: number;
    }
  /** `shownEpoch`: somebody knows of a higher leader epoch; no lower one is taken from now on. */
  | { readonly kind: 'resign'; readonly reason: string; readonly shownEpoch?: number }
  | { readonly kind: 'fail'; readonly reason: string };

export type EventKind = PartitionEvent['kind'];
export type EventOf<K extends EventKind> = Extract<PartitionEvent, { kind: K }>;

export type PartitionEffect =
  /** Wake acks=all, fetches and pushes. */
  | { readonly kind: 'highWatermark'; readonly highWatermark: number }
  /** Ask the controller; answer with `altered` or `alterFailed` and this request id. */
  | {
      readonly kind: 'alterPartition';
      readonly requestId: number;
      readonly leaderEpoch: number;
      readonly partitionEpoch: number;
      readonly members: readonly IsrMember[];
    }
  /** Fail the waiters ('maybe written'), end the attaches. */
  | { readonly kind: 'leadershipEnded'; readonly reason: string }
  | {
      readonly kind: 'isrChanged';
      readonly isr: readonly number[];
      readonly previous: readonly number[];
    };

export interface Step {
  readonly state: PartitionState;
  readonly effects: readonly PartitionEffect[];
}

export function newReplica(logEndOffset: number, highWatermark: number): OfflineState {
  return {
    role: 'offline',
    reason: 'waits for the controller',
    failed: false,
    leaderEpoch: -1,
    partitionEpoch: -1,
    highWatermark: Math.min(highWatermark, logEndOffset),
    logEndOffset,
    nextRequestId: 1,
  };
}
