/**
 * Questions that the data plane asks of the metadata image: who leads and where, which brokers may join an
 * ISR, what a topic's settings are. Pure. Called by ReplicaManager and the handlers.
 */
import {
  parseTopicConfig,
  shownTopic,
  TributaryError,
  type LeaderHint,
  type TopicConfig,
} from '@tributary/common';
import type { Address, BrokerInfo, PartitionState, TopicInfo } from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import type { BrokerViews, PartitionSettings } from '../partition/partition-state';
import type { DataLimits } from './data-limits';

export function brokerViews(image: MetadataImage): BrokerViews {
  return new Map(
    image
      .brokers()
      .map(({ brokerId, brokerEpoch, eligible }) => [brokerId, { brokerEpoch, eligible }]),
  );
}

export function sameViews(some: BrokerViews, others: BrokerViews): boolean {
  if (some.size !== others.size) return false;
  return [...some].every(([brokerId, { brokerEpoch, eligible }]) => {
    const other = others.get(brokerId);
    return other?.brokerEpoch === brokerEpoch && other.eligible === eligible;
  });
}

export function endpointOf(broker: BrokerInfo | undefined, listener: string): Address | undefined {
  const endpoint = broker?.endpoints.find((one) => one.listener === listener);
  return endpoint && { host: endpoint.host, port: endpoint.port };
}

/** The leader as the image knows it, with its endpoint on the listener that the caller used. */
export function leaderHint(
  image: MetadataImage | undefined,
  state: Pick<PartitionState, 'topicId' | 'partition'>,
  listener: string,
): LeaderHint | undefined {
  const known = image?.partition(state.topicId, state.partition);
  if (!image || !known) return undefined;
  const { leader: leaderId, leaderEpoch } = known;
  return { leaderId, leaderEpoch, ...endpointOf(image.broker(leaderId), listener) };
}

/** The controller has validated them; a setting of a newer version falls back to the defaults. */
export function topicConfigOf(
  topic: TopicInfo | undefined,
  replicationFactor: number,
): TopicConfig {
  try {
    return parseTopicConfig(topic?.configs ?? {}, replicationFactor);
  } catch {
    return parseTopicConfig({}, replicationFactor);
  }
}

/** What the core of a partition must know of them. Effective min ISR: never more than there are replicas. */
export function partitionSettings(
  { minInsyncReplicas, flush }: TopicConfig,
  state: MovingReplicas,
  { replicaLagTimeMaxMs }: Pick<DataLimits, 'replicaLagTimeMaxMs'>,
): PartitionSettings {
  return {
    minInsyncReplicas: Math.min(minInsyncReplicas, replicationFactor(state)),
    replicaLagTimeMaxMs,
    flush,
  };
}

type MovingReplicas = Pick<PartitionState, 'replicas' | 'addingReplicas' | 'removingReplicas'>;

/**
 * By which a default min ISR goes: of a partition that is moved what it was before, until those that go are left out, so
 * that nobody commits with fewer replicas than were asked for, and nobody waits for those that are new.
 */
export function replicationFactor({
  replicas,
  addingReplicas,
  removingReplicas,
}: MovingReplicas): number {
  const isLeftOut =
    removingReplicas.length > 0 && !replicas.some((id) => removingReplicas.includes(id));
  if (isLeftOut) return replicas.length;
  return replicas.filter((id) => !addingReplicas.includes(id)).length;
}

export interface PartitionName {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
}

const TOPIC_ID_SHOWN = 40;

/** Why a partition that is not on this broker is not: the error for whoever asked. */
export function absence(
  image: MetadataImage | undefined,
  asked: PartitionName,
  listener: string,
): TributaryError {
  const { topicId, partition } = asked;
  const topic = shownTopic(asked.topic);
  if (!image?.topicById(topicId)) {
    const namesake = image?.topicByName(asked.topic);
    if (!namesake) return new TributaryError('UNKNOWN_TOPIC', `topic ${topic} is not known here`);
    const message = `topic ${topic} has id ${namesake.topicId}, not ${topicId.slice(0, TOPIC_ID_SHOWN)}`;
    return new TributaryError('TOPIC_ID_MISMATCH', message);
  }
  const state = image.partition(topicId, partition);
  if (!state) {
    const message = `topic ${topic} has no partition ${partition}`;
    return new TributaryError('UNKNOWN_PARTITION', message);
  }
  const message = `this broker has no replica of ${topic}-${partition}`;
  return new TributaryError('NOT_LEADER', message, { leader: leaderHint(image, state, listener) });
}
