/**
 * What the controller does for partitions: elect, shrink, answer AlterPartition, take in what was written.
 * Part of `step`.
 *
 * Invariants: one write in flight per partition; nothing is published or answered with a state before its
 * write is acknowledged.
 */
import { TributaryError, partitionKey } from '@tributary/common';
import type { StoredPartitionState } from '@tributary/coordination';
import { judgeLoss } from './accept-loss';
import { judgeAlteration } from './alter-partition';
import type { ControllerDraft } from './controller-draft';
import type { WriteOutcome } from './controller-event';
import {
  maxWaitingAlterations,
  type AlterRequest,
  type PartitionEntry,
  type TopicState,
  type WriteInFlight,
} from './controller-state';
import { settleElections } from './elections';
import { tellRemoved } from './move-duties';
import { decidePartition } from './partition-decision';
import { beginWrite, viewOf, type View } from './partition-view';
import { awaitSteadiness, isImbalanced } from './preferred-leaders';

export function reconcileAll(draft: ControllerDraft): void {
  if (draft.state.phase !== 'active') return;
  const view = viewOf(draft);
  for (const topic of draft.allTopics().values()) {
    if (!topic.deletion) reconcile(draft, topic, view);
  }
}

/** Partitions by topic id. */
export function reconcileThese(
  draft: ControllerDraft,
  concerned: ReadonlyMap<string, readonly number[]>,
): void {
  for (const [topicId, partitions] of concerned) reconcileTopic(draft, topicId, partitions);
}

/** `partitions`: those of it that are concerned. Default: all. */
export function reconcileTopic(
  draft: ControllerDraft,
  topicId: string,
  partitions?: readonly number[],
): void {
  if (draft.state.phase !== 'active') return;
  const topic = draft.allTopics().get(topicId);
  if (!topic || topic.deletion) return;
  reconcile(draft, topic, viewOf(draft), partitions);
}

function reconcile(
  draft: ControllerDraft,
  topic: TopicState,
  view: View,
  partitions: Iterable<number> = topic.partitions.keys(),
): void {
  const { topicId } = topic.record;
  const { moves, brokers, drained, controllerEpoch } = view;
  let mayGiveBack = false;
  for (const partition of partitions) {
    const entry = topic.partitions[partition];
    if (!entry || entry.write || entry.isOrphan) continue;
    const mayStartMove = moves.mayStart(entry);
    // Spelled out: this is asked for every partition after every change.
    const context = { topic, partition, brokers, drained, controllerEpoch, mayStartMove };
    const decision = decidePartition(context);
    if (!decision) {
      mayGiveBack ||= isImbalanced(view, topic, partition);
      continue;
    }
    if (mayStartMove) moves.began();
    beginWrite(draft, topicId, partition, { ...decision, request: undefined });
  }
  if (mayGiveBack) awaitSteadiness(draft);
}

export function onAlteration(draft: ControllerDraft, alter: AlterRequest): void {
  const { topicId, partition } = alter.request;
  const entry = draft.allTopics().get(topicId)?.partitions[partition];
  if (entry?.write) {
    if (entry.waiting.length >= maxWaitingAlterations) {
      return draft.answerError(alter, busy(alter));
    }
    return draft.setPartition(topicId, partition, { ...entry, waiting: [...entry.waiting, alter] });
  }
  const { acceptLoss } = alter.request;
  const verdict = (acceptLoss ? judgeLoss : judgeAlteration)(draft.state, alter);
  if (verdict.type === 'refused') return draft.answerError(alter, verdict.error);
  if (!entry) return;
  if (verdict.type === 'already') return draft.answerState(alter, entry);
  const why = acceptLoss
    ? `a loss on broker ${alter.brokerId} was accepted`
    : `leader ${alter.brokerId} asked`;
  beginWrite(draft, topicId, partition, { state: verdict.state, why, request: alter });
}

/** Answers the partitions concerned, by topic id, for another look at them. */
export function onStatesWritten(
  draft: ControllerDraft,
  outcomes: readonly WriteOutcome[],
): ReadonlyMap<string, readonly number[]> {
  const concerned = new Map<string, number[]>();
  for (const outcome of outcomes) {
    const { topicId, partition, result } = outcome;
    settleElections(
      draft,
      topicId,
      partition,
      result.ok ? undefined : overtaken(topicId, partition),
    );
    const entry = draft.allTopics().get(topicId)?.partitions[partition];
    if (!entry?.write) continue;
    const others = concerned.get(topicId);
    if (others) others.push(partition);
    else concerned.set(topicId, [partition]);
    if (result.ok) takeIn(draft, entry, entry.write, { ...result.state });
    else lost(draft, outcome, entry);
    for (const waiting of entry.waiting) onAlteration(draft, waiting);
  }
  for (const topicId of concerned.keys()) publishWhenWhole(draft, topicId);
  return concerned;
}

