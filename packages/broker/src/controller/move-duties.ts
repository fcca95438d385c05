/**
 * What the controller does to move replicas (KIP-455). Part of `step`.
 *
 * The topic's node says what is moved, from beginning to end, so that the next controller goes on with it. Steps: the node
 * is written; the new replicas are told of in a new leader epoch, a bounded number of partitions at once; when all of the
 * target are in sync, one more leader epoch leaves out those that go (partition-decision.ts); they are told to delete
 * until they confirm; the target is written last. What a broker that is gone by then still has is noted in that same write,
 * and deleted when it returns (owed-replicas.ts).
 */
import { partitionName } from '@tributary/common';
import type { Reassignment, TopicRecord } from '@tributary/coordination';
import type { StopResult } from '@tributary/protocol';
import { isLinked } from './broker-standing';
import type { ControllerDraft } from './controller-draft';
import type { BrokerLife } from './controller-event';
import { isEligible, type PartitionEntry, type TopicState } from './controller-state';
import { withOwed } from './owed-notes';
import { isFinishing, moveOf, takingPart, untold } from './replica-move';
import { beginTopicUpdate } from './topic-update-duties';

/** How many more moves may begin now. Counted when first asked; lives within one look at the partitions. */
export class MoveBudget {
  private left: number | undefined;

  constructor(private readonly draft: ControllerDraft) {}

  mayStart(entry: PartitionEntry): boolean {
    const move = moveOf(entry);
    const news = move && entry.stored ? untold(entry, move) : [];
    if (news.length === 0 || !news.every((id) => isEligible(this.draft.broker(id)))) return false;
    this.left ??= this.draft.settings.maxMovesAtOnce - underWay(this.draft);
    return this.left > 0;
  }

  began(): void {
    if (this.left !== undefined) this.left -= 1;
  }
}

/** One whose new replica is on a broker that is gone does not hold up the others. */
function underWay(draft: ControllerDraft): number {
  let count = 0;
  for (const { record, partitions } of draft.allTopics().values()) {
    for (const partition of record.reassignments?.keys() ?? []) {
      const entry = partitions[partition];
      const move = entry && moveOf(entry);
      if (!entry || !move) continue;
      const told = [...takingPart(entry), ...(entry.write?.state.replicas ?? [])];
      const lacking = move.joining.filter((id) => !entry.stored?.isr.includes(id));
      const isMoving = lacking.length > 0 && lacking.some((id) => told.includes(id));
      if (isMoving && lacking.every((id) => draft.broker(id))) count += 1;
    }
  }
  return count;
}

/** Tells those that were left out of this partition, by a state that is stored, to delete. */
export function tellRemoved(draft: ControllerDraft, topicId: string, partition: number): void {
  const topic = draft.allTopics().get(topicId);
  if (!topic || draft.state.phase !== 'active') return;
  for (const brokerId of unconfirmed(topic, partition)) tell(draft, topic, partition, brokerId);
}

/** Tells this broker again what it has not confirmed. */
export function tellRemovedOn(draft: ControllerDraft, brokerId: number): void {
  if (draft.state.phase !== 'active') return;
  for (const topic of draft.allTopics().values()) {
    for (const partition of topic.record.reassignments?.keys() ?? []) {
      if (unconfirmed(topic, partition).includes(brokerId)) tell(draft, topic, partition, brokerId);
    }
  }
}

export function onMovedAway(
  draft: ControllerDraft,
  event: BrokerLife & { readonly results: readonly StopResult[] },
): void {
  if (!draft.brokerInLife(event)) return;
  for (const { topicId, partition, error } of event.results) {
    const topic = draft.allTopics().get(topicId);
    const entry = topic?.partitions[partition];
    if (!topic || !entry || !unconfirmed(topic, partition).includes(event.brokerId)) continue;
    const who = `${topic.record.topic}-${partition}`;
    if (error && error.code !== 'NONE') {
      draft.journal(who, `not deleted on broker ${event.brokerId}`, error.message);
      continue;
    }
    const removed = [...(entry.removed ?? []), event.brokerId];
    draft.setPartition(topicId, partition, { ...entry, removed });
    draft.journal(who, `deleted on broker ${event.brokerId}`, 'its replica was moved away');
  }
}

