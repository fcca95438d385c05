/**
 * A broker's immutable picture of the cluster, made from the controller's image and deltas. Read by every
 * request handler; replaced as a whole, so that a handler that keeps one sees a consistent state.
 * Invariant: states only move forward (higher controller epoch and sequence).
 */
import type { BrokerInfo, PartitionState, TopicInfo } from '@tributary/protocol';

export interface MetadataImage {
  readonly controllerId: number;
  readonly controllerEpoch: number;
  readonly sequence: number;
  broker(brokerId: number): BrokerInfo | undefined;
  brokers(): readonly BrokerInfo[];
  topicByName(topic: string): TopicInfo | undefined;
  topicById(topicId: string): TopicInfo | undefined;
  topics(): readonly TopicInfo[];
  partition(topicId: string, partition: number): PartitionState | undefined;
  /** Of one topic, by partition number. */
  partitions(topicId: string): readonly PartitionState[];
}
