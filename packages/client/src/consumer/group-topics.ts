/** The partitions of a group's topics, read fresh: what an assignment shares out. Called by the member that assigns. */
import { Deadline, hasCode } from '@tributary/common';
import type { ClientContext, TopicView } from '../seams';
import type { TopicPartitions } from './member/range-assignor';

/** A topic that does not exist is absent; any other failure rejects, so that nothing is taken away by a mere error. */
export async function readGroupTopics(
  context: ClientContext,
  topics: readonly string[],
): Promise<TopicPartitions> {
  const { metadata, clock, requestTimeoutMs, closing } = context;
  const deadline = Deadline.after(clock, requestTimeoutMs, closing);
  await metadata.refresh(topics, deadline);
  const views = await Promise.all(
    topics.map(async (topic): Promise<TopicView | undefined> => {
      try {
        return await metadata.topic(topic, deadline); // asks again for a while: one broker may lag
      } catch (thrown) {
        if (hasCode(thrown, 'UNKNOWN_TOPIC')) return undefined;
        throw thrown;
      }
    }),
  );
  const found = views.filter((view) => view !== undefined);
  return new Map(
    found.map(({ topic, topicId, partitions }) => [
      topic,
      partitions.map(({ partition }) => ({ topic, topicId, partition })),
    ]),
  );
}
