/**
 * All partitions of one log directory of a broker; see LogStore. Invariants: one process at a time (lock), one
 * cluster and broker (meta.properties), a clean shutdown is believed once (marker removed before loading),
 * and what is under `<topic>-<partition>` is the log with the topic id that `partition.metadata` names.
 * Made by the composition root before the broker registers.
 */
import { hasCode, partitionName, TributaryError } from '@tributary/common';
import { ChangeQueue } from './change-queue';
import { writeMarker } from './clean-shutdown-marker';
import { Compactor } from './compaction/compactor';
import { DirectoryAsides } from './directory-asides';
import { DirectoryCheckpoints } from './directory-checkpoints';
import { DirectoryHealth } from './directory-health';
import { DirectoryLogs } from './directory-logs';
import { LogCheckpoints } from './log-checkpoints';
import { loadPartitions } from './log-directory-loader';
import { prepareDirectory, unlockQuietly, type PreparedDirectory } from './log-directory-opening';
import type { LogDirectoryOptions } from './log-directory-options';
import { LogMaintenance } from './log-maintenance';
import { LogOpener } from './log-opener';
import { META_FILE } from './meta-properties';
import type {
  CloseOptions,
  DirectoryStatus,
  HighWatermarkEntry,
  LogStore,
  LostReplica,
  PreviousStop,
  RepairedLog,
  RepairOptions,
  ReplicaId,
} from './log-store';
import type { LogConfig, PartitionLog } from './partition-log';
import { repairReplica } from './replica-repair';
import { retentionDuty } from './retention-duty';

/** By directory name: what must not be loaded, and why. */
export type Refusals = ReadonlyMap<string, TributaryError>;