function takeIn(
  draft: ControllerDraft,
  entry: PartitionEntry,
  write: WriteInFlight,
  stored: NonNullable<PartitionEntry['stored']>,
): void {
  const { topicId, partition } = stored;
  const next: PartitionEntry = { ...entry, stored, write: undefined, waiting: [] };
  draft.setPartition(topicId, partition, next);
  if (draft.allTopics().get(topicId)?.published) draft.publishPartition(next);
  tellRemoved(draft, topicId, partition);
  if (write.request) draft.answerState(write.request, next);
  const { topic, leader } = stored;
  const what = describe(stored, stored.partitionEpoch);
  draft.journalPartition({ topic, partition, leader, what, why: write.why });
}

/** Somebody else wrote: what is there now counts; what was wanted is decided again, or dropped. */
function lost(draft: ControllerDraft, outcome: WriteOutcome, entry: PartitionEntry): void {
  const { topicId, partition, result } = outcome;
  if (result.ok) return;
  const { current } = result;
  const isOfTopic = current?.topicId === topicId;
  const stored = isOfTopic ? current : entry.stored;
  const isOrphan = !isOfTopic;
  const next: PartitionEntry = { ...entry, stored, isOrphan, write: undefined, waiting: [] };
  draft.setPartition(topicId, partition, next);
  // Missing or another topic's: the topic was removed behind our back. Its names are looked at again.
  const topic = entry.write?.state.topic;
  if (isOrphan && topic) draft.effect({ type: 'refresh-topics', topic });
  else if (draft.allTopics().get(topicId)?.published) draft.publishPartition(next);
  if (entry.write?.request) {
    const { topic: name } = entry.write.state;
    draft.answerError(entry.write.request, overtaken(name, partition));
  }
  const who = entry.write ? `${entry.write.state.topic}-${partition}` : topicId;
  draft.journal(who, 'write lost', current ? 'another version is stored' : 'its node is missing');
}

/** A new topic appears with all its partitions at once. */
export function publishWhenWhole(draft: ControllerDraft, topicId: string): void {
  const topic = draft.allTopics().get(topicId);
  if (!topic || topic.published || topic.deletion) return;
  if (topic.partitions.every((entry) => entry.stored)) publish(draft, topic);
}

/**
 * A topic that has states when this controller first reads it may have been published by an earlier one, which went while it
 * added partitions: brokers would take their replicas for stray if it was left out. What has no state yet follows.
 */
export function publishKnown(draft: ControllerDraft, topicId: string): void {
  const topic = draft.allTopics().get(topicId);
  if (topic?.partitions.some((entry) => entry.stored)) publish(draft, topic);
}

function publish(draft: ControllerDraft, topic: TopicState): void {
  const { topicId } = topic.record;
  draft.setTopic({ ...topic, published: true });
  draft.publishTopic(topicId);
  for (const entry of topic.partitions) if (entry.stored) draft.publishPartition(entry);
}

/** All that wait for an answer, each with the error that a resigning controller gives. */
export function waitingAlterations(
  draft: ControllerDraft,
): (AlterRequest & { readonly error: TributaryError })[] {
  const found: (AlterRequest & { readonly error: TributaryError })[] = [];
  const visit = (topic: TopicState): void => {
    for (const entry of topic.partitions) {
      // Its write may have happened: the leader must ask the next controller the same again.
      if (entry.write?.request) found.push({ ...entry.write.request, error: unknownOutcome() });
      for (const alter of entry.waiting) found.push({ ...alter, error: notController() });
    }
  };
  for (const topic of draft.allTopics().values()) visit(topic);
  return found;
}

function describe(state: StoredPartitionState, partitionEpoch: number): string {
  const leader = state.leader < 0 ? 'none' : String(state.leader);
  return `leader ${leader}, epoch ${state.leaderEpoch}.${partitionEpoch}, ISR ${state.isr.join(',')}`;
}

function busy(alter: AlterRequest): TributaryError {
  const key = partitionKey(alter.request.topicId, alter.request.partition);
  return new TributaryError('TIMEOUT', `more than ${maxWaitingAlterations} wait for ${key}`);
}

function overtaken(topic: string, partition: number): TributaryError {
  const message = `${topic}-${partition} was changed by somebody else`;
  return new TributaryError('INVALID_PARTITION_EPOCH', message);
}

function unknownOutcome(): TributaryError {
  return new TributaryError('TIMEOUT', 'the controller resigned while it was writing');
}

function notController(): TributaryError {
  return new TributaryError('NOT_CONTROLLER', 'the controller resigned');
}
