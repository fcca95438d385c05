/**
 * Reading as a member of a group: what the member machine takes is read, what it revokes is finished,
 * committed and handed back. Invariants: a partition is read only while it is owned; nothing of it is
 * committed after it was given back or lost. Called by the consumer.
 */
import { hostname } from 'node:os';
import { Deadline, hasCode, sharedAbort, type Timer, TributaryError } from '@tributary/common';
import { partitionKey, type TopicPartition } from '@tributary/common';
import type {
  GroupPartition,
  OwnedOffsetCommit,
  PartitionOwnership,
} from '@tributary/coordination';
import type { DecodedRecord } from '@tributary/record';
import type { ClientContext } from '../seams';
import { Committer } from './committer';
import type { ConsumerEmitter } from './consumer-events';
import type { ConsumerSettings } from './consumer-options';
import { readGroupTopics } from './group-topics';
import { MemberDriver, type MemberHooks } from './member/member-driver';
import { PartitionCursor } from './partition-cursor';
import type { OffsetToCommit, ReadSession, SessionCommits } from './read-session';
import { Reader } from './reader';
import { TopicCheck } from './topic-check';

/** How often the assigning member compares with the topics, and every member reads the group unasked. */
export const CHECK_TOPICS_MS = 30_000;
const RETRY_BASE_MS = 50;
const RETRY_MAX_MS = 1_000;

interface Owned {
  readonly cursor: PartitionCursor;
  readonly ownerEpoch: number;
  /** Last offset that was written; -1: none of this ownership. */
  committed: number;
  /** Ends waiting for the record in hand: the partition is lost. */
  readonly lost: AbortController;
}

export class GroupSession implements ReadSession, MemberHooks, SessionCommits {
  readonly reader: Reader;
  readonly commits = this;
  private readonly owned = new Map<string, Owned>();
  private readonly driver: MemberDriver;
  private readonly committer: Committer;
  private readonly check: TopicCheck;
  private readonly closing = sharedAbort();
  private fresh: TopicPartition[] = [];
  /** Topic ids that the user heard of: one for each time that a topic of ours was created again. */
  private readonly recreated = new Set<string>();
  private autoCommitTimer: Timer | undefined;

  constructor(
    private readonly context: ClientContext,
    private readonly group: string,
    private readonly settings: ConsumerSettings<unknown, unknown>,
    private readonly events: ConsumerEmitter,
  ) {
    const { clock, random, logger, clientId } = context;
    this.check = new TopicCheck(context);
    const onTopicSuspect = (cursor: PartitionCursor): Promise<boolean> => this.onSuspect(cursor);
    // Of a partition whose records come the user has heard, even while claims of others are not answered.
    const onHandOut = (): void => this.settled();
    this.reader = new Reader({ context, settings, events, onTopicSuspect, onHandOut });
    this.committer = new Committer(clock, random, {
      write: (commits) => this.driver.commit(commits),
      onFenced: ({ partition, ownerEpoch }) => this.driver.fenced(partition, ownerEpoch),
    });
    this.driver = new MemberDriver({
      store: context.groups(),
      group,
      description: { clientId, host: hostname(), topics: settings.topics, assignors: ['range'] },
      leaseMs: settings.sessionTimeoutMs,
      machine: {
        rebalanceTimeoutMs: settings.rebalanceTimeoutMs,
        checkTopicsMs: CHECK_TOPICS_MS,
        retryBaseMs: RETRY_BASE_MS,
        retryMaxMs: RETRY_MAX_MS,
      },
      clock,
      random,
      logger,
      hooks: this,
    });
    this.driver.start();
    this.scheduleAutoCommit();
    for (const topic of settings.topics) void this.checkExists(topic);
  }

  async close(timeoutMs: number): Promise<void> {
    this.autoCommitTimer?.cancel();
    this.closing.abort();
    await this.driver.close(timeoutMs);
    this.reader.close();
  }

  // ---- commits ----

  async consumed(deadline: Deadline): Promise<void> {
    await this.write([...this.owned.values()].flatMap(consumedOf), deadline);
  }

