/**
 * Metadata: who leads what, and where it listens; from this broker's image alone. Called by clients that find
 * their leaders through a broker.
 */
import {
  methods,
  unaryHandler,
  type CallContext,
  type Handler,
  type MetadataRequest,
  type MetadataResponseInput,
  type TopicMetadataInput,
  toWireError,
} from '@tributary/protocol';
import { shownTopic, TributaryError } from '@tributary/common';
import type { MetadataCache } from '../metadata/metadata-cache';
import type { MetadataImage } from '../metadata/metadata-image';
import { endpointOn, listenerFor } from './listener-endpoints';

/** Topics that one request may name. */
export const maxTopicsPerRequest = 10_000;

export interface MetadataHandlerOptions {
  readonly metadata: MetadataCache;
  readonly clusterId: string;
}

export function metadataHandler(options: MetadataHandlerOptions): Handler {
  return unaryHandler(methods.broker.metadata, async (request, context) =>
    answerMetadata(options, request, context),
  );
}

export function answerMetadata(
  options: MetadataHandlerOptions,
  request: MetadataRequest,
  context: CallContext,
): MetadataResponseInput {
  if (request.topics.length > maxTopicsPerRequest) {
    const message = `${request.topics.length} topics in one request, at most ${maxTopicsPerRequest}`;
    throw new TributaryError('INVALID_ARGUMENT', message);
  }
  const image = options.metadata.require();
  const listener = listenerFor(request.listener, context, image);
  const names = request.allTopics ? image.topics().map(({ topic }) => topic) : request.topics;
  return {
    clusterId: options.clusterId,
    controllerId: image.controllerId,
    brokers: image.brokers().flatMap(({ brokerId, brokerEpoch, rack }) => {
      const endpoint = endpointOn(image, brokerId, listener);
      return endpoint
        ? [{ brokerId, brokerEpoch, host: endpoint.host, port: endpoint.port, rack }]
        : [];
    }),
    topics: names.map((topic) => topicMetadata(image, topic)),
  };
}

function topicMetadata(image: MetadataImage, name: string): TopicMetadataInput {
  const topic = image.topicByName(name);
  if (!topic) {
    const message = `topic ${shownTopic(name)} does not exist`;
    const error = toWireError(new TributaryError('UNKNOWN_TOPIC', message));
    return { topic: name, topicId: '', partitions: [], configs: {}, error };
  }
  return {
    topic: name,
    topicId: topic.topicId,
    configs: topic.configs,
    partitions: image.partitions(topic.topicId).map((state) => ({
      partition: state.partition,
      leader: state.leader,
      leaderEpoch: state.leaderEpoch,
      partitionEpoch: state.partitionEpoch,
      replicas: state.replicas,
      isr: state.isr,
      eligibleLeaders: state.eligibleLeaders,
      addingReplicas: state.addingReplicas,
      removingReplicas: state.removingReplicas,
      offlineReplicas: state.offlineReplicas.map(({ brokerId, reason }) => ({ brokerId, reason })),
    })),
  };
}
