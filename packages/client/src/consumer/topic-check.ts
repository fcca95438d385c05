/**
 * A broker does not know the topic id that we read: was the topic deleted, created again, or does that broker
 * lag behind? Asks the metadata, once at a time per topic. Called by the sessions.
 */
import { Deadline, TributaryError } from '@tributary/common';
import type { ClientContext, TopicView } from '../seams';
import type { PartitionCursor } from './partition-cursor';

export type TopicFate =
  /** Unchanged, or nobody could say: try again. */
  | { readonly type: 'same' }
  | { readonly type: 'recreated'; readonly view: TopicView }
  | { readonly type: 'no such partition'; readonly view: TopicView }
  | { readonly type: 'deleted'; readonly error: TributaryError };

export class TopicCheck {
  private readonly running = new Map<string, Promise<TopicView>>();

  constructor(private readonly context: ClientContext) {}

  async of(cursor: PartitionCursor): Promise<TopicFate> {
    const { topic, topicId, partition } = cursor.partition;
    try {
      const view = await this.look(topic);
      if (view.topicId !== topicId) return { type: 'recreated', view };
      const exists = partition < view.partitions.length;
      return exists ? { type: 'same' } : { type: 'no such partition', view };
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      return error.code === 'UNKNOWN_TOPIC' ? { type: 'deleted', error } : { type: 'same' };
    }
  }

  private look(topic: string): Promise<TopicView> {
    const { metadata, clock, requestTimeoutMs, closing } = this.context;
    const deadline = Deadline.after(clock, requestTimeoutMs, closing);
    let look = this.running.get(topic);
    if (!look) {
      look = metadata.topic(topic, deadline).finally(() => this.running.delete(topic));
      this.running.set(topic, look);
    }
    return look;
  }
}
