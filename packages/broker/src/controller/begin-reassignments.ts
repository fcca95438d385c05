/**
 * Begins moves of replicas: checks them and writes them into their topics' nodes; from there on the move duties go on. Part
 * of `step`. Called for what a person asks, and by the duty that empties decommissioned brokers.
 */
import { partitionName, TributaryError } from '@tributary/common';
import type { Reassignment, TopicRecord } from '@tributary/coordination';
import type { ControllerDraft } from './controller-draft';
import {
  dutyOf,
  type CommandInFlight,
  type PartitionEntry,
  type TopicState,
} from './controller-state';
import { isFinishing, moveOf, planMove } from './replica-move';
import { beginTopicUpdate } from './topic-update-duties';

export interface WantedMove {
  readonly topicId: string;
  readonly partition: number;
  /** The first is the preferred leader. `cancel`: back to what it was before the move that is under way. */
  readonly target: readonly number[] | 'cancel';
}

/** Replicas of one partition. */
export const maxReplicas = 100;

/**
 * One result per move, in order; undefined: begun, or as wanted already. UNAVAILABLE: the topic is being changed at
 * this moment, look again when that is done. `answer` makes what is to be answered once all is written, of the results.
 */
export function beginReassignments(
  draft: ControllerDraft,
  moves: readonly WantedMove[],
  why: string,
  command?: (results: readonly (TributaryError | undefined)[]) => CommandInFlight,
): (TributaryError | undefined)[] {
  const planned = new Map<string, TopicRecord>();
  const results = moves.map((move) => {
    try {
      const topic = topicOf(draft, move.topicId);
      const before = planned.get(move.topicId) ?? topic.record;
      const after = plan(draft, topic, before, move);
      if (after !== before) planned.set(move.topicId, after);
      return undefined;
    } catch (thrown) {
      return TributaryError.from(thrown);
    }
  });
  const commands = command ? [command(results)] : [];
  for (const [topicId, after] of planned) {
    const topic = draft.allTopics().get(topicId);
    if (topic) beginTopicUpdate(draft, topic, { after, why, commands });
  }
  if (planned.size === 0) {
    for (const each of commands) draft.effectAfter({ type: 'answer-command', ...each });
  }
  return results;
}

function topicOf(draft: ControllerDraft, topicId: string): TopicState {
  const topic = draft.allTopics().get(topicId);
  if (!topic || topic.deletion) {
    const name = topic?.record.topic ?? topicId;
    throw new TributaryError('UNKNOWN_TOPIC', `topic ${name} does not exist, or is being deleted`);
  }
  if (topic.update) {
    const message = `topic ${topic.record.topic} is being changed at this moment; try again`;
    throw new TributaryError('UNAVAILABLE', message);
  }
  return topic;
}

/** The very same record where nothing is to be done. */
function plan(
  draft: ControllerDraft,
  topic: TopicState,
  before: TopicRecord,
  { partition, target: wanted }: WantedMove,
): TopicRecord {
  const entry = topic.partitions[partition];
  const where = partitionName(topic.record.topic, partition);
  if (!entry) throw new TributaryError('UNKNOWN_PARTITION', `there is no partition ${where}`);
  const move = moveOf(entry);
  if (wanted === 'cancel' && !move) {
    throw new TributaryError('INVALID_ARGUMENT', `the replicas of ${where} are not being moved`);
  }
  const target = wanted === 'cancel' ? (move?.origin ?? entry.replicas) : wanted;
  if (isSameList(target, move?.target ?? entry.replicas)) return before;
  if (move && isFinishing(entry, move)) {
    const message = `the move of ${where} is done but for what is deleted now: it cannot be changed any more`;
    throw new TributaryError('UNAVAILABLE', message);
  }
  checkTarget(draft, entry, target, where);
  const { assignment: replicas, reassignment } = planMove(entry, target);
  const reassignments = new Map<number, Reassignment>(before.reassignments);
  if (reassignment) reassignments.set(partition, reassignment);
  else reassignments.delete(partition);
  const { reassignments: _, ...rest } = before;
  return {
    ...rest,
    assignment: before.assignment.with(partition, replicas),
    ...(reassignments.size > 0 ? { reassignments } : {}),
  };
}

function checkTarget(
  draft: ControllerDraft,
  { replicas }: PartitionEntry,
  target: readonly number[],
  where: string,
): void {
  const list = target.join(',');
  if (target.length === 0 || target.length > maxReplicas) {
    const message = `${where} needs 1 to ${maxReplicas} replicas, not ${target.length}`;
    throw new TributaryError('INVALID_REPLICATION_FACTOR', message);
  }
  if (new Set(target).size < target.length) {
    const message = `${where}: replicas ${list} name a broker twice`;
    throw new TributaryError('INVALID_ARGUMENT', message);
  }
  for (const id of target) {
    if (replicas.includes(id)) continue;
    if (!draft.broker(id)) {
      const message = `${where}: broker ${id} of replicas ${list} is not registered`;
      throw new TributaryError('UNKNOWN_BROKER', message);
    }
    if (dutyOf(draft.state, id) === 'decommissioned') {
      const message = `${where}: broker ${id} is decommissioned and gets no new replicas`;
      const hint = 'Name another broker, or put this one into service again.';
      throw new TributaryError('INELIGIBLE_REPLICA', message, { hint });
    }
  }
}

function isSameList(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, index) => id === b[index]);
}