export class LogDirectory implements LogStore {
  readonly directory: string;
  /** Broker epoch of the clean shutdown before this start; undefined: it was not clean. */
  readonly cleanShutdownEpoch: number | undefined;
  readonly maintenance: LogMaintenance;
  readonly compactor: Compactor;
  readonly setCompactionRate = (rate?: number): void => this.compactor.setRate(rate);
  private readonly checkpoints: DirectoryCheckpoints;
  private readonly asides: DirectoryAsides;
  private readonly health: DirectoryHealth;
  private readonly present = new DirectoryLogs();
  private readonly opener: LogOpener;
  private readonly changes = new ChangeQueue();
  private readonly logCheckpoints: LogCheckpoints;
  private closed = false;
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly options: LogDirectoryOptions,
    private readonly prepared: PreparedDirectory,
  ) {
    this.directory = options.directory;
    this.cleanShutdownEpoch = prepared.clean?.brokerEpoch;
    this.asides = new DirectoryAsides(options, this.present);
    this.checkpoints = new DirectoryCheckpoints(options, () => this.present.mute());
    this.logCheckpoints = new LogCheckpoints(this.checkpoints, () => this.present.all(), options);
    this.compactor = new Compactor(options);
    this.maintenance = this.makeMaintenance();
    const calls = { ...this.logCheckpoints.calls, onFailed: () => void this.health.suspect() };
    this.opener = new LogOpener(options, calls, this.logCheckpoints);
    this.health = new DirectoryHealth({
      ...options,
      probe: () => this.probe(),
      onFailure: (error) => this.takeOffline(error),
    });
  }

  /** Recovers the logs unless the last shutdown was clean. Throws what `prepareDirectory` throws. */
  static async open(options: LogDirectoryOptions): Promise<LogDirectory> {
    return LogDirectory.load(options, await prepareDirectory(options));
  }

  /** Also unlocks it when it fails. Throws UNKNOWN_FORMAT, STORAGE_ERROR. */
  static async load(
    options: LogDirectoryOptions,
    prepared: PreparedDirectory,
    refusals?: Refusals,
  ): Promise<LogDirectory> {
    try {
      const store = new LogDirectory(options, prepared);
      await store.load(refusals);
      return store;
    } catch (error) {
      prepared.lock.unlock();
      throw error;
    }
  }

  /** undefined: not known yet. */
  get clusterId(): string | undefined {
    return this.prepared.meta.clusterId;
  }

  /** As `meta.properties` names it; else its path. */
  get id(): string {
    return this.prepared.meta.directoryId ?? this.directory;
  }

  /** Set once all of it is offline. */
  get failure(): TributaryError | undefined {
    return this.health.failure;
  }

  /** Once a coordinator was reached. Stores the id the first time; throws CLUSTER_MISMATCH for another one. */
  confirmCluster(clusterId: string): Promise<void> {
    return this.prepared.meta.confirmCluster(clusterId);
  }

  get previousStop(): PreviousStop {
    return this.prepared.marker.previousStop;
  }

  get cutBelowHighWatermark(): readonly string[] {
    return this.present.cutBelowHighWatermark;
  }

  lost(): LostReplica[] {
    return this.present.lost();
  }

  directories(): DirectoryStatus[] {
    const { directory: path, failure } = this;
    const freeBytes = failure ? 0 : this.options.disk.freeBytes(path);
    const partitions = this.present.count;
    const compaction = this.compactor.totals;
    return [{ path, failure: failure?.message, partitions, freeBytes, compaction }];
  }

  async noteBrokerEpoch(brokerEpoch: number): Promise<void> {
    if (this.failure) return;
    await this.health
      .guard(() => this.prepared.marker.write(brokerEpoch))
      .catch((error: unknown) => this.warnOfMarker(error));
  }

  /** Its log is closed, what lies on the disk stays as it is: for a directory that failed. */
  forget(topicId: string, partition: number): void {
    const log = this.present.get(topicId, partition);
    this.present.remove(topicId, partition);
    void log?.close().catch(() => undefined); // the failure of the directory was told
  }

  /** Something in it failed elsewhere. Resolves once it is known whether all of it did. */
  suspect(): Promise<void> {
    return this.health.suspect();
  }

  logs(): PartitionLog[] {
    return this.present.all();
  }

  get(topicId: string, partition: number): PartitionLog | undefined {
    return this.present.get(topicId, partition);
  }

  create(
    topic: string,
    topicId: string,
    partition: number,
    config: LogConfig,
  ): Promise<PartitionLog> {
    return this.changes.beside(partitionName(topic, partition), () =>
      this.whileOpen(async () => {
        const existing = this.present.get(topicId, partition);
        existing?.configure(config);
        if (existing) return existing;
        const broken = this.present.brokenOne(partitionName(topic, partition));
        const id = { topic, topicId, partition };
        const log = await this.health.guard(() => this.opener.create(id, config, broken));
        this.present.add(log);
        return log;
      }),
    );
  }

  /** @param topic its name, where it is known: then others are deleted and created meanwhile. */
  delete(topicId: string, partition: number, topic?: string): Promise<void> {
    const known = topic ?? this.present.get(topicId, partition)?.topic;
    const name = known === undefined ? undefined : partitionName(known, partition);
    const work = () => this.whileOpen(() => this.asides.delete(topicId, partition));
    return name === undefined ? this.changes.exclusive(work) : this.changes.beside(name, work);
  }

  moveAside(topicId: string, partition: number): Promise<void> {
    return this.change(async () => {
      await this.asides.move(topicId, partition, 'stray');
    });
  }

  strays(): ReplicaId[] {
    return this.asides.list('stray');
  }

  setAsideDamaged({ topic, topicId, partition }: ReplicaId): Promise<void> {
    return this.change(async () => {
      const name = partitionName(topic, partition);
      const broken = this.present.brokenOne(name);
      const found = broken && broken.topicId === undefined ? name : undefined;
      const aside = await this.asides.move(topicId, partition, 'damaged', found);
      if (aside !== undefined) this.asides.keepIfRoom(aside);
    });
  }

  damaged(): ReplicaId[] {
    return this.asides.list('damaged');
  }

  removeDamaged(topicId: string, partition: number): Promise<void> {
    return this.change(async () => this.asides.remove('damaged', topicId, partition));
  }

  repair(replica: ReplicaId, options: RepairOptions): Promise<RepairedLog> {
    return this.change(async () => {
      const { topic, topicId, partition } = replica;
      const name = partitionName(topic, partition);
      const stored = this.present.storedOffsets(name);
      const damaged = this.present.get(topicId, partition);
      await damaged?.close().catch(() => undefined); // it is known to be damaged
      this.present.beginRepair(replica);
      const repaired = await repairReplica({
        disk: this.options.disk,
        directory: `${this.directory}/${name}`,
        topicId,
        logStartOffset: damaged?.logStartOffset ?? stored?.logStartOffset,
        startOffset: damaged?.logStartOffset,
        endOffset: Math.max(options.endOffset, stored?.endOffset ?? 0),
        epoch: options.epoch,
        stamped: options.stamped,
        open: async (known) => {
          const log = await this.opener.open(replica, options.config, { recover: true, ...known });
          this.present.add(log);
          return log;
        },
        checkpoint: () => this.logCheckpoints.now(),
      });
      const offset = Math.max(options.highWatermark, stored?.highWatermark ?? 0);
      this.present.noteHighWatermarks([{ topic, partition, offset }]);
      return repaired;
    });
  }

  checkpointedHighWatermark(topicId: string, partition: number): number {
    return this.present.highWatermark(topicId, partition);
  }

  async checkpointHighWatermarks(entries: readonly HighWatermarkEntry[]): Promise<void> {
    if (!this.isThere) await this.health.suspect();
    await this.health.guard(() => this.checkpoints.highWatermarks.write(entries));
    this.present.noteHighWatermarks(entries);
  }

  close(options: CloseOptions): Promise<void> {
    this.closing ??= this.change(() => this.closeAll(options));
    return this.closing;
  }

  private async load(refused?: Refusals): Promise<void> {
    const stored = this.logCheckpoints.read();
    const loaded = await loadPartitions(this.options, {
      recover: this.cleanShutdownEpoch === undefined,
      refused,
      ...stored,
      unsyncedMayBeLost: this.previousStop.kind !== 'process',
      ...this.opener.shared,
    });
    this.present.take(loaded, stored, this.checkpoints.highWatermarks.read());
    this.logCheckpoints.begin();
    await this.prepared.marker.write().catch((error: unknown) => this.warnOfMarker(error));
    this.maintenance.start();
  }

  /** False: another disk, or none, is there now. */
  private get isThere(): boolean {
    return this.options.disk.exists(`${this.directory}/${META_FILE}`);
  }

  private async probe(): Promise<void> {
    if (this.closed) return;
    if (!this.isThere) throw new TributaryError('STORAGE_ERROR', `${this.directory} is gone`);
    await this.prepared.marker.write();
  }

  private takeOffline(error: TributaryError): void {
    this.present.fail(error);
    void this.maintenance.stop();
    void this.logCheckpoints.close();
  }

  /** On a full disk the old one stays: after the next crash it says the worse. */
  private warnOfMarker(error: unknown): void {
    if (!hasCode(error, 'DISK_FULL') && !this.failure) throw error;
    const { logger } = this.options;
    logger.warn('the running marker cannot be written', { directory: this.directory, error });
  }

  private makeMaintenance(): LogMaintenance {
    const { clock, logger, maintenanceIntervalMs: intervalMs } = this.options;
    const checkpoint = () => this.logCheckpoints.now();
    return new LogMaintenance({
      clock,
      logger,
      logs: () => this.present.all(),
      duties: [retentionDuty({ logger, checkpoint }), this.compactor.duty],
      intervalMs,
    });
  }

  private change<T>(work: () => Promise<T>): Promise<T> {
    return this.changes.exclusive(() => this.whileOpen(work));
  }

  private whileOpen<T>(work: () => Promise<T>): Promise<T> {
    if (this.closed) throw new TributaryError('CLOSED', `${this.directory} is closed`);
    return work();
  }

  private async closeAll(options: CloseOptions): Promise<void> {
    const { disk, directory, logger } = this.options;
    this.closed = true;
    try {
      await this.maintenance.stop();
      await this.logCheckpoints.close();
      const logs = this.present.all();
      const outcomes = await Promise.allSettled(logs.map((log) => log.close()));
      const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
      for (const { reason } of failed) {
        logger.error('a log did not close cleanly', { directory, error: reason as unknown });
      }
      if (this.failure) return;
      await this.logCheckpoints.write();
      const sound = failed.length === 0 && logs.every((log) => log.failure === undefined);
      // The marker vouches for every log, so also for those that could not be loaded.
      const isWhole = !this.present.someAreBroken && !this.asides.someAreUnflushed;
      if (!options.clean || !sound || !isWhole) return;
      await writeMarker(disk, directory, { brokerEpoch: options.brokerEpoch });
    } finally {
      unlockQuietly(this.prepared.lock, this.options.logger, this.failure !== undefined);
    }
  }
}
