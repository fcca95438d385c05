/** One topic that is or was, by its id: what the coordinator says of it. Kept by ClusterModel, filled by MetadataAudit. */
import type { TopicConfig } from '@tributary/common';

export interface TopicModel {
  readonly topic: string;
  readonly topicId: string;
  config: TopicConfig;
  /** By partition. */
  assignment: readonly (readonly number[])[];
  /** By partition: replicas that are on their way in, and out. */
  adding: Readonly<Record<string, readonly number[]>>;
  removing: Readonly<Record<string, readonly number[]>>;
  /** By partition: brokers that were away when their replica was moved away. */
  owed: Readonly<Record<string, readonly number[]>>;
  /** Its deletion was asked for: what happens to its replicas is not judged any more. */
  dying: boolean;
  /** Nothing of it is in the coordinator any more. */
  gone: boolean;
}
