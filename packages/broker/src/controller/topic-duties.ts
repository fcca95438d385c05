/**
 * What the controller does when topics are created and deleted. Part of `step`.
 *
 * Deletion: as soon as the marker is seen, the topic leaves the image, so that nobody serves it any more;
 * then every replica's broker is told to delete (StopReplica with topic id, leader epoch, broker epoch), again and
 * again until all that are registered have confirmed; only then the nodes go, and with them the name. What a broker that
 * is away still has is noted in the same transaction, and deleted when it returns (owed-deletions.ts).
 */
import type { DeletionMarker, OwedDeletion, TopicRecord } from '@tributary/coordination';
import type { StopResult } from '@tributary/protocol';
import { isLinked } from './broker-standing';
import { newTopic, type ControllerDraft } from './controller-draft';
import type { BrokerLife, TopicContext } from './controller-event';
import { replicaKey, type TopicState } from './controller-state';
import { addOwed } from './owed-deletions';
import { publishKnown } from './partition-duties';
import { dropTopic, onTopicRead } from './topic-update-duties';

export function addTopic(draft: ControllerDraft, context: TopicContext): void {
  const { record, states } = context;
  if (draft.allTopics().has(record.topicId)) return;
  draft.setTopic(newTopic(record, states));
  publishKnown(draft, record.topicId);
}

/** `names` are all that exist; what is not among them is gone, as is what another topic id took over. */
export function onTopicsChanged(
  draft: ControllerDraft,
  names: readonly string[],
  contexts: readonly TopicContext[],
): void {
  const present = new Set(names);
  const renewed = new Map(contexts.map(({ record }) => [record.topic, record.topicId]));
  for (const [topicId, topic] of draft.allTopics()) {
    const { record } = topic;
    const successor = renewed.get(record.topic);
    if (present.has(record.topic) && (successor === undefined || successor === topicId)) continue;
    // Removed by somebody else than a controller: out of the image, but no data is deleted for it.
    dropTopic(draft, topic);
    draft.journal(record.topic, 'out of the image', 'its node is gone');
  }
  for (const context of contexts) {
    const known = draft.allTopics().get(context.record.topicId);
    if (known) {
      onTopicRead(draft, known, context.record);
      continue;
    }
    addTopic(draft, context);
    draft.journal(context.record.topic, `topic id ${context.record.topicId}`, 'new topic');
  }
}

export function markDeletions(draft: ControllerDraft, markers: readonly DeletionMarker[]): void {
  for (const marker of markers) {
    const topic = draft.allTopics().get(marker.topicId);
    if (!topic) {
      // Stale: that topic is gone, or another one has the name. Clears the marker alone.
      draft.effect({ type: 'complete-deletion', marker, owed: [] });
      continue;
    }
    if (topic.deletion) continue;
    const waiting = new Set(
      topic.partitions.flatMap(({ replicas }, partition) =>
        // Also what was moved away from brokers that were not there.
        [...replicas, ...(topic.record.owed?.get(partition) ?? [])].map((brokerId) =>
          replicaKey(partition, brokerId),
        ),
      ),
    );
    if (topic.published) draft.unpublishTopic(marker.topicId);
    draft.setTopic({ ...topic, published: false, deletion: { waiting, completing: undefined } });
    draft.journal(marker.topic, 'deletion begins', 'it was asked for');
    if (draft.state.phase === 'active') tellAll(draft, marker.topicId);
  }
}

/** Tells one broker again what it has not confirmed. Nothing before this controller has begun. */
export function stopReplicasOf(draft: ControllerDraft, brokerId: number): void {
  for (const topicId of draft.allTopics().keys()) tell(draft, topicId, brokerId);
}

/** Completes what all have confirmed, and sees to it that the others are asked again. */
export function pursueDeletions(
  draft: ControllerDraft,
  settings: { readonly deletionRetryMs: number },
): void {
  if (draft.state.phase !== 'active') return;
  let isUnfinished = false;
  for (const topic of draft.allTopics().values()) {
    if (!topic.deletion || topic.deletion.completing) continue;
    // The name is not free before: what is on its way, or sent again, must not meet the node of the next topic.
    const isWriting = topic.update !== undefined || topic.partitions.some((entry) => entry.write);
    const left = leftBehind(topic.record, topic.deletion.waiting);
    if (left.some(({ brokerId }) => draft.broker(brokerId)) || isWriting) {
      isUnfinished = true;
      continue;
    }
    draft.setTopic({ ...topic, deletion: { ...topic.deletion, completing: left } });
    const { topic: name, topicId } = topic.record;
    draft.effect({ type: 'complete-deletion', marker: { topic: name, topicId }, owed: left });
  }
  if (isUnfinished) retryLater(draft, settings);
}

