/**
 * What the controller does when single replicas of a living broker cannot serve, and when they can again. Part of
 * `step`. Invariant: while an outage stands the replica gets no seat in any state whose write begins; each change of
 * what stands is published, for the broker takes its permission to refill from it.
 */
import { partitionKey } from '@tributary/common';
import type { OfflineReplica, RestoredReplica } from '@tributary/protocol';
import type { ControllerDraft } from './controller-draft';
import type { BrokerLife } from './controller-event';
import type { Outage } from './controller-state';

/** They keep no seat until they are restored, or this registration ends. True when something is new. */
export function onReplicasOffline(
  draft: ControllerDraft,
  event: BrokerLife & { readonly replicas: readonly OfflineReplica[] },
): boolean {
  const broker = draft.brokerInLife(event);
  if (!broker) return false;
  const offline = new Map(broker.offline);
  const news: string[] = [];
  for (const { topicId, partition, reason, incident } of event.replicas) {
    const topic = draft.allTopics().get(topicId);
    const key = partitionKey(topicId, partition);
    const known = offline.get(key)?.incident ?? -1;
    if (!topic?.partitions[partition] || known >= incident) continue;
    offline.set(key, { incident, reason });
    news.push(key);
    const who = `${topic.record.topic}-${partition}`;
    draft.journal(who, `offline on broker ${event.brokerId}`, reason);
  }
  return changeOutages(draft, event.brokerId, offline, news);
}

/** They are complete. True when something is new. */
export function onReplicasRestored(
  draft: ControllerDraft,
  event: BrokerLife & { readonly replicas: readonly RestoredReplica[] },
): boolean {
  const broker = draft.brokerInLife(event);
  if (!broker) return false;
  const offline = new Map(broker.offline);
  const news: string[] = [];
  for (const { topicId, partition, incident } of event.replicas) {
    const key = partitionKey(topicId, partition);
    const known = offline.get(key);
    if (!known || known.incident > incident) continue;
    offline.delete(key);
    news.push(key);
    const topic = draft.allTopics().get(topicId)?.record.topic ?? topicId;
    const who = `${topic}-${partition}`;
    draft.journal(who, `restored on broker ${event.brokerId}`, `was offline: ${known.reason}`);
  }
  return changeOutages(draft, event.brokerId, offline, news);
}

/** Its registration ends: the next one tells anew what cannot serve. */
export function endOutages(draft: ControllerDraft, brokerId: number): void {
  const keys = [...(draft.broker(brokerId)?.offline.keys() ?? [])];
  changeOutages(draft, brokerId, new Map(), keys);
}

function changeOutages(
  draft: ControllerDraft,
  brokerId: number,
  offline: ReadonlyMap<string, Outage>,
  keys: readonly string[],
): boolean {
  const broker = draft.broker(brokerId);
  if (!broker || keys.length === 0) return false;
  draft.setBroker({ ...broker, offline });
  const changed = new Set(keys);
  for (const [topicId, topic] of draft.allTopics()) {
    if (!topic.published) continue;
    topic.partitions.forEach((entry, partition) => {
      if (changed.has(partitionKey(topicId, partition))) draft.publishPartition(entry);
    });
  }
  return true;
}