  async offsets(offsets: readonly OffsetToCommit[], deadline: Deadline): Promise<void> {
    const commits = offsets.map(({ topic, partition, offset, metadata }) => {
      const owned = this.find(topic, partition);
      if (!owned) throw notOurs(this.group, topic, partition);
      const { cursor, ownerEpoch } = owned;
      const leaderEpoch = cursor.consumed?.offset === offset ? cursor.consumed.leaderEpoch : -1;
      return { partition: cursor.partition, ownerEpoch, offset, leaderEpoch, metadata };
    });
    await this.write(commits, deadline);
  }

  async record(cursor: PartitionCursor, record: DecodedRecord, deadline: Deadline): Promise<void> {
    const { partition } = cursor;
    const owned = this.owned.get(cursor.key);
    if (owned?.cursor !== cursor) throw notOurs(this.group, partition.topic, partition.partition);
    const { ownerEpoch } = owned;
    const { offset, leaderEpoch } = record;
    const commit = { partition, ownerEpoch, offset: offset + 1, leaderEpoch, metadata: '' };
    await this.write([commit], deadline);
    cursor.committed(record);
  }

  private async write(commits: readonly OwnedOffsetCommit[], deadline: Deadline): Promise<void> {
    if (commits.length === 0) return;
    await this.committer.commit(commits, deadline);
    for (const { partition, ownerEpoch, offset } of commits) {
      const owned = this.owned.get(partitionKey(partition.topicId, partition.partition));
      if (owned?.ownerEpoch === ownerEpoch) owned.committed = offset;
    }
  }

  private scheduleAutoCommit(): void {
    const { autoCommitIntervalMs } = this.settings;
    if (autoCommitIntervalMs === undefined || this.closing.signal.aborted) return;
    this.autoCommitTimer = this.context.clock.setTimer(autoCommitIntervalMs, () => {
      void this.autoCommit([...this.owned.values()]).then(() => this.scheduleAutoCommit());
    });
  }

  /** Never rejects. */
  private async autoCommit(entries: readonly Owned[]): Promise<void> {
    const { clock, requestTimeoutMs, logger } = this.context;
    try {
      const deadline = Deadline.after(clock, requestTimeoutMs);
      await this.write(entries.flatMap(consumedOf), deadline);
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      const { code, message } = error;
      logger.warn('automatic commit failed', { group: this.group, code, error: message });
      await this.events.emit('commitFailed', { error });
    }
  }

  // ---- what the member machine wants ----

  readTopics(topics: readonly string[]): ReturnType<typeof readGroupTopics> {
    return readGroupTopics(this.context, topics);
  }

  take(partition: GroupPartition, { ownerEpoch, committed }: PartitionOwnership): void {
    const cursor = new PartitionCursor(partition, ownerEpoch, this.context.codecs);
    const lost = new AbortController();
    this.owned.set(cursor.key, { cursor, ownerEpoch, committed: committed?.offset ?? -1, lost });
    const lastEpoch = committed && committed.leaderEpoch >= 0 ? committed.leaderEpoch : undefined;
    this.reader.add(cursor, committed?.offset ?? this.settings.from, lastEpoch);
    this.fresh.push(named(cursor));
  }

  settled(): void {
    if (this.fresh.length === 0) return;
    const partitions = this.fresh;
    this.fresh = [];
    void this.events.emit('assigned', { partitions });
  }

  revoke(partitions: readonly GroupPartition[]): Promise<void>[] {
    const entries = partitions.map((p) => this.owned.get(partitionKey(p.topicId, p.partition)));
    for (const entry of entries) if (entry) this.reader.remove(entry.cursor);
    const idle = entries.filter((entry) => entry?.cursor.idle === true) as Owned[];
    const idleBack = this.handBack(idle);
    return entries.map((entry) => {
      if (!entry) return Promise.resolve();
      if (idle.includes(entry)) return idleBack;
      return this.whenFinished(entry).then(() => this.handBack([entry]));
    });
  }

