/**
 * All that a controller may ask of the world. Effects are executed in their order by the driver; what comes
 * of them comes back as events.
 */
import type { TributaryError } from '@tributary/common';
import type {
  BrokerSettings,
  DeletionMarker,
  OwedDeletion,
  PartitionStateWrite,
  RegisteredBroker,
  TopicRecord,
} from '@tributary/coordination';
import type { BrokerInfo, PartitionState, StopReplica, TopicInfo } from '@tributary/protocol';
import type { ControllerTimer } from './controller-event';
import type { CommandInFlight } from './controller-state';

export interface KeyedWrite extends PartitionStateWrite {
  readonly topicId: string;
}

/** One delta for all linked brokers; `stopReplicas` differ by addressee. */
export interface Publication {
  readonly sequence: number;
  readonly brokers: readonly BrokerInfo[];
  readonly removedBrokers: readonly number[];
  readonly topics: readonly TopicInfo[];
  readonly removedTopicIds: readonly string[];
  readonly partitions: readonly PartitionState[];
  readonly stopReplicas: ReadonlyMap<number, readonly StopReplica[]>;
}

export interface JournalEntry {
  /** Broker, partition or topic that it is about. */
  readonly who: string;
  readonly what: string;
  readonly why: string;
}

export type AlterOutcome =
  | { readonly state: PartitionState; readonly error?: undefined }
  | { readonly error: TributaryError; readonly state?: undefined };

export type ControllerEffect =
  | { readonly type: 'write-states'; readonly writes: readonly KeyedWrite[] }
  | { readonly type: 'publish'; readonly publication: Publication; readonly to: readonly number[] }
  | { readonly type: 'send-image'; readonly brokerId: number }
  | {
      readonly type: 'answer-alteration';
      readonly brokerId: number;
      readonly requestId: number;
      readonly outcome: AlterOutcome;
    }
  | {
      readonly type: 'answer-shutdown';
      readonly brokerId: number;
      readonly requestId: number;
      readonly stillLeading: number;
      readonly error?: TributaryError;
    }
  | { readonly type: 'open-link'; readonly registration: RegisteredBroker }
  | { readonly type: 'close-link'; readonly brokerId: number }
  /** The stream is of no use any more; the link dials again. */
  | { readonly type: 'cut-stream'; readonly brokerId: number; readonly why: string }
  /** What is `owed` is noted in the same moment; see owed-deletions.ts. */
  | {
      readonly type: 'complete-deletion';
      readonly marker: DeletionMarker;
      readonly owed: readonly OwedDeletion[];
    }
  | { readonly type: 'settle-owed'; readonly owed: OwedDeletion }
  /** Compare the names that exist with what the controller knows; read this one again in any case. */
  | { readonly type: 'refresh-topics'; readonly topic: string }
  /** One at a time for each topic. */
  | {
      readonly type: 'update-topic';
      readonly before: TopicRecord;
      readonly after: TopicRecord;
    }
  /** One at a time for each broker. */
  | {
      readonly type: 'write-settings';
      readonly settings: BrokerSettings;
      readonly expectedVersion: number | undefined;
    }
  /** Somebody else wrote them. */
  | { readonly type: 'read-settings' }
  | ({ readonly type: 'answer-command' } & CommandInFlight)
  | { readonly type: 'set-timer'; readonly timer: ControllerTimer; readonly delayMs: number }
  /** After the delay: the event `suspect-stable` of this round. */
  | {
      readonly type: 'watch-suspect';
      readonly brokerId: number;
      readonly round: number;
      readonly delayMs: number;
    }
  | { readonly type: 'journal'; readonly entry: JournalEntry }
  | { readonly type: 'resign'; readonly why: string };

export function topicInfoOf(record: TopicRecord): TopicInfo {
  return {
    topic: record.topic,
    topicId: record.topicId,
    configs: { ...record.configs },
    deleting: false,
  };
}
