/**
 * All replicas of one broker: opens them from the log store, takes roles as the controller says, follows and lets
 * follow, checks the ISRs by the clock, checkpoints HWs. The broker's control plane drives it through
 * ReplicaHost; the handlers of rpc/ ask it for partitions.
 *
 * Invariant: at most one Partition per topic id and number; what the image does not know is not served.
 */
import {
  partitionKey,
  type Clock,
  type LeaderHint,
  type Logger,
  type Random,
  type Timer,
} from '@tributary/common';
import type { LogStore, PartitionLog } from '@tributary/log';
import {
  type Acceptor,
  type Handler,
  type LocalReplica,
  type OfflineReplica,
  type PartitionState,
  type RestoredReplica,
  type StopReplica,
  type StopResult,
  type Transport,
} from '@tributary/protocol';
import type { MetadataImage } from '../metadata/metadata-image';
import { WaiterBudget } from '../partition/commit-purgatory';
import { Partition } from '../partition/partition';
import type { DataHost } from '../rpc/data-host';
import type { Leadership, PartitionAlterer, ReplicaHost } from '../seams';
import { dataAcceptor } from './data-acceptor';
import type { DataLimits } from './data-limits';
import { FollowerLinks } from './follower-links';
import { HighWatermarkCheckpoint } from './high-watermark-checkpoint';
import { ImageObserver } from './image-observer';
import {
  absence,
  leaderHint,
  partitionSettings,
  replicationFactor,
  topicConfigOf,
  type PartitionName,
} from './image-view';
import { alterIsr } from './isr-alterer';
import { LeaderStreams } from './leader-streams';
import { linkPolicy } from './link-policy';
import { LiveSettings } from './live-settings';
import { LossAcceptance, type AcceptedLoss } from './loss-acceptance';
import { OfflineReplicas } from './offline-replicas';
import { PreviousLife, type ToldLives } from './previous-life';
import { Refills } from './refills';
import { replicaStatuses, type ReplicaStatus } from './replica-status';
import { RoleChanges } from './role-changes';
import { stopReplicas } from './stop-replicas';

export interface ReplicaManagerOptions {
  readonly brokerId: number;
  readonly logStore: LogStore;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly alterer: PartitionAlterer;
  readonly clusterId: () => string;
  /** Followers dial the endpoints of this listener. Default 'inside'. */
  readonly interBrokerListener?: string;
  readonly limits?: Partial<DataLimits>;
}

export class ReplicaManager implements ReplicaHost, DataHost {
  readonly clock: Clock;
  readonly limits: DataLimits;
  readonly budget: WaiterBudget;
  readonly setCatchUpRate = (rate?: number): void =>
    [this.leaderStreams, this.links].forEach(({ throttle }) => throttle.setRate(rate));
  private readonly partitions = new Map<string, Partition>();
  private readonly live: LiveSettings;
  private readonly links: FollowerLinks;
  private readonly changes: RoleChanges;
  private readonly observer: ImageObserver;
  private readonly offline: OfflineReplicas;
  private readonly refills: Refills;
  private readonly losses: LossAcceptance;
  private readonly leaderStreams: LeaderStreams;
  readonly previousLife: PreviousLife;
  private readonly checkpoint: HighWatermarkCheckpoint;
  private image: MetadataImage | undefined;
  private brokerEpoch: number | undefined;
  private isolated = false;
  private tickTimer: Timer | undefined;
  private closed = false;

