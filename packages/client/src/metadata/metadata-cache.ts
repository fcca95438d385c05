/**
 * The ClusterMetadata of a client: answers from the cache, reads on demand, one read in flight at a time.
 * Invariants: see merge-topic.ts; a caller that asked for fresh data gets a read that began after it asked.
 * Called by producer, consumer and admin.
 */
import {
  backoffMs,
  Deadline,
  hasCode,
  sleep,
  TributaryError,
  type LeaderHint,
} from '@tributary/common';
import type { Clock, Random } from '@tributary/common';
import type {
  AwaitedLeader,
  BrokerNode,
  ClusterMetadata,
  ClusterSnapshot,
  MetadataSource,
  PartitionView,
  TopicView,
} from '../seams';
import { LeaderWatch } from './leader-watch';
import { mergeFailure, mergeTopic, type CachedTopic } from './merge-topic';

/** Topics in the cache; the one unused for longest goes first. */
export const MAX_CACHED_TOPICS = 10_000;
/** A topic that was just created may not have reached every broker: ask again this long. */
export const UNKNOWN_TOPIC_GRACE_MS = 1_500;
/** A look that waits for a leader may take so much longer than it waits: then its source stands still. */
const LOOK_MARGIN_MS = 1_000;

/** A topic in use is read again after this: partitions may have been added. */
export const METADATA_MAX_AGE_MS = 60_000;

export interface MetadataCacheOptions {
  /** Bound of one read. */
  readonly requestTimeoutMs: number;
  /** Aborted at the end: nothing is looked out for any more. */
  readonly closing: AbortSignal;
  /** Wait for topics that do not exist until the caller's deadline. Default false. */
  readonly waitForTopic?: boolean;
}

interface Round {
  readonly topics: Set<string>;
  readonly done: Promise<void>;
}

export class MetadataCache implements ClusterMetadata {
  private readonly topics = new Map<string, CachedTopic>();
  /** When each was read, or its next read was asked for. */
  private readonly readAt = new Map<string, number>();
  private brokers = new Map<number, BrokerNode>();
  private running: Promise<void> | undefined;
  private next: Round | undefined;
  private readonly watch: LeaderWatch;

  constructor(
    private readonly clock: Clock,
    private readonly random: Random,
    private readonly source: MetadataSource,
    private readonly options: MetadataCacheOptions,
  ) {
    this.watch = new LeaderWatch({
      clock,
      closing: options.closing,
      look: (awaited, maxWaitMs, signal) => this.look(awaited, maxWaitMs, signal),
      found: (awaited) => this.isLed(awaited),
    });
  }

  cached(topic: string): TopicView | undefined {
    const entry = this.topics.get(topic);
    return entry && !entry.absent ? entry.view : undefined;
  }

  refreshIfOld(topic: string): void {
    const now = this.clock.now();
    if (now - (this.readAt.get(topic) ?? now) < METADATA_MAX_AGE_MS) return;
    this.readAt.set(topic, now);
    this.enqueue([topic]).catch(() => undefined); // nobody waits for it
  }

  async topic(topic: string, deadline: Deadline): Promise<TopicView> {
    let missingSince: number | undefined;
    for (let attempt = 0; ; attempt += 1) {
      const view = this.cached(topic);
      if (view) return view;
      const failure = await this.tryRefresh(topic, deadline);
      const found = this.cached(topic);
      if (found) return found;
      const waitMs = backoffMs(attempt, this.random);
      if (waitMs >= deadline.remainingMs) throw failure ?? unknownTopic(topic);
      if (!failure) {
        missingSince ??= this.clock.now();
        const missingMs = this.clock.now() + waitMs - missingSince;
        const graceMs = this.options.waitForTopic ? Infinity : UNKNOWN_TOPIC_GRACE_MS;
        if (missingMs > graceMs) throw unknownTopic(topic);
      }
      await sleep(this.clock, waitMs, deadline.signal);
    }
  }

