/**
 * Replicas that were moved away from brokers that were not registered: the brokers owe their deletion. Part of `step`.
 *
 * Which ones is written in the topic's node, in the very write that takes the broker out of the assignment; a write that
 * takes it in again takes the note out. So no node ever says both, and the next controller knows what this one knew. A
 * broker that returns is told to delete only while nothing that is stored, or is being written, counts on it, and while
 * somebody leads the partition: as long as nobody does, its copy may be what a person needs. A move back has a higher
 * leader epoch than whatever was told before, by which the broker refuses what comes late. When the topic is deleted, its
 * deletion takes over (topic-duties.ts).
 */
import { partitionName } from '@tributary/common';
import type { StopResult } from '@tributary/protocol';
import { isLinked } from './broker-standing';
import type { ControllerDraft } from './controller-draft';
import type { BrokerLife } from './controller-event';
import type { PartitionEntry, TopicState } from './controller-state';
import { withOwed } from './owed-notes';
import { beginTopicUpdate } from './topic-update-duties';

/** Tells this broker (again) what it has not confirmed. */
export function tellOwedReplicas(draft: ControllerDraft, brokerId: number): void {
  const broker = draft.broker(brokerId);
  if (draft.state.phase !== 'active' || !broker || !isLinked(broker.standing)) return;
  for (const topic of draft.allTopics().values()) {
    for (const partition of topic.record.owed?.keys() ?? []) {
      const stored = topic.partitions[partition]?.stored;
      if (!stored || !mayDelete(draft, topic, partition, brokerId)) continue;
      const { topic: name, topicId } = topic.record;
      const { brokerEpoch } = broker.registration;
      const { leaderEpoch } = stored;
      const of = { topic: name, topicId, partition, leaderEpoch, brokerEpoch };
      draft.stopReplica(brokerId, { ...of, deleteData: true });
    }
  }
}

export function onOwedReplicasStopped(
  draft: ControllerDraft,
  event: BrokerLife & { readonly results: readonly StopResult[] },
): void {
  if (!draft.brokerInLife(event)) return;
  const { brokerId } = event;
  for (const { topicId, partition, error } of event.results) {
    const topic = draft.allTopics().get(topicId);
    const entry = topic?.partitions[partition];
    if (!topic || !entry || !unpaid(topic, partition).includes(brokerId)) continue;
    const who = partitionName(topic.record.topic, partition);
    if (error && error.code !== 'NONE') {
      draft.journal(who, `not deleted on broker ${brokerId}`, error.message);
      continue;
    }
    draft.setPartition(topicId, partition, { ...entry, paid: [...(entry.paid ?? []), brokerId] });
    draft.journal(who, `deleted on broker ${brokerId}`, 'its replica was moved away, it returned');
  }
}

/** Takes out the notes that are over, and sees to it that brokers that are there are asked again. */
export function pursueOwedReplicas(draft: ControllerDraft): void {
  if (draft.state.phase !== 'active') return;
  let isUnfinished = false;
  for (const topic of draft.allTopics().values()) {
    const { owed } = topic.record;
    if (!owed || topic.deletion) continue;
    const after = [...owed].reduce(
      (record, [partition, ids]) =>
        withOwed(record, partition, ids.filter((id) => !isOver(topic, partition, id))),
      topic.record,
    ); // prettier-ignore
    if (after !== topic.record && !topic.update) {
      const why = 'nothing is left of replicas that were moved away';
      beginTopicUpdate(draft, topic, { after, why, commands: [] });
    }
    isUnfinished ||= after !== topic.record || someAreThere(draft, topic);
  }
  if (!isUnfinished) return;
  const { deletionRetryMs: delayMs } = draft.settings;
  draft.effect({ type: 'set-timer', timer: 'deletion-retry', delayMs });
}

function someAreThere(draft: ControllerDraft, topic: TopicState): boolean {
  return [...(topic.record.owed?.values() ?? [])].flat().some((id) => draft.broker(id));
}

function isOver({ partitions }: TopicState, partition: number, brokerId: number): boolean {
  const entry = partitions[partition];
  // Assigned again, by whomever: it owes nothing.
  return !entry || entry.replicas.includes(brokerId) || entry.paid?.includes(brokerId) === true;
}

function unpaid({ record, partitions, deletion }: TopicState, partition: number): number[] {
  const entry = partitions[partition];
  if (!entry || deletion) return [];
  const owed = record.owed?.get(partition) ?? [];
  return owed.filter((id) => !entry.paid?.includes(id));
}

/** Nothing that is stored, or may be stored any moment, counts on what this broker has; and others serve it. */
function mayDelete(
  draft: ControllerDraft,
  topic: TopicState,
  partition: number,
  brokerId: number,
): boolean {
  const entry = topic.partitions[partition];
  if (!entry?.stored || !unpaid(topic, partition).includes(brokerId)) return false;
  if (!draft.broker(entry.stored.leader)) return false;
  const { stored, write } = entry;
  const counted = [
    ...entry.replicas,
    ...(topic.update?.after.assignment[partition] ?? []),
    ...[stored, ...(write ? [write.state] : [])].flatMap(seatsOf),
  ];
  return !counted.includes(brokerId);
}

type Stored = NonNullable<PartitionEntry['stored']> | NonNullable<PartitionEntry['write']>['state'];

function seatsOf({ leader, isr, eligibleLeaders, replicas = [] }: Stored): number[] {
  return [leader, ...isr, ...eligibleLeaders, ...replicas];
}