  drop(partitions: readonly GroupPartition[]): void {
    const lost: TopicPartition[] = [];
    for (const { topicId, partition } of partitions) {
      const key = partitionKey(topicId, partition);
      const entry = this.owned.get(key);
      if (!entry) continue;
      this.owned.delete(key);
      this.reader.remove(entry.cursor);
      entry.lost.abort();
      lost.push(named(entry.cursor));
    }
    this.fresh = this.fresh.filter((p) => !lost.some((q) => samePartition(p, q)));
    if (lost.length === 0) return;
    this.context.logger.info('partitions lost', { group: this.group, count: lost.length });
    void this.events.emit('lost', { partitions: lost });
  }

  fail(error: TributaryError): void {
    this.reader.breakDown(error);
  }

  /** The record in hand is finished, or nobody may wait for it any longer. */
  private async whenFinished({ cursor, lost }: Owned): Promise<void> {
    const signal = AbortSignal.any([lost.signal, this.closing.signal]);
    const deadline = Deadline.after(this.context.clock, this.settings.rebalanceTimeoutMs, signal);
    await deadline.race(cursor.whenIdle(), 'finishing a record').catch(() => undefined);
  }

  /** The user's last word, the last commit; then it is no longer ours to commit. */
  private async handBack(entries: readonly Owned[]): Promise<void> {
    const still = entries.filter(({ lost }) => !lost.signal.aborted);
    if (still.length === 0) return;
    const partitions = still.map(({ cursor }) => named(cursor));
    const { rebalanceTimeoutMs, autoCommitIntervalMs } = this.settings;
    const deadline = Deadline.after(this.context.clock, rebalanceTimeoutMs);
    const told = this.events.emit('revoked', { partitions });
    await deadline.race(told, 'a revoked listener').catch(() => undefined); // it had its time
    const ours = still.filter(({ lost }) => !lost.signal.aborted);
    if (autoCommitIntervalMs !== undefined) await this.autoCommit(ours);
    await this.committer.settled();
    for (const entry of ours) {
      if (this.owned.get(entry.cursor.key) === entry) this.owned.delete(entry.cursor.key);
    }
  }

  /** A topic that does not exist would otherwise be waited for in silence. */
  private async checkExists(topic: string): Promise<void> {
    const { clock, metadata, requestTimeoutMs } = this.context;
    try {
      await metadata.topic(topic, Deadline.after(clock, requestTimeoutMs, this.closing.signal));
    } catch (thrown) {
      if (hasCode(thrown, 'UNKNOWN_TOPIC')) this.reader.tell(thrown);
    }
  }

  private async onSuspect(cursor: PartitionCursor): Promise<boolean> {
    const fate = await this.check.of(cursor);
    // The assignment follows the topics: a new id comes as a new partition, a deleted one is revoked.
    if (fate.type !== 'same' && !cursor.retired) this.driver.topicsChanged();
    if (fate.type === 'recreated' && !this.recreated.has(fate.view.topicId)) {
      const { topic, topicId } = fate.view;
      this.recreated.add(topicId);
      void this.events.emit('recreated', { topic, topicId });
    }
    return true;
  }

  private find(topic: string, partition: number): Owned | undefined {
    for (const owned of this.owned.values()) {
      const here = owned.cursor.partition;
      if (here.topic === topic && here.partition === partition) return owned;
    }
    return undefined;
  }
}

function consumedOf({ cursor, ownerEpoch, committed }: Owned): OwnedOffsetCommit[] {
  const { consumed, partition } = cursor;
  if (!consumed || consumed.offset === committed) return [];
  return [{ partition, ownerEpoch, ...consumed, metadata: '' }];
}

function named({ partition: { topic, partition } }: PartitionCursor): TopicPartition {
  return { topic, partition };
}

function samePartition(a: TopicPartition, b: TopicPartition): boolean {
  return a.topic === b.topic && a.partition === b.partition;
}

function notOurs(group: string, topic: string, partition: number): TributaryError {
  return new TributaryError(
    'FENCED_OWNER',
    `${topic}-${partition} is not owned by this member of group ${group} now`,
    { details: { topic, partition, group } },
  );
}