/** Writes down the targets that are reached, and sees to it that the other brokers are asked again. */
export function pursueMoves(draft: ControllerDraft): void {
  if (draft.state.phase !== 'active') return;
  let isUnfinished = false;
  for (const topic of draft.allTopics().values()) {
    if (!topic.record.reassignments || topic.deletion) continue;
    const left = [...topic.record.reassignments.keys()].filter((n) => isLeftOut(topic, n));
    const done = left.filter((partition) =>
      // A broker that is not registered any more is not waited for: it owes the deletion.
      unconfirmed(topic, partition).every((id) => !draft.broker(id)),
    );
    if (done.length < left.length) isUnfinished = true;
    if (done.length > 0 && !topic.update) complete(draft, topic, done);
  }
  if (!isUnfinished) return;
  const { deletionRetryMs: delayMs } = draft.settings;
  draft.effect({ type: 'set-timer', timer: 'deletion-retry', delayMs });
}

function complete(draft: ControllerDraft, topic: TopicState, partitions: readonly number[]): void {
  const { record } = topic;
  const reassignments = new Map<number, Reassignment>(record.reassignments);
  const assignment = [...record.assignment];
  for (const partition of partitions) {
    const entry = topic.partitions[partition];
    const target = entry && moveOf(entry)?.target;
    if (target) assignment[partition] = target;
    reassignments.delete(partition);
  }
  const { reassignments: _, ...rest } = record;
  const moved = { ...rest, assignment, ...(reassignments.size > 0 ? { reassignments } : {}) };
  const { after, away } = withOwing(draft, topic, partitions, moved);
  const names = partitions.map((n) => partitionName(record.topic, n)).join(', ');
  const owing = away.length > 0 ? `; away, and to delete theirs: brokers ${away.join(', ')}` : '';
  const why = `replicas of ${names} are moved${owing}`;
  beginTopicUpdate(draft, topic, { after, why, commands: [] });
}

/** Those that are away owe the deletion; also one that is decommissioned: it may have crashed half-way, and be put in service again. */
function withOwing(
  draft: ControllerDraft,
  topic: TopicState,
  partitions: readonly number[],
  moved: TopicRecord,
): { readonly after: TopicRecord; readonly away: readonly number[] } {
  let after = moved;
  const away = new Set<number>();
  for (const partition of partitions) {
    const ids = unconfirmed(topic, partition).filter((id) => !draft.broker(id));
    const before = moved.owed?.get(partition) ?? [];
    after = withOwed(after, partition, [...before.filter((id) => !ids.includes(id)), ...ids]);
    for (const id of ids) away.add(id);
  }
  return { after, away: [...away] };
}

/** Stored, and nothing else is on its way. */
function isLeftOut({ partitions }: TopicState, partition: number): boolean {
  const entry = partitions[partition];
  const move = entry && moveOf(entry);
  return entry !== undefined && move !== undefined && !entry.write && isFinishing(entry, move);
}

function unconfirmed(topic: TopicState, partition: number): readonly number[] {
  const entry = topic.partitions[partition];
  if (!entry || topic.deletion || !isLeftOut(topic, partition)) return [];
  return entry.removing.filter((id) => !entry.removed?.includes(id));
}

function tell(
  draft: ControllerDraft,
  { record, partitions }: TopicState,
  partition: number,
  brokerId: number,
): void {
  const broker = draft.broker(brokerId);
  if (!broker || !isLinked(broker.standing)) return;
  draft.stopReplica(brokerId, {
    topic: record.topic,
    topicId: record.topicId,
    partition,
    leaderEpoch: partitions[partition]?.stored?.leaderEpoch ?? 0,
    brokerEpoch: broker.registration.brokerEpoch,
    deleteData: true,
  });
}
