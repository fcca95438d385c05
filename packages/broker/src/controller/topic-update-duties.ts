/**
 * How the controller changes what a topic is: its assignment, the replicas that are being moved, its settings. Part of
 * `step`. Invariants: one update in flight per topic; nothing of it is used or published before its write is
 * acknowledged; who asked is answered exactly once. Called by the duties that decide on updates.
 */
import { TributaryError } from '@tributary/common';
import type { TopicRecord } from '@tributary/coordination';
import { toWireError } from '@tributary/protocol';
import type { ControllerDraft } from './controller-draft';
import type { CommandInFlight, PartitionEntry, TopicState, TopicUpdate } from './controller-state';
import { withoutAssigned } from './owed-notes';
import { sameSet } from './replica-move';
import { topicRules } from './topic-rules';
import { takeWaiting } from './waiting-commands';

/** The topic must have no update in flight and no deletion. */
export function beginTopicUpdate(
  draft: ControllerDraft,
  topic: TopicState,
  update: TopicUpdate,
): void {
  const after = withoutAssigned(update.after);
  draft.setTopic({ ...topic, update: { ...update, after } });
  draft.effect({ type: 'update-topic', before: topic.record, after });
}

export function onTopicUpdated(draft: ControllerDraft, record: TopicRecord): void {
  const topic = draft.allTopics().get(record.topicId);
  if (!topic?.update) return;
  const { why, commands } = topic.update;
  draft.journal(record.topic, 'changed', why);
  takeRecord(draft, { ...topic, update: undefined }, record);
  for (const command of commands) settle(draft, command);
}

/** Not fatal: somebody else wrote first. Its record is read again. */
export function onTopicUpdateFailed(
  draft: ControllerDraft,
  topicId: string,
  error: TributaryError,
): void {
  const topic = draft.allTopics().get(topicId);
  if (!topic?.update) return;
  const { commands } = topic.update;
  draft.setTopic({ ...topic, update: undefined });
  draft.journal(topic.record.topic, 'could not be changed', error.message);
  draft.effect({ type: 'refresh-topics', topic: topic.record.topic });
  for (const command of commands) settleFailure(draft, topicId, command, error);
}

/** A topic that is known was read again. */
export function onTopicRead(draft: ControllerDraft, topic: TopicState, record: TopicRecord): void {
  if (topic.update || topic.deletion) return;
  if ((record.version ?? 0) <= (topic.record.version ?? 0)) return;
  draft.journal(record.topic, 'changed', 'somebody else wrote it');
  takeRecord(draft, topic, record);
}

/** The topic goes; who waits for an update of it learns that. */
export function dropTopic(draft: ControllerDraft, { record, update }: TopicState): void {
  draft.removeTopic(record.topicId);
  const message = `topic ${record.topic} was removed while it was being changed`;
  const error = new TributaryError('UNKNOWN_TOPIC', message, { outcome: 'maybe written' });
  for (const command of update?.commands ?? [])
    settleFailure(draft, record.topicId, command, error);
}

/** One that began updates of several topics is answered when the last of them is written. */
function settle(draft: ControllerDraft, command: CommandInFlight): void {
  if (othersOf(draft, command).length > 0) return;
  draft.effectAfter({ type: 'answer-command', ...command });
}

function settleFailure(
  draft: ControllerDraft,
  topicId: string,
  command: CommandInFlight,
  error: TributaryError,
): void {
  const { reassignedPartitions } = command.answer;
  if (!reassignedPartitions) return answerFailure(draft, command, error);
  const partitions = reassignedPartitions.partitions?.map((each) =>
    each.topicId === topicId && !each.error ? { ...each, error: toWireError(error) } : each,
  );
  const answer = { ...command.answer, reassignedPartitions: { partitions } };
  const failed = { ...command, answer };
  for (const { topic, update } of othersOf(draft, command)) {
    const commands = update.commands.map((each) => (isSame(each, command) ? failed : each));
    draft.setTopic({ ...topic, update: { ...update, commands } });
  }
  settle(draft, failed);
}

function othersOf(
  draft: ControllerDraft,
  command: CommandInFlight,
): { readonly topic: TopicState; readonly update: TopicUpdate }[] {
  return [...draft.allTopics().values()].flatMap((topic) => {
    const { update } = topic;
    return update?.commands.some((each) => isSame(each, command)) ? [{ topic, update }] : [];
  });
}

function isSame(a: CommandInFlight, b: CommandInFlight): boolean {
  return a.brokerId === b.brokerId && a.requestId === b.requestId;
}

export function answerFailure(
  draft: ControllerDraft,
  { brokerId, requestId }: Omit<CommandInFlight, 'answer'>,
  error: TributaryError,
): void {
  const answer = { error: toWireError(error), outcome: 'error' } as const;
  draft.effectAfter({ type: 'answer-command', brokerId, requestId, answer });
}

/** When the controller resigns: what became of an update on its way is not known, nothing came of one that waits. */
export function answerCommandsInFlight(draft: ControllerDraft): void {
  const message = 'the controller resigned while it was writing';
  const error = new TributaryError('TIMEOUT', message, { outcome: 'maybe written' });
  const updates = [...draft.allTopics().values()].map(({ update }) => update);
  const asked = new Map<string, CommandInFlight>();
  for (const update of [...updates, ...draft.state.settingsInFlight.values()]) {
    for (const command of update?.commands ?? []) {
      asked.set(`${command.brokerId}/${command.requestId}`, command);
    }
  }
  for (const command of asked.values()) answerFailure(draft, command, error);
  const resigned = new TributaryError('NOT_CONTROLLER', 'the controller resigned', {
    outcome: 'not written',
  });
  for (const { brokerId, request } of takeWaiting(draft)) {
    answerFailure(draft, { brokerId, requestId: request.requestId }, resigned);
  }
}

function takeRecord(draft: ControllerDraft, topic: TopicState, record: TopicRecord): void {
  const partitions = record.assignment.map((replicas, partition): PartitionEntry => {
    const before = topic.partitions[partition] ?? emptyEntry;
    const move = record.reassignments?.get(partition);
    const { adding = [], removing = [] } = move ?? {};
    const removed = sameSet(before.removing, removing) ? (before.removed ?? []) : [];
    const paid = before.paid?.filter((id) => record.owed?.get(partition)?.includes(id)) ?? [];
    return { ...before, replicas, adding, removing, removed, paid };
  });
  draft.setTopic({ ...topic, record, ...topicRules(record), partitions });
  if (!topic.published) return;
  draft.publishTopic(record.topicId);
  partitions.forEach((entry, partition) => {
    const before = topic.partitions[partition];
    if (!before || !hasSameReplicas(before, entry)) draft.publishPartition(entry);
  });
}

function hasSameReplicas(a: PartitionEntry, b: PartitionEntry): boolean {
  const text = ({ replicas, adding, removing }: PartitionEntry): string =>
    JSON.stringify([replicas, adding, removing]);
  return text(a) === text(b);
}

const emptyEntry: PartitionEntry = {
  replicas: [],
  adding: [],
  removing: [],
  stored: undefined,
  isOrphan: false,
  write: undefined,
  waiting: [],
};