  constructor(private readonly options: ReplicaManagerOptions) {
    const { brokerId, clock, logger, logStore } = options;
    this.clock = clock;
    this.live = new LiveSettings(options, this.setCatchUpRate);
    this.limits = this.live.limits;
    this.budget = new WaiterBudget(this.limits.maxWaiters);
    const { limits, partitions } = this;
    const image = (): MetadataImage | undefined => this.image;
    const brokerEpoch = (): number | undefined => this.brokerEpoch;
    const checkpoint = (): Promise<void> => this.checkpoint.write();
    this.previousLife = new PreviousLife(logStore, logger);
    const offline = new OfflineReplicas(options.alterer, logger);
    const refills = new Refills({ brokerId, logger, logStore, offline, checkpoint });
    this.offline = offline;
    this.refills = refills;
    this.links = new FollowerLinks({
      ...options,
      ...linkPolicy({
        ...options,
        image,
        interBrokerListener: this.interBrokerListener,
        brokerEpoch,
      }),
      limits,
      heard: (partition, leader) => {
        refills.heard(partition, leader);
        this.previousLife.heard(partition, leader);
      },
    });
    const { links } = this;
    this.observer = new ImageObserver({ partitions, links, limits });
    const parts = { ...options, partitions, links, image, checkpoint, offline, refills };
    const open = this.open.bind(this);
    this.changes = new RoleChanges({
      ...parts,
      open,
      registered: () => brokerEpoch() !== undefined,
      views: () => this.observer.views,
      led: (partition) => this.previousLife.led(partition),
      settingsOf: ({ config }, state) => partitionSettings(config, state, limits),
    });
    this.losses = new LossAcceptance({ ...parts, open, brokerEpoch, changes: this.changes });
    this.leaderStreams = new LeaderStreams({
      clock,
      logger,
      limits,
      image,
      acceptor: () => this.acceptor(),
      find: (topicId, partition) => partitions.get(partitionKey(topicId, partition)),
      interBrokerListener: this.interBrokerListener,
    });
    this.checkpoint = new HighWatermarkCheckpoint({
      clock,
      logger,
      logStore,
      intervalMs: limits.highWatermarkCheckpointMs,
      partitions: () => partitions.values(),
    });
  }

  /** Opens what lies on the disks, offline until the controller speaks, and starts the timers. */
  start(): void {
    for (const log of this.options.logStore.logs()) {
      const partition = this.open(log);
      this.partitions.set(partitionKey(log.topicId, log.partition), partition);
      // While this broker waited for its coordinator nobody observed it; compaction may have met damage in it.
      if (log.failure) partition.noticeFailure(log.failure);
    }
    this.armTick();
    this.checkpoint.start();
  }

  /** Ends streams and waiters and writes the HWs; the logs stay open. Idempotent. */
  async close(): Promise<void> {
    if (this.closed) return;
    this.kill();
    await this.changes.close();
    await this.checkpoint.write();
  }

  /** As a crash: timers and streams end, nothing is written. */
  kill(): void {
    this.closed = true;
    this.tickTimer?.cancel();
    this.checkpoint.stop();
    this.links.close();
    this.resignAll('this broker stops');
    this.leaderStreams.close();
    void this.changes.close();
  }

  // ---- ReplicaHost ----

  async apply(changed: readonly PartitionState[], image: MetadataImage): Promise<void> {
    if (this.closed) return;
    this.image = image;
    const isAltered = this.live.apply(image.broker(this.options.brokerId)?.configs);
    this.observer.observe(image, isAltered);
    const done = changed.map((state) => this.changes.apply(state));
    for (const state of this.refills.settled(changed)) {
      const key = partitionKey(state.topicId, state.partition);
      done.push(this.changes.inOrder(key, () => this.refills.removeAside(state)));
    }
    this.links.refresh();
    this.previousLife.imaged(this.brokerEpoch);
    await Promise.all(done);
  }

  stopReplicas(requests: readonly StopReplica[]): Promise<StopResult[]> {
    const { links, changes, partitions } = this;
    const host = {
      links,
      changes,
      partitions,
      logStore: this.options.logStore,
      brokerEpoch: () => this.brokerEpoch,
      checkpoint: () => this.checkpoint.write(),
    };
    return stopReplicas(host, requests);
  }

  resignAll(reason: string): void {
    for (const partition of this.partitions.values()) partition.resign(reason);
  }

  leaderships(): Leadership[] {
    return [...this.partitions.values()].flatMap(({ topic, topicId, partition, state }) =>
      state.role === 'leader'
        ? [{ topic, topicId, partition, leaderEpoch: state.leaderEpoch }]
        : [],
    );
  }

