/**
 * Reading without a group: exactly the partitions that were named, or all of some topics, new ones included.
 * A topic that is created again is read anew: nothing of the old position applies. Called by the consumer.
 */
import {
  backoffMs,
  Deadline,
  sharedAbort,
  sleep,
  TributaryError,
  type Timer,
} from '@tributary/common';
import type { ClientContext, TopicView } from '../seams';
import type { ConsumerEmitter } from './consumer-events';
import type { AssignedStart, ConsumerSettings, PositionPolicy } from './consumer-options';
import { PartitionCursor } from './partition-cursor';
import type { ReadSession } from './read-session';
import { Reader } from './reader';
import { TopicCheck } from './topic-check';

/** How often the topics are looked at for new partitions. */
export const TOPICS_REFRESH_MS = 30_000;

export class ManualSession implements ReadSession {
  readonly reader: Reader;
  readonly commits = undefined;
  private readonly check: TopicCheck;
  private readonly stop = sharedAbort();
  private refreshTimer: Timer | undefined;
  /** Topic id under which each topic is read now. */
  private readonly topicIds = new Map<string, string>();

  constructor(
    private readonly context: ClientContext,
    private readonly settings: ConsumerSettings<unknown, unknown>,
    private readonly events: ConsumerEmitter,
  ) {
    this.check = new TopicCheck(context);
    const onTopicSuspect = (cursor: PartitionCursor): Promise<boolean> => this.onSuspect(cursor);
    this.reader = new Reader({ context, settings, events, onTopicSuspect });
    const topics = settings.assign?.map(({ topic }) => topic) ?? settings.topics;
    for (const topic of new Set(topics)) void this.begin(topic);
    if (!settings.assign) this.scheduleRefresh();
  }

  close(): Promise<void> {
    this.stop.abort();
    this.refreshTimer?.cancel();
    this.reader.close();
    return Promise.resolve();
  }

  /** Until the topic is known; the reader hears of every failure. */
  private async begin(topic: string): Promise<void> {
    const { clock, random, metadata, requestTimeoutMs } = this.context;
    for (let attempt = 0; !this.stop.signal.aborted; attempt += 1) {
      try {
        const deadline = Deadline.after(clock, requestTimeoutMs, this.stop.signal);
        const view = await metadata.topic(topic, deadline);
        if (!this.stop.signal.aborted) this.read(view, this.settings.from);
        return;
      } catch (thrown) {
        if (this.stop.signal.aborted) return;
        this.reader.tell(TributaryError.from(thrown));
        await sleep(clock, backoffMs(attempt, random), this.stop.signal).catch(() => undefined);
      }
    }
  }

  /** Reads what is wanted of the topic and not read yet. */
  private read(view: TopicView, start: PositionPolicy, renewed = false): void {
    const { topic, topicId } = view;
    this.topicIds.set(topic, topicId);
    const named = this.settings.assign?.filter((entry) => entry.topic === topic);
    const wanted: AssignedStart[] = named ?? view.partitions.map(({ partition }) => ({ topic, partition })); // prettier-ignore
    const added: PartitionCursor[] = [];
    for (const { partition, offset } of wanted) {
      if (partition >= view.partitions.length) {
        this.reader.breakDown(noPartition(view, partition));
        return;
      }
      const cursor = new PartitionCursor(
        { topic, topicId, partition },
        undefined,
        this.context.codecs,
      );
      if (this.reader.cursors.has(cursor.key)) continue;
      const from = offset === undefined || renewed ? start : offset;
      this.reader.add(cursor, typeof from === 'bigint' ? Number(from) : from);
      added.push(cursor);
    }
    if (added.length === 0) return;
    const partitions = added.map(({ partition: { partition } }) => ({ topic, partition }));
    void this.events.emit('assigned', { partitions });
  }

  private async onSuspect(cursor: PartitionCursor): Promise<boolean> {
    const fate = await this.check.of(cursor);
    if (this.stop.signal.aborted || cursor.retired) return false;
    switch (fate.type) {
      case 'same':
        return true;
      case 'recreated':
        this.renew(fate.view);
        return false;
      case 'no such partition':
        this.reader.tell(noPartition(fate.view, cursor.partition.partition));
        return true;
      case 'deleted':
        this.reader.tell(fate.error); // it may come back, under another id
        return true;
    }
  }

  private renew(view: TopicView): void {
    const { topic, topicId } = view;
    if (this.topicIds.get(topic) === topicId) return;
    for (const cursor of [...this.reader.cursors.values()]) {
      if (cursor.partition.topic === topic) this.reader.remove(cursor);
    }
    this.context.logger.info('topic was created again, reading it anew', { topic, topicId });
    void this.events.emit('recreated', { topic, topicId });
    this.read(view, this.settings.from, true);
  }

  private scheduleRefresh(): void {
    const { clock } = this.context;
    const options = { unref: true };
    this.refreshTimer = clock.setTimer(TOPICS_REFRESH_MS, () => void this.refresh(), options);
  }

  private async refresh(): Promise<void> {
    const { clock, metadata, requestTimeoutMs, logger } = this.context;
    const known = [...this.topicIds.keys()];
    try {
      const deadline = Deadline.after(clock, requestTimeoutMs, this.stop.signal);
      await metadata.refresh(known, deadline);
      if (this.stop.signal.aborted) return;
      for (const topic of known) {
        const view = metadata.cached(topic);
        if (!view) continue;
        if (this.topicIds.get(topic) !== view.topicId) this.renew(view);
        else this.read(view, 'earliest'); // partitions that did not exist before
      }
    } catch (thrown) {
      if (this.stop.signal.aborted) return;
      logger.debug('topics could not be refreshed', { error: TributaryError.from(thrown).message });
    }
    this.scheduleRefresh();
  }
}

function noPartition(view: TopicView, partition: number): TributaryError {
  return new TributaryError(
    'UNKNOWN_PARTITION',
    `topic ${view.topic} has ${view.partitions.length} partitions, there is no partition ${partition}`,
    { details: { topic: view.topic, partition } },
  );
}
