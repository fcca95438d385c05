/**
 * The controller's state as messages of the control stream: whole images in chunks of bounded size, deltas.
 * Called by the controller's driver.
 */
import type {
  BrokerInfo,
  DeltaInput,
  ImageChunkInput,
  PartitionState,
  StopReplica,
  TopicInfo,
} from '@tributary/protocol';
import { brokerInfoOf, wireState } from './wire-state';
import { topicInfoOf, type Publication } from './controller-effect';
import type { ControllerState } from './controller-state';

/** Brokers, topics and partitions together; some 100 bytes each. */
export const maxEntriesPerChunk = 500;

type Entry =
  | { readonly kind: 'broker'; readonly broker: BrokerInfo }
  | { readonly kind: 'topic'; readonly topic: TopicInfo }
  | { readonly kind: 'partition'; readonly partition: PartitionState };

export function imageChunks(state: ControllerState): ImageChunkInput[] {
  const entries = entriesOf(state);
  const count = Math.max(1, Math.ceil(entries.length / maxEntriesPerChunk));
  return Array.from({ length: count }, (_, chunk) => {
    const part = entries.slice(chunk * maxEntriesPerChunk, (chunk + 1) * maxEntriesPerChunk);
    return {
      sequence: state.sequence,
      chunk,
      last: chunk === count - 1,
      controllerId: state.controllerId,
      brokers: part.flatMap((entry) => (entry.kind === 'broker' ? [entry.broker] : [])),
      topics: part.flatMap((entry) => (entry.kind === 'topic' ? [entry.topic] : [])),
      partitions: part.flatMap((entry) => (entry.kind === 'partition' ? [entry.partition] : [])),
    };
  });
}

export function deltaMessage(publication: Publication, brokerId: number): DeltaInput {
  const { sequence, brokers, removedBrokers, topics, removedTopicIds, partitions } = publication;
  const stopReplicas: readonly StopReplica[] = publication.stopReplicas.get(brokerId) ?? [];
  return {
    sequence,
    brokers: [...brokers],
    removedBrokers: [...removedBrokers],
    topics: [...topics],
    removedTopicIds: [...removedTopicIds],
    partitions: [...partitions],
    stopReplicas: [...stopReplicas],
  };
}

function entriesOf(state: ControllerState): Entry[] {
  const entries: Entry[] = [...state.brokers.values()].map((broker) => ({
    kind: 'broker',
    broker: brokerInfoOf(broker, state.brokerSettings),
  }));
  for (const topic of state.topics.values()) {
    if (!topic.published) continue;
    entries.push({ kind: 'topic', topic: topicInfoOf(topic.record) });
    for (const entry of topic.partitions) {
      if (!entry.stored) continue;
      const partition = wireState(entry.stored, entry, state);
      entries.push({ kind: 'partition', partition });
    }
  }
  return entries;
}
