/** Moves of replicas, as a person asks for them. Part of `step`, called by the command duties. */
import { TributaryError } from '@tributary/common';
import {
  toWireError,
  type PartitionAnswerInput,
  type PartitionName,
  type ReassignPartitionsRequest,
} from '@tributary/protocol';
import { beginReassignments, type WantedMove } from './begin-reassignments';
import type { ControllerDraft } from './controller-draft';
import type { PendingCommand, TopicState } from './controller-state';
import { waitForWrite } from './waiting-commands';

/** Partitions that one request may name. */
export const maxPartitionsPerCommand = 10_000;

export function reassignPartitions(
  draft: ControllerDraft,
  command: PendingCommand,
  { reassignments }: ReassignPartitionsRequest,
): void {
  const { brokerId, request } = command;
  const { requestId } = request;
  checkCount(reassignments.length);
  const named = namedTopics(draft);
  if (reassignments.some(({ topic }) => named.get(topic)?.update)) {
    return waitForWrite(draft, command);
  }
  const moves = reassignments.map((each): WantedMove => {
    // One whose id is another's is looked for by that id, and refused.
    const topicId = wrongTopic(each, named) ? '' : (named.get(each.topic)?.record.topicId ?? '');
    const { partition } = each;
    return { topicId, partition, target: each.cancel ? 'cancel' : each.replicas };
  });
  beginReassignments(draft, moves, 'a person asked for it', (results) => {
    const partitions = reassignments.map((each, index) =>
      answerFor(each, named, wrongTopic(each, named) ?? results[index]),
    );
    const answer = {
      reassignedPartitions: { partitions },
      outcome: 'reassignedPartitions',
    } as const;
    return { brokerId, requestId, answer };
  });
}

export function checkCount(partitions: number): void {
  if (partitions <= maxPartitionsPerCommand) return;
  const message = `${partitions} partitions in one request, more than ${maxPartitionsPerCommand}`;
  throw new TributaryError('INVALID_ARGUMENT', message);
}

export type NamedTopics = ReadonlyMap<string, TopicState>;

/** Of two of one name, the one that is not being deleted. */
export function namedTopics(draft: ControllerDraft): NamedTopics {
  const topics = [...draft.allTopics().values()].filter(({ deletion }) => !deletion);
  return new Map(topics.map((topic) => [topic.record.topic, topic]));
}

export function wrongTopic(
  { topic, topicId }: Pick<PartitionName, 'topic' | 'topicId'>,
  named: NamedTopics,
): TributaryError | undefined {
  const known = named.get(topic);
  if (!known) return new TributaryError('UNKNOWN_TOPIC', `topic ${topic} does not exist`);
  if (topicId === '' || topicId === known.record.topicId) return undefined;
  const message = `topic ${topic} has id ${known.record.topicId} now, not ${topicId}`;
  return new TributaryError('TOPIC_ID_MISMATCH', message);
}

export function answerFor(
  { topic, topicId, partition }: PartitionName,
  named: NamedTopics,
  error: TributaryError | undefined,
): PartitionAnswerInput {
  const id = named.get(topic)?.record.topicId ?? topicId;
  const wire = error ? toWireError(error.withOutcome('not written')) : null;
  return { topic, topicId: id, partition, error: wire };
}
