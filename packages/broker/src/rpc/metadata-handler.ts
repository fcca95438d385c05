/**
 * Metadata: who leads what, and where it listens; from this broker's image alone. An answer can wait for the next leader of
 * a partition, as a fetch waits for records. Called by clients that find their leaders through a broker.
 */
import {
  methods,
  unaryHandler,
  type AwaitedLeader,
  type CallContext,
  type Handler,
  type MetadataRequest,
  type MetadataResponseInput,
  type TopicMetadataInput,
  toWireError,
} from '@tributary/protocol';
import { Deadline, hasCode, shownTopic, TributaryError, type Clock } from '@tributary/common';
import { maxImageWaiters, type MetadataCache } from '../metadata/metadata-cache';
import type { MetadataImage } from '../metadata/metadata-image';
import { endpointOn, listenerFor } from './listener-endpoints';

/** Topics that one request may name. */
export const maxTopicsPerRequest = 10_000;
/** Partitions whose next leader one request may wait for. */
export const maxAwaitedLeaders = 10_000;
/** Longest wait for one of them. */
export const maxLeaderWaitMs = 1_000;
/** Requests that may wait at once, half of all that may wait for an image: a failover takes no room from commands. */
export const maxLeaderWaits = maxImageWaiters / 2;
/** Leaders that all of them may await together: each new image is held against every one. */
export const maxAwaitedInAll = 100_000;

export interface MetadataHandlerOptions {
  readonly metadata: MetadataCache;
  readonly clusterId: string;
  readonly clock: Clock;
}

export function metadataHandler(options: MetadataHandlerOptions): Handler {
  const waits: LeaderWaits = { requests: 0, leaders: 0 };
  return unaryHandler(methods.broker.metadata, async (request, context) => {
    await nextLeader(options, waits, request, context);
    return answerMetadata(options, request, context);
  });
}

/** What waits now. */
interface LeaderWaits {
  requests: number;
  leaders: number;
}

/** Resolves without one, too: when the wait is over, or when too many wait already. */
async function nextLeader(
  { metadata, clock }: MetadataHandlerOptions,
  waits: LeaderWaits,
  { awaited, maxWaitMs }: MetadataRequest,
  { signal }: CallContext,
): Promise<void> {
  if (awaited.length > maxAwaitedLeaders) {
    const message = `${awaited.length} leaders are awaited in one request, at most ${maxAwaitedLeaders}`;
    throw new TributaryError('INVALID_ARGUMENT', message);
  }
  if (awaited.length === 0 || maxWaitMs <= 0 || !metadata.known) return;
  if (waits.requests >= maxLeaderWaits || waits.leaders + awaited.length > maxAwaitedInAll) return;
  const deadline = Deadline.after(clock, Math.min(maxWaitMs, maxLeaderWaitMs), signal);
  const isThere = (image: MetadataImage): boolean => awaited.some((one) => hasLeader(image, one));
  waits.requests += 1;
  waits.leaders += awaited.length;
  try {
    await metadata.waitFor(isThere, deadline, 'a leader');
  } catch (error) {
    if (!hasCode(error, 'TIMEOUT', 'OVERLOADED')) throw error;
  } finally {
    waits.requests -= 1;
    waits.leaders -= awaited.length;
  }
}

function hasLeader(
  image: MetadataImage,
  { topic, partition, leaderEpoch }: AwaitedLeader,
): boolean {
  const topicId = image.topicByName(topic)?.topicId;
  const state = topicId === undefined ? undefined : image.partition(topicId, partition);
  return !state || (state.leader >= 0 && state.leaderEpoch > leaderEpoch);
}

export function answerMetadata(
  options: Pick<MetadataHandlerOptions, 'metadata' | 'clusterId'>,
  request: Pick<MetadataRequest, 'topics' | 'allTopics' | 'listener'>,
  context: CallContext,
): MetadataResponseInput {
  if (request.topics.length > maxTopicsPerRequest) {
    const message = `${request.topics.length} topics in one request, at most ${maxTopicsPerRequest}`;
    throw new TributaryError('INVALID_ARGUMENT', message);
  }
  const image = options.metadata.require();
  const listener = listenerFor(request.listener, context, image);
  // Each once: a name takes a few bytes to repeat, and its answer has all partitions.
  const names = request.allTopics
    ? image.topics().map(({ topic }) => topic)
    : [...new Set(request.topics)];
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
