/**
 * Turns partition states from the controller into leaders and followers on this broker.
 *
 * Invariants: per partition one change at a time, in order; a leadership that a state ends is ended before
 * anything is awaited; the state is recorded last, so that a change that failed is tried again and not
 * ignored as known (KAFKA-9307). A leader epoch below one that lies in the log is stale, whoever sends it.
 * Called by ReplicaManager.
 */
import {
  assert,
  hasCode,
  partitionKey,
  partitionName,
  TributaryError,
  type Clock,
  type Logger,
  type Timer,
} from '@tributary/common';
import type { LogStore, PartitionLog } from '@tributary/log';
import type { PartitionState } from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import type { Partition } from '../partition/partition';
import type { BrokerViews, PartitionSettings } from '../partition/partition-state';
import { isNewer } from '../partition/partition-step';
import type { FollowerLinks } from './follower-links';
import { replicationFactor, topicConfigOf } from './image-view';
import type { OfflineReplicas } from './offline-replicas';
import { mayRefill } from './refill';
import type { Refills } from './refills';

/** Between two tries of a change that the disk refused. */
const RETRY_MS = 1_000;

export interface RoleChangesHost {
  readonly brokerId: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly logStore: LogStore;
  readonly links: FollowerLinks;
  readonly partitions: Map<string, Partition>;
  readonly registered: () => boolean;
  readonly image: () => MetadataImage | undefined;
  readonly views: () => BrokerViews;
  /** It became leader, as the controller said. */
  readonly led: (partition: Partition) => void;
  readonly settingsOf: (partition: Partition, state: PartitionState) => PartitionSettings;
  readonly open: (log: PartitionLog, state: PartitionState) => Partition;
  /** The file of HWs goes by names: what an earlier topic left there must not be taken for the next one's. */
  readonly checkpoint: () => Promise<void>;
  readonly offline: OfflineReplicas;
  readonly refills: Refills;
}

export class RoleChanges {
  private readonly running = new Map<string, Promise<unknown>>();
  /** Could not be taken yet: not registered, or the disk refused. */
  private readonly deferred = new Map<string, PartitionState>();
  /** Said so in the logs: one line an incident. */
  private readonly reported = new Set<string>();
  private retryTimer: Timer | undefined;
  /** Counts registrations that ended. */
  private life = 0;
  private closed = false;

  constructor(private readonly host: RoleChangesHost) {}

  /** Never rejects. */
  apply(state: PartitionState): Promise<void> {
    const key = partitionKey(state.topicId, state.partition);
    const partition = this.host.partitions.get(key);
    // A change that is under way does not hold up the end of a leadership.
    if (partition && state.leader !== this.host.brokerId && isNewer(partition.state, state)) {
      if (this.running.has(key)) partition.resign(`leader epoch ${state.leaderEpoch} began`);
    }
    const { life } = this;
    return this.inOrder(key, async () => {
      // What an earlier life of this broker was told does not count any more: the next image says what does.
      if (life === this.life) await this.take(state);
    });
  }