  endLeadership({ topicId, partition, leaderEpoch }: Leadership, reason: string): void {
    const led = this.partitions.get(partitionKey(topicId, partition));
    if (led?.state.role === 'leader' && led.state.leaderEpoch < leaderEpoch) led.resign(reason);
  }

  localReplicas(): LocalReplica[] {
    return [...this.partitions.values()]
      .filter(({ state }) => !(state.role === 'offline' && state.failed))
      .map((partition) => this.previousLife.localReplica(partition));
  }

  toldLives(): ToldLives {
    return this.previousLife.told;
  }

  offlineReplicas(): OfflineReplica[] {
    return this.offline.offline();
  }

  restoredReplicas(): RestoredReplica[] {
    return this.offline.restoredOnes();
  }

  setBrokerEpoch(brokerEpoch: number | undefined): void {
    if (brokerEpoch === this.brokerEpoch) return;
    this.brokerEpoch = brokerEpoch;
    // What was told to an earlier life is not taken up by the next one.
    if (brokerEpoch === undefined) return this.changes.endLife();
    this.previousLife.registered(brokerEpoch);
    this.offline.registered();
    this.links.redial();
    this.changes.retryDeferred();
  }

  acceptLoss(name: PartitionName, force: boolean): Promise<AcceptedLoss> {
    return this.losses.accept(name, force);
  }

  setIsolated(isolated: boolean): void {
    this.isolated = isolated;
  }

  // ---- for the handlers ----

  get followHandlers(): readonly Handler[] {
    return this.leaderStreams.handlers;
  }

  get isIsolated(): boolean {
    return this.isolated;
  }

  get currentImage(): MetadataImage | undefined {
    return this.image;
  }

  /** Throws UNKNOWN_TOPIC, TOPIC_ID_MISMATCH, UNKNOWN_PARTITION, NOT_LEADER. */
  find(name: PartitionName, listener: string): Partition {
    const partition = this.partitions.get(partitionKey(name.topicId, name.partition));
    if (partition?.state.role === 'leader') return partition;
    if (partition && this.image?.partition(name.topicId, name.partition)) return partition;
    throw absence(this.image, name, listener);
  }

  leaderHint(partition: Partition, listener: string): LeaderHint | undefined {
    return leaderHint(this.image, partition, listener);
  }

  acceptor(): Acceptor {
    return dataAcceptor(this.options, this.limits, this.brokerEpoch);
  }

  status(): ReplicaStatus[] {
    const { partitions, offline, links } = this;
    return replicaStatuses(partitions.values(), offline.all(), (key) => links.isCatchingUp(key));
  }

  // ---- inside ----

  private get interBrokerListener(): string {
    return this.options.interBrokerListener ?? 'inside';
  }

  private open(log: PartitionLog, state?: PartitionState): Partition {
    const { brokerId, clock, logger, logStore } = this.options;
    const alterHost = { ...this.options, brokerEpoch: () => this.brokerEpoch };
    const factor = state ? replicationFactor(state) : 1;
    const config = topicConfigOf(this.image?.topicById(log.topicId), factor);
    const highWatermark = logStore.checkpointedHighWatermark(log.topicId, log.partition);
    return new Partition(log, config, highWatermark, {
      brokerId,
      clock,
      logger,
      budget: this.budget,
      alter: (partition, effect) => void alterIsr(alterHost, partition, effect),
      failed: (partition) => {
        this.links.unfollow(partitionKey(partition.topicId, partition.partition));
        // One that was set aside meanwhile says nothing of the one that took its place.
        if (this.partitions.get(partitionKey(log.topicId, log.partition)) !== partition) return;
        const { isDamaged, state } = partition;
        const reason = state.role === 'offline' ? state.reason : '';
        this.offline.report(partition, isDamaged ? 'damaged' : 'failed', reason);
      },
    });
  }

  private armTick(): void {
    this.tickTimer = this.options.clock.setTimer(this.limits.tickMs, () => {
      for (const partition of this.partitions.values()) partition.dispatch({ kind: 'tick' });
      this.armTick();
    });
  }
}