  async leader(
    topic: string,
    partition: number,
    deadline: Deadline,
  ): Promise<PartitionView & { leader: BrokerNode }> {
    let reread = false;
    let failure: TributaryError | undefined;
    for (let attempt = 0; ; attempt += 1) {
      const view = await this.topic(topic, deadline);
      const found = view.partitions[partition];
      if (!found && reread && !failure) throw unknownPartition(view, partition);
      const suspect = this.topics.get(topic)?.suspects.has(partition) ?? false;
      if (found?.leader && !suspect) return { ...found, leader: found.leader };
      const waitMs = found || !reread ? 0 : backoffMs(attempt - 1, this.random);
      if (waitMs > 0 && waitMs >= deadline.remainingMs) {
        throw failure ?? unknownPartition(view, partition);
      }
      if (waitMs > 0) await sleep(this.clock, waitMs, deadline.signal);
      const { leaderEpoch = -1 } = found ?? {};
      const next = found && (suspect || reread) ? { topic, partition, leaderEpoch } : undefined;
      try {
        failure = await (next ? this.tryLook(next, deadline) : this.tryRefresh(topic, deadline));
      } catch (thrown) {
        // Time ran out in the middle of a read: what the read before said tells more.
        if (reread && found && !found.leader && hasCode(thrown, 'TIMEOUT'))
          throw failure ?? noLeader(topic, found);
        throw thrown;
      }
      reread = true;
    }
  }

  reportFailure(
    topic: string,
    partition: number,
    leaderEpoch: number,
    error: TributaryError,
  ): void {
    const cached = this.topics.get(topic);
    if (!cached) return;
    // Who named this leader may be cut off from the controller, and would say the same again.
    this.source.doubt?.();
    if (error.code === 'TOPIC_ID_MISMATCH' || error.code === 'UNKNOWN_TOPIC') {
      // The next caller reads again; the epochs stay known.
      this.topics.set(topic, { ...cached, absent: true });
      return;
    }
    const failed = { partition, leaderEpoch };
    const merged = mergeFailure(cached, failed, error.leader, (hint) => this.nodeOf(hint));
    this.topics.set(topic, merged);
    if (merged.suspects.has(partition)) this.watch.want({ topic, partition, leaderEpoch });
    else this.watch.tell();
  }

  onLeader(awaited: AwaitedLeader, call: () => void): () => void {
    return this.watch.onLeader(awaited, call);
  }

  /** At least these topics are read once more, in a read that starts from now on. */
  async refresh(topics: readonly string[], deadline: Deadline): Promise<void> {
    await deadline.race(this.enqueue(topics), `reading metadata of ${topics.join(', ')}`);
  }

  async snapshot(deadline: Deadline): Promise<ClusterSnapshot> {
    const snapshot = await this.source.read(undefined, deadline);
    this.takeBrokers(snapshot.brokers);
    for (const topic of snapshot.topics) this.take(topic.topic, topic);
    return snapshot;
  }

  anyBroker(attempt: number, deadline: Deadline): Promise<BrokerNode> {
    return this.source.anyBroker(attempt, deadline);
  }

  private tryRefresh(topic: string, deadline: Deadline): Promise<TributaryError | undefined> {
    return this.attempt(this.refresh([topic], deadline), deadline);
  }

  /** A look that waits for the leader, too. */
  private tryLook(next: AwaitedLeader, deadline: Deadline): Promise<TributaryError | undefined> {
    this.watch.want(next);
    const what = `looking for the leader of partition ${next.partition} of topic ${next.topic}`;
    return this.attempt(deadline.race(this.watch.nextLook(), what), deadline);
  }

  /** The error, where trying again may help; throws others, and at the deadline. */
  private async attempt(
    read: Promise<void>,
    deadline: Deadline,
  ): Promise<TributaryError | undefined> {
    try {
      await read;
      return undefined;
    } catch (thrown) {
      const error = TributaryError.from(thrown);
      if (!error.retriable || deadline.expired) throw error;
      return error;
    }
  }