  /** Runs `work` after whatever is under way for this partition; at once, and synchronously, if nothing is. */
  inOrder<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.running.get(key);
    const now = before ? before.then(work, work) : work();
    const settled = now.then(
      () => undefined,
      () => undefined,
    );
    const done = settled.then(() => {
      if (this.running.get(key) === done) this.running.delete(key);
    });
    this.running.set(key, done);
    return now;
  }

  /** Registered anew, or the retry timer. */
  retryDeferred(): void {
    const states = [...this.deferred.values()];
    this.deferred.clear();
    for (const state of states) void this.apply(state);
  }

  /** The registration is over. */
  endLife(): void {
    this.life += 1;
    this.deferred.clear();
  }

  forget(key: string): void {
    this.deferred.delete(key);
    this.host.offline.forget(key);
  }

  async close(): Promise<void> {
    this.closed = true;
    this.retryTimer?.cancel();
    await Promise.all(this.running.values());
  }

  private async take(state: PartitionState): Promise<void> {
    const key = partitionKey(state.topicId, state.partition);
    const { brokerId, partitions, links, offline } = this.host;
    const outage = offline.get(key)?.kind;
    if (this.closed || outage === 'failed') return;
    this.deferred.delete(key);
    if (outage === 'damaged') return this.refill(key, state);
    let partition = partitions.get(key);
    if (partition && namesLeader(partition, state)) {
      partition.dispatch({ kind: 'resign', reason: 'its leader is known now' });
    }
    if (partition && !isNewer(partition.state, state)) return;
    if (!state.replicas.includes(brokerId)) {
      links.unfollow(key);
      partition?.dispatch({ kind: 'resign', reason: 'this broker is not in the assignment' });
      return;
    }
    try {
      // Before any await: what this state ends must not serve a moment longer.
      if (partition && state.leader !== brokerId) return this.follow(partition, state);
      if (!partition && this.isLost(state)) return;
      partition ??= await this.create(state);
      if (this.closed || !isNewer(partition.state, state)) return;
      if (state.leader === brokerId) await this.lead(partition, state);
      else this.follow(partition, state);
      this.reported.delete(key);
    } catch (error) {
      this.refused(key, state, error);
    }
  }

  /** Once it may: the damaged log goes aside, and the replica begins anew as a follower. */
  private async refill(key: string, state: PartitionState): Promise<void> {
    const { brokerId, partitions, links, offline, refills } = this.host;
    const outage = offline.get(key);
    if (!outage || !mayRefill(outage, state, brokerId)) return;
    try {
      links.unfollow(key);
      partitions.delete(key);
      await refills.setAside(state);
      if (this.closed) return;
      const partition = await this.create(state);
      if (this.closed) return;
      assert(!partition.log.failure, `${partition.name} begins anew with a log that failed`);
      refills.begun(state);
      this.follow(partition, state);
      this.reported.delete(key);
    } catch (error) {
      this.refused(key, state, error);
    }
  }

  /** It should be here and is not, or cannot be loaded: the controller is told, no empty one takes its place. */
  private isLost({ topic, topicId, partition }: PartitionState): boolean {
    const { logStore, offline } = this.host;
    // Where it cannot be told whose it is, it is taken for this topic's: that harms nothing.
    const lost = logStore
      .lost()
      .find(
        (one) =>
          one.topic === topic &&
          one.partition === partition &&
          (one.topicId ?? topicId) === topicId,
      );
    if (!lost) return false;
    offline.report({ topic, topicId, partition }, lost.damaged ? 'damaged' : 'failed', lost.reason);
    return true;
  }

  private follow(partition: Partition, state: PartitionState): void {
    if (this.isStale(partition, state)) return;
    const { leader: leaderId, leaderEpoch, partitionEpoch, isr, replicas } = state;
    const now = partition.state;
    const sameLeader = now.role === 'follower' && now.leaderId === leaderId;
    if (sameLeader && now.leaderEpoch === leaderEpoch) {
      partition.dispatch({ kind: 'changed', leaderId, leaderEpoch, partitionEpoch, isr, replicas });
    } else {
      partition.dispatch({ kind: 'follow', leaderId, leaderEpoch, partitionEpoch });
      this.host.logger.debug('follows', { partition: partition.name, leaderId, leaderEpoch });
    }
    this.host.links.follow(partition);
  }

  private async lead(partition: Partition, state: PartitionState): Promise<void> {
    if (this.isStale(partition, state)) return;
    const { host } = this;
    const isRefilling = host.offline.get(partitionKey(state.topicId, state.partition));
    assert(!isRefilling, `${partition.name} is named leader while it is refilled`);
    const { leader: leaderId, leaderEpoch, partitionEpoch, isr, replicas } = state;
    const settings = host.settingsOf(partition, state);
    const now = partition.state;
    if (now.role === 'leader' && now.leaderEpoch === leaderEpoch) {
      partition.dispatch({ kind: 'changed', leaderId, leaderEpoch, partitionEpoch, isr, replicas });
      partition.dispatch({ kind: 'cluster', brokers: host.views(), settings });
      return;
    }
    const key = partitionKey(state.topicId, state.partition);
    if (!host.registered()) {
      this.deferred.set(key, state);
      return;
    }
    host.links.unfollow(key, leaderEpoch);
    // Nothing more in the old epoch, which the log is about to leave.
    if (now.role === 'leader') partition.resign(`leader epoch ${leaderEpoch} began`);
    const { brokerId } = host;
    const brokers = host.views();
    await partition.becomeLeader({
      brokerId,
      leaderEpoch,
      partitionEpoch,
      isr,
      replicas,
      brokers,
      settings,
    });
    if (partition.state.role !== 'leader') return;
    host.led(partition);
    // What came with an image meanwhile is for leaders alone, and it was none then.
    const views = host.views();
    const current = host.settingsOf(partition, state);
    partition.dispatch({ kind: 'cluster', brokers: views, settings: current });
    const { logEndOffset, highWatermark } = partition.state;
    const facts = { partition: partition.name, leaderEpoch, isr, logEndOffset, highWatermark };
    host.logger.info('leads', facts);
  }

  /** The log holds a higher epoch than the state names: an old controller speaks. */
  private isStale(partition: Partition, state: PartitionState): boolean {
    if (state.leaderEpoch >= partition.log.latestEpoch) return false;
    this.host.logger.warn('partition state is older than the log, ignored', {
      partition: partition.name,
      leaderEpoch: state.leaderEpoch,
      epochInLog: partition.log.latestEpoch,
    });
    return true;
  }

  private async create(state: PartitionState): Promise<Partition> {
    const { topic, topicId, partition } = state;
    const { logStore, partitions, image, open } = this.host;
    const config = topicConfigOf(image()?.topicById(topicId), replicationFactor(state));
    await this.moveNamesakesAside(state);
    const log =
      logStore.get(topicId, partition) ??
      (await logStore.create(topic, topicId, partition, config));
    const opened = open(log, state);
    partitions.set(partitionKey(topicId, partition), opened);
    return opened;
  }

  /** A log of an earlier topic of this name: kept, not served. */
  private async moveNamesakesAside(state: PartitionState): Promise<void> {
    const { logStore, partitions, links, logger } = this.host;
    const { topic, topicId, partition } = state;
    for (const earlier of [...logStore.logs(), ...logStore.lost()]) {
      if (earlier.topic !== topic || earlier.partition !== partition) continue;
      if (earlier.topicId === undefined || earlier.topicId === topicId) continue;
      const key = partitionKey(earlier.topicId, partition);
      links.unfollow(key);
      partitions.get(key)?.dispatch({ kind: 'resign', reason: 'the topic was created again' });
      partitions.delete(key);
      await logStore.moveAside(earlier.topicId, partition);
      await this.host.checkpoint();
      logger.warn('log of an earlier topic moved aside', {
        partition: partitionName(topic, partition),
        topicId: earlier.topicId,
        newTopicId: topicId,
      });
    }
  }

  /** A full disk may have room again, so try later; anything else takes this replica offline. */
  private refused(key: string, state: PartitionState, thrown: unknown): void {
    const error = TributaryError.from(thrown, 'STORAGE_ERROR');
    const { message: reason } = error;
    const { partitions, logger, clock } = this.host;
    const partition = partitions.get(key);
    if (partition && !hasCode(error, 'DISK_FULL')) {
      partition.noticeFailure(error);
      return;
    }
    if (!this.reported.has(key)) {
      this.reported.add(key);
      logger.error('replica cannot take its role', {
        partition: partitionName(state.topic, state.partition),
        reason,
        hint: error.hint,
      });
    }
    if (!hasCode(error, 'DISK_FULL', 'CLOSED')) {
      const kind = hasCode(error, 'CORRUPT_LOG') ? 'damaged' : 'failed';
      return this.host.offline.report(state, kind, reason);
    }
    this.deferred.set(key, state);
    this.retryTimer?.cancel();
    this.retryTimer = clock.setTimer(RETRY_MS, () => this.retryDeferred());
  }
}

/**
 * A controller that doubts a leader does not name it before the next one is elected. Should it go before that, its
 * successor names the old one again, in the very same epochs.
 */
function namesLeader({ state }: Partition, news: PartitionState): boolean {
  const isSame =
    news.leaderEpoch === state.leaderEpoch && news.partitionEpoch === state.partitionEpoch;
  return isSame && state.role === 'follower' && state.leaderId < 0 && news.leader >= 0;
}
