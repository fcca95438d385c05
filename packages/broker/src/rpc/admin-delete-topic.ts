/**
 * Admin.DeleteTopic on any broker: leaves the marker, then waits until the controller has removed it, which is
 * after all registered brokers have confirmed that their data are gone. A timeout says that the deletion goes on.
 */
import { Deadline, TributaryError, validateTopicName } from '@tributary/common';
import type { DeletionMarker, TopicStore } from '@tributary/coordination';
import type {
  CallContext,
  DeleteTopicRequest,
  DeleteTopicResponseInput,
} from '@tributary/protocol';
import type { TopicAdminOptions } from './admin-create-topic';

export async function deleteTopic(
  options: TopicAdminOptions,
  request: DeleteTopicRequest,
  context: CallContext,
): Promise<DeleteTopicResponseInput> {
  const { topics, clock, limits } = options;
  const { topic } = request;
  // It becomes part of paths in the coordinator.
  validateTopicName(topic);
  const timeoutMs = request.timeoutMs || limits.defaultAdminTimeoutMs;
  const deadline = Deadline.after(clock, timeoutMs, context.signal);
  const what = `deleting topic ${topic}`;
  await deadline.race(options.barrier(), what);
  const record = await deadline.race(topics.get(topic), what);
  if (!record) throw new TributaryError('UNKNOWN_TOPIC', `topic ${topic} does not exist`);
  if (request.topicId !== '' && request.topicId !== record.topicId) {
    const message = `topic ${topic} has id ${record.topicId}, not ${request.topicId}`;
    throw new TributaryError('TOPIC_ID_MISMATCH', message);
  }
  const marker: DeletionMarker = { topic, topicId: record.topicId };
  await deadline.race(topics.requestDeletion(marker), what);
  await waitUntilGone(topics, marker, deadline);
  await options.metadata.waitFor(
    (image) => image.topicById(marker.topicId) === undefined,
    deadline,
    `this broker's image without topic ${topic}`,
  );
  return marker;
}

async function waitUntilGone(
  topics: TopicStore,
  marker: DeletionMarker,
  deadline: Deadline,
): Promise<void> {
  let stop = (): void => undefined;
  const gone = new Promise<void>((resolve) => {
    const watch = topics.watchDeletion(marker, resolve);
    stop = () => watch.stop();
  });
  try {
    await deadline.race(gone, 'the deletion');
  } catch (thrown) {
    const { code, cause } = TributaryError.from(thrown);
    const message = `the deletion of topic ${marker.topic} was accepted, but is not complete yet`;
    throw new TributaryError(code, message, {
      outcome: 'written',
      hint: 'It goes on. It ends once every registered broker with a replica has deleted it.',
      cause,
    });
  } finally {
    stop();
  }
}
