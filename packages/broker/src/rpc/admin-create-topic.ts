/**
 * Admin.CreateTopic on any broker: validates, spreads the replicas, writes the topic, then waits until this
 * broker's own image shows a leader for each partition, so that the caller can use it here at once.
 * A timeout says that the topic exists: it is an error about waiting, not about creating.
 */
import {
  Deadline,
  parseTopicConfig,
  randomUuid,
  TributaryError,
  validateTopicName,
  type Clock,
  type Random,
} from '@tributary/common';
import type { BrokerRegistry, TopicRecord, TopicStore } from '@tributary/coordination';
import type {
  CallContext,
  CreateTopicRequest,
  CreateTopicResponseInput,
} from '@tributary/protocol';
import type { ControlLimits } from '../control-limits';
import { dutyFromWire } from '../metadata/broker-duty';
import type { MetadataCache } from '../metadata/metadata-cache';
import { placeReplicas } from '../placement/place-replicas';
import { placementBrokers, type PlacementBroker } from '../placement/replica-load';

export interface TopicAdminOptions {
  readonly registry: BrokerRegistry;
  readonly topics: TopicStore;
  /** Reads of the coordinator after it see what was written before, by whomever. */
  barrier(): Promise<void>;
  readonly metadata: MetadataCache;
  readonly clock: Clock;
  readonly random: Random;
  readonly limits: ControlLimits;
}

export async function createTopic(
  options: TopicAdminOptions,
  request: CreateTopicRequest,
  context: CallContext,
): Promise<CreateTopicResponseInput> {
  validateTopicName(request.topic);
  const timeoutMs = request.timeoutMs || options.limits.defaultAdminTimeoutMs;
  const deadline = Deadline.after(options.clock, timeoutMs, context.signal);
  const what = `creating topic ${request.topic}`;
  // A broker or topic that was there before the call must be seen.
  await deadline.race(options.barrier(), what);
  const record = await deadline.race(newTopicRecord(options, request), what);
  const answer = {
    topic: record.topic,
    topicId: record.topicId,
    partitions: record.assignment.length,
    replicationFactor: record.assignment[0]?.length ?? 0,
  };
  if (request.validateOnly) {
    const exists = await deadline.race(options.topics.get(record.topic), what);
    if (exists) throw new TributaryError('TOPIC_EXISTS', `topic ${record.topic} already exists`);
    return { ...answer, topicId: '' };
  }
  await deadline.race(options.topics.create(record), what);
  await waitForLeaders(options, record, deadline);
  return answer;
}

async function newTopicRecord(
  options: TopicAdminOptions,
  request: CreateTopicRequest,
): Promise<TopicRecord> {
  const { limits, random } = options;
  const { topic, configs } = request;
  const partitions = request.partitions || limits.defaultPartitions;
  if (partitions < 1 || partitions > limits.maxPartitionsPerTopic) {
    const message = `${partitions} partitions, where 1 to ${limits.maxPartitionsPerTopic} are possible`;
    throw new TributaryError('INVALID_PARTITIONS', message);
  }
  const brokers = await brokersForReplicas(options);
  const wanted = request.replicationFactor || limits.defaultReplicationFactor;
  const replicationFactor =
    request.replicationFactor === 0 ? Math.min(wanted, brokers.length) : wanted;
  if (replicationFactor < 1 || replicationFactor > brokers.length) {
    const message = `replication factor ${replicationFactor} with ${brokers.length} brokers that take new replicas`;
    throw new TributaryError('INVALID_REPLICATION_FACTOR', message);
  }
  const { minInsyncReplicas } = parseTopicConfig(configs, replicationFactor);
  if (minInsyncReplicas > replicationFactor) {
    const message = `min.insync.replicas=${minInsyncReplicas} with replication factor ${replicationFactor}`;
    throw new TributaryError('INVALID_CONFIG', message);
  }
  const assignment = placeReplicas({ brokers, partitions, replicationFactor }, random);
  return { topic, topicId: randomUuid(random), assignment, configs };
}

async function brokersForReplicas(options: TopicAdminOptions): Promise<PlacementBroker[]> {
  const registered = await options.registry.list();
  const image = options.metadata.known ? options.metadata.image : undefined;
  return placementBrokers(
    registered,
    (id) => dutyFromWire(image?.broker(id)?.duty) ?? 'in service',
  );
}

async function waitForLeaders(
  options: TopicAdminOptions,
  record: TopicRecord,
  deadline: Deadline,
): Promise<void> {
  const { topic, topicId, assignment } = record;
  try {
    await options.metadata.waitFor(
      (image) => {
        const states = image.partitions(topicId);
        return states.length === assignment.length && states.every(({ leader }) => leader >= 0);
      },
      deadline,
      `waiting for the leaders of topic ${topic}`,
    );
  } catch (thrown) {
    const { code, message, cause } = TributaryError.from(thrown);
    throw new TributaryError(code, `topic ${topic} was created, but ${message}`, {
      outcome: 'written',
      hint: 'The topic exists; describe it to see which partitions have no leader.',
      cause,
    });
  }
}