  private async look(
    awaited: readonly AwaitedLeader[],
    maxWaitMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const deadline = Deadline.after(this.clock, maxWaitMs + LOOK_MARGIN_MS, signal);
    const snapshot = await this.source.readNext(awaited, maxWaitMs, deadline);
    const topics = new Set(awaited.map(({ topic }) => topic));
    this.takeAll([...topics], snapshot);
    // It waited in vain: another source may know more.
    if (!awaited.some((one) => this.isLed(one))) this.source.doubt?.();
  }

  private isLed({ topic, partition, leaderEpoch }: AwaitedLeader): boolean {
    const view = this.cached(topic)?.partitions[partition];
    return view?.leader !== undefined && view.leaderEpoch > leaderEpoch;
  }

  /** Joins the read that will start next; starts it when none is running. */
  private enqueue(topics: readonly string[]): Promise<void> {
    if (!this.next) {
      const wanted = new Set<string>();
      const before = this.running ?? Promise.resolve();
      const done = before
        .catch(() => undefined) // its own callers hear of it
        .then(() => this.read(wanted));
      this.next = { topics: wanted, done };
      done.catch(() => undefined); // a caller whose deadline passed no longer listens
    }
    for (const topic of topics) this.next.topics.add(topic);
    return this.next.done;
  }

  private async read(wanted: ReadonlySet<string>): Promise<void> {
    this.running = this.next?.done;
    this.next = undefined;
    const deadline = Deadline.after(this.clock, this.options.requestTimeoutMs);
    const topics = [...wanted];
    this.takeAll(topics, await this.source.read(topics, deadline));
  }

  private takeAll(topics: readonly string[], snapshot: ClusterSnapshot): void {
    this.takeBrokers(snapshot.brokers);
    const found = new Map(snapshot.topics.map((view) => [view.topic, view]));
    for (const topic of topics) this.take(topic, found.get(topic));
    this.watch.tell();
  }

  private take(topic: string, fresh: TopicView | undefined): void {
    const merged = mergeTopic(this.topics.get(topic), fresh);
    this.forget(topic);
    if (!merged) return;
    this.topics.set(topic, merged);
    this.readAt.set(topic, this.clock.now());
    if (this.topics.size <= MAX_CACHED_TOPICS) return;
    const oldest = this.topics.keys().next();
    if (!oldest.done) this.forget(oldest.value);
  }

  private forget(topic: string): void {
    this.topics.delete(topic);
    this.readAt.delete(topic);
  }

  private takeBrokers(brokers: readonly BrokerNode[]): void {
    this.brokers = new Map(brokers.map((broker) => [broker.brokerId, broker]));
  }

  private nodeOf(hint: LeaderHint): BrokerNode | undefined {
    if (hint.leaderId < 0) return undefined;
    const known = this.brokers.get(hint.leaderId);
    if (!hint.host || !hint.port) return known;
    const address = { host: hint.host, port: hint.port };
    return { brokerId: hint.leaderId, brokerEpoch: known?.brokerEpoch ?? 0, address };
  }
}

function unknownTopic(topic: string): TributaryError {
  return new TributaryError('UNKNOWN_TOPIC', `topic ${topic} does not exist`, {
    details: { topic },
  });
}

function unknownPartition(view: TopicView, partition: number): TributaryError {
  const count = view.partitions.length;
  return new TributaryError(
    'UNKNOWN_PARTITION',
    `topic ${view.topic} has ${count} partitions, there is no partition ${partition}`,
    { details: { topic: view.topic, partition } },
  );
}

function noLeader(topic: string, found: PartitionView): TributaryError {
  const { partition, isr, offlineReplicas = [] } = found;
  const offline = offlineReplicas.map(({ brokerId, reason }) => `; broker ${brokerId}: ${reason}`);
  const members = isr.join(', ') || 'none';
  return new TributaryError(
    'LEADER_NOT_AVAILABLE',
    `partition ${partition} of topic ${topic} has no leader (in-sync replicas: ${members})${offline.join('')}`,
    {
      details: { topic, partition },
      // A replica that is away can come back; a damaged one waits for a person.
      ...(offline.length > 0
        ? { hint: `See trib topic describe ${topic}, and trib partition accept-loss --help.` }
        : {}),
    },
  );
}
