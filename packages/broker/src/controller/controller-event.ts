/**
 * All that can happen to a controller. Events about a broker's stream carry the broker epoch they were
 * observed in: what belongs to an earlier life of that broker is dropped (KAFKA-7235).
 * Made by the driver (`controller.ts`), consumed by `step`.
 */
import type { TributaryError } from '@tributary/common';
import type {
  AgedOwedDeletion,
  DeletionMarker,
  OwedDeletion,
  PartitionStateWriteResult,
  RegisteredBroker,
  TopicRecord,
  VersionedBrokerSettings,
  VersionedPartitionState,
} from '@tributary/coordination';
import type { BrokerHello, OfflineReplica, RestoredReplica, StopResult } from '@tributary/protocol';
import type { AlterRequest, PendingCommand, ShutdownRequest } from './controller-state';

export interface TopicContext {
  readonly record: TopicRecord;
  readonly states: readonly VersionedPartitionState[];
}

/** Everything that a new controller reads from the coordinator before it acts. */
export interface ControllerContext {
  readonly brokers: readonly RegisteredBroker[];
  readonly topics: readonly TopicContext[];
  readonly deletions: readonly DeletionMarker[];
  readonly brokerSettings: readonly VersionedBrokerSettings[];
  /** The oldest first. Default: none. */
  readonly owedDeletions?: readonly AgedOwedDeletion[];
}

export interface BrokerLife {
  readonly brokerId: number;
  readonly brokerEpoch: number;
}

/** What a broker's hello says of its past. */
export type ToldPast = Pick<
  BrokerHello,
  'replicas' | 'previousStop' | 'previousBrokerEpoch' | 'earlierBrokerEpochs'
>;

export interface WriteOutcome {
  readonly topicId: string;
  readonly partition: number;
  readonly result: PartitionStateWriteResult;
}

/** What came of removing a note; see owed-deletions.ts. */
export type OwedSettlement =
  | { readonly type: 'owed-settled'; readonly owed: OwedDeletion }
  | { readonly type: 'owed-failed'; readonly owed: OwedDeletion; readonly error: TributaryError };

export type ControllerEvent =
  | { readonly type: 'elected'; readonly context: ControllerContext }
  | { readonly type: 'brokers-changed'; readonly brokers: readonly RegisteredBroker[] }
  | ({ readonly type: 'stream-up'; readonly hello: ToldPast } & BrokerLife)
  | ({ readonly type: 'stream-down'; readonly why: string } & BrokerLife)
  | ({ readonly type: 'refused'; readonly why: string } & BrokerLife)
  | ({ readonly type: 'acknowledged'; readonly sequence: number } & BrokerLife)
  | { readonly type: 'late'; readonly brokers: readonly BrokerLife[] }
  /** `names`: all that exist now; `topics`: those of them that the controller did not know. */
  | {
      readonly type: 'topics-changed';
      readonly names: readonly string[];
      readonly topics: readonly TopicContext[];
    }
  | { readonly type: 'deletions-changed'; readonly markers: readonly DeletionMarker[] }
  | { readonly type: 'deletion-completed'; readonly topicId: string }
  | OwedSettlement
  | { readonly type: 'deletion-failed'; readonly topicId: string; readonly error: TributaryError }
  | { readonly type: 'states-written'; readonly outcomes: readonly WriteOutcome[] }
  | { readonly type: 'write-failed'; readonly error: TributaryError }
  | { readonly type: 'topic-updated'; readonly record: TopicRecord }
  | {
      readonly type: 'topic-update-failed';
      readonly topicId: string;
      readonly error: TributaryError;
    }
  | { readonly type: 'settings-written'; readonly settings: VersionedBrokerSettings }
  | {
      readonly type: 'settings-failed';
      readonly brokerId: number;
      readonly error: TributaryError;
    }
  | { readonly type: 'settings-read'; readonly settings: readonly VersionedBrokerSettings[] }
  | ({ readonly type: 'command' } & PendingCommand)
  | ({ readonly type: 'alter-partition' } & AlterRequest)
  | ({ readonly type: 'controlled-shutdown' } & ShutdownRequest & BrokerLife)
  | ({ readonly type: 'replicas-stopped'; readonly results: readonly StopResult[] } & BrokerLife)
  | ({
      readonly type: 'replicas-offline';
      readonly replicas: readonly OfflineReplica[];
    } & BrokerLife)
  | ({
      readonly type: 'replicas-restored';
      readonly replicas: readonly RestoredReplica[];
    } & BrokerLife)
  | { readonly type: 'suspect-stable'; readonly brokerId: number; readonly round: number }
  | { readonly type: 'timer'; readonly timer: ControllerTimer }
  | { readonly type: 'resign'; readonly why: string };

export type ControllerTimer =
  'stream-grace' | 'deletion-retry' | 'preferred-leaders' | 'preferred-lot';