/** What has not been confirmed, by broker. */
function leftBehind({ topic, topicId }: TopicRecord, waiting: ReadonlySet<string>): OwedDeletion[] {
  const byBroker = new Map<number, number[]>();
  for (const key of waiting) {
    const [partition = -1, brokerId = -1] = key.split('/').map(Number);
    byBroker.set(brokerId, [...(byBroker.get(brokerId) ?? []), partition]);
  }
  return [...byBroker].map(([brokerId, partitions]) => ({ topic, topicId, brokerId, partitions }));
}

export function retryLater(
  draft: ControllerDraft,
  settings: { readonly deletionRetryMs: number },
): void {
  draft.effect({ type: 'set-timer', timer: 'deletion-retry', delayMs: settings.deletionRetryMs });
}

export function onReplicasStopped(
  draft: ControllerDraft,
  event: BrokerLife & { readonly results: readonly StopResult[] },
): void {
  if (!draft.brokerInLife(event)) return;
  const { brokerId } = event;
  for (const [topicId, results] of byTopic(event.results)) {
    const topic = draft.allTopics().get(topicId);
    if (!topic?.deletion) continue;
    const waiting = new Set(topic.deletion.waiting);
    const failed = results.filter(({ error }) => error && error.code !== 'NONE');
    for (const result of results) {
      if (!failed.includes(result)) waiting.delete(replicaKey(result.partition, brokerId));
    }
    draft.setTopic({ ...topic, deletion: { ...topic.deletion, waiting } });
    const [first] = failed;
    if (!first?.error) continue;
    const what = `${failed.length} replicas not deleted on broker ${brokerId}`;
    draft.journal(topic.record.topic, what, first.error.message);
  }
}

function byTopic(results: readonly StopResult[]): ReadonlyMap<string, readonly StopResult[]> {
  const found = new Map<string, StopResult[]>();
  for (const result of results) {
    const others = found.get(result.topicId);
    if (others) others.push(result);
    else found.set(result.topicId, [result]);
  }
  return found;
}

export function onDeletionCompleted(draft: ControllerDraft, topicId: string): void {
  const topic = draft.allTopics().get(topicId);
  if (!topic) return;
  const owed = topic.deletion?.completing ?? [];
  const away = owed.map(({ brokerId }) => brokerId).join(', ');
  const why = away === '' ? 'all replicas confirmed' : `all confirmed but those on ${away}`;
  draft.journal(topic.record.topic, 'deleted', why);
  dropTopic(draft, topic);
  addOwed(draft, owed);
  // The name may have been taken again before we heard of it.
  draft.effect({ type: 'refresh-topics', topic: topic.record.topic });
}

/** The nodes are still there: asked for again with the next retry. */
export function onDeletionFailed(draft: ControllerDraft, topicId: string, why: string): void {
  const topic = draft.allTopics().get(topicId);
  if (!topic?.deletion) return;
  draft.setTopic({ ...topic, deletion: { ...topic.deletion, completing: undefined } });
  draft.journal(topic.record.topic, 'its nodes could not be removed', why);
}

function tellAll(draft: ControllerDraft, topicId: string): void {
  for (const brokerId of draft.allBrokers().keys()) tell(draft, topicId, brokerId);
}

function tell(draft: ControllerDraft, topicId: string, brokerId: number): void {
  const broker = draft.broker(brokerId);
  const topic = draft.allTopics().get(topicId);
  if (draft.state.phase !== 'active' || !topic?.deletion) return;
  if (!broker || !isLinked(broker.standing)) return;
  topic.partitions.forEach((entry, partition) => {
    if (!topic.deletion?.waiting.has(replicaKey(partition, brokerId))) return;
    draft.stopReplica(brokerId, {
      topic: topic.record.topic,
      topicId,
      partition,
      leaderEpoch: newestEpoch(entry),
      brokerEpoch: broker.registration.brokerEpoch,
      deleteData: true,
    });
  });
}

/** At or above whatever the replica may have heard. */
function newestEpoch(entry: TopicState['partitions'][number]): number {
  return Math.max(entry.stored?.leaderEpoch ?? 0, entry.write?.state.leaderEpoch ?? 0);
}
