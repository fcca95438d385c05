/**
 * All partitions of one log directory of a broker; see LogStore. Invariants: one process at a time (lock), one
 * cluster and broker (meta.properties), a clean shutdown is believed once (marker removed before loading),
 * and what is under `<topic>-<partition>` is the log with the topic id that `partition.metadata` names.
 * Made by the composition root before the broker registers.
 */
import { parsePartitionName, partitionKey, partitionName, TributaryError } from '@tributary/common';
import { takeMarker, writeMarker } from './clean-shutdown-marker';
import { Compactor } from './compaction/compactor';
import { DirectoryAsides } from './directory-asides';
import { DirectoryCheckpoints, type CheckpointEntry } from './directory-checkpoints';
import type { AsideKind } from './directory-names';
import type { DirectoryLock, Disk } from './disk';
import { Log } from './log';
import { LogCheckpoints } from './log-checkpoints';
import { findPartition, loadPartitions, type BrokenLog } from './log-directory-loader';
import type { LogDirectoryOptions } from './log-directory-options';
import { LogMaintenance } from './log-maintenance';
import { MetaProperties } from './meta-properties';
import { readTopicId, writeTopicId } from './partition-metadata';
import type { DirectoryStatus, LogStore, LostReplica, PreviousStop, ReplicaId } from './log-store';
import type { LogConfig, PartitionLog } from './partition-log';
import { retentionDuty } from './retention-duty';

interface PartitionId {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
}

interface CloseOptions {
  readonly clean: boolean;
  readonly brokerEpoch: number;
}

interface Opened {
  readonly lock: DirectoryLock;
  readonly meta: MetaProperties;
  readonly cleanShutdownEpoch: number | undefined;
}

export class LogDirectory implements LogStore {
  readonly directory: string;
  /** Broker epoch of the clean shutdown before this start; undefined: it was not clean. */
  readonly cleanShutdownEpoch: number | undefined;
  /** Names of partitions that recovery cut below their checkpointed high watermark. */
  readonly cutBelowHighWatermark: string[] = [];
  readonly maintenance: LogMaintenance;
  readonly compactor: Compactor;
  private readonly lock: DirectoryLock;
  private readonly meta: MetaProperties;
  private readonly checkpoints: DirectoryCheckpoints;
  private readonly asides: DirectoryAsides;
  private readonly byKey = new Map<string, Log>();
  private broken: Map<string, BrokenLog> = new Map();
  private readonly highWatermarks = new Map<string, number>();
  /** What changes directories happens one after another. */
  private lastChange: Promise<unknown> = Promise.resolve();
  private readonly logCheckpoints: LogCheckpoints;
  private closed = false;
  private closing: Promise<void> | undefined;

  private constructor(
    private readonly options: LogDirectoryOptions,
    opened: Opened,
  ) {
    this.directory = options.directory;
    this.lock = opened.lock;
    this.meta = opened.meta;
    this.cleanShutdownEpoch = opened.cleanShutdownEpoch;
    this.asides = new DirectoryAsides(options.disk, options.directory);
    this.checkpoints = new DirectoryCheckpoints(options.disk, options.directory, options.logger);
    this.logCheckpoints = new LogCheckpoints(this.checkpoints, () => this.byKey.values(), options);
    this.compactor = new Compactor(options);
    this.maintenance = this.makeMaintenance();
  }

  /**
   * Throws DATA_DIR_LOCKED, DATA_DIR_NOT_WRITABLE, UNKNOWN_FORMAT, CLUSTER_MISMATCH, or INVALID_CONFIG when it is
   * another broker's. Recovers the logs unless the last shutdown was clean.
   */
  static async open(options: LogDirectoryOptions): Promise<LogDirectory> {
    const { disk, directory, brokerId, clusterId } = options;
    const parents = missingParents(disk, directory);
    disk.makeDirectory(directory);
    const lock = disk.lockDirectory(directory);
    try {
      for (const parent of parents) await disk.syncDirectory(parent);
      const meta = await MetaProperties.open(disk, directory, brokerId);
      if (clusterId !== undefined) await meta.confirmCluster(clusterId);
      const marker = await takeMarker(disk, directory);
      const store = new LogDirectory(options, {
        lock,
        meta,
        cleanShutdownEpoch: marker?.brokerEpoch,
      });
      await store.load();
      return store;
    } catch (error) {
      lock.unlock();
      throw error;
    }
  }

  /** undefined: not known yet. */
  get clusterId(): string | undefined {
    return this.meta.clusterId;
  }

  /** Once a coordinator was reached. Stores the id the first time; throws CLUSTER_MISMATCH for another one. */
  confirmCluster(clusterId: string): Promise<void> {
    return this.meta.confirmCluster(clusterId);
  }

  get previousStop(): PreviousStop {
    const brokerEpoch = this.cleanShutdownEpoch;
    return brokerEpoch === undefined ? { kind: 'machine' } : { kind: 'clean', brokerEpoch };
  }

  lost(): LostReplica[] {
    return [...this.broken].flatMap(([name, { topicId, error }]) => {
      const parsed = parsePartitionName(name);
      const damaged = error.code === 'CORRUPT_LOG';
      return parsed ? [{ ...parsed, topicId, reason: error.message, damaged }] : [];
    });
  }

  directories(): DirectoryStatus[] {
    const { directory: path } = this;
    const freeBytes = this.options.disk.freeBytes(path);
    return [{ path, failure: undefined, partitions: this.byKey.size, freeBytes }];
  }

  async noteBrokerEpoch(_brokerEpoch: number): Promise<void> {}

  logs(): PartitionLog[] {
    return [...this.byKey.values()];
  }

  get(topicId: string, partition: number): PartitionLog | undefined {
    return this.byKey.get(partitionKey(topicId, partition));
  }

  create(
    topic: string,
    topicId: string,
    partition: number,
    config: LogConfig,
  ): Promise<PartitionLog> {
    return this.change(async () => {
      const existing = this.byKey.get(partitionKey(topicId, partition));
      existing?.configure(config);
      return existing ?? (await this.createLog({ topic, topicId, partition }, config));
    });
  }

  delete(topicId: string, partition: number): Promise<void> {
    return this.change(async () => {
      this.asides.remove('stray', topicId, partition);
      this.asides.remove('damaged', topicId, partition);
      const aside = await this.setAside(topicId, partition, 'delete');
      if (aside !== undefined) this.options.disk.remove(aside);
    });
  }

  moveAside(topicId: string, partition: number): Promise<void> {
    return this.change(async () => {
      await this.setAside(topicId, partition, 'stray');
    });
  }

  strays(): ReplicaId[] {
    return this.asides.list('stray');
  }

  setAsideDamaged({ topic, topicId, partition }: ReplicaId): Promise<void> {
    return this.change(async () => {
      const name = partitionName(topic, partition);
      const broken = this.broken.get(name);
      const isOurs = broken !== undefined && broken.topicId === undefined;
      await this.setAside(topicId, partition, 'damaged', isOurs ? name : undefined);
    });
  }

  damaged(): ReplicaId[] {
    return this.asides.list('damaged');
  }

  removeDamaged(topicId: string, partition: number): Promise<void> {
    return this.change(async () => this.asides.remove('damaged', topicId, partition));
  }

  checkpointedHighWatermark(topicId: string, partition: number): number {
    return this.highWatermarks.get(partitionKey(topicId, partition)) ?? 0;
  }

  async checkpointHighWatermarks(entries: readonly CheckpointEntry[]): Promise<void> {
    const byName = new Map(
      [...this.byKey].map(([key, log]) => [partitionName(log.topic, log.partition), key]),
    );
    await this.checkpoints.highWatermarks.write(entries);
    for (const { topic, partition, offset } of entries) {
      const key = byName.get(partitionName(topic, partition));
      if (key !== undefined) this.highWatermarks.set(key, offset);
    }
  }

  close(options: CloseOptions): Promise<void> {
    this.closing ??= this.change(() => this.closeAll(options));
    return this.closing;
  }

  private async load(): Promise<void> {
    const loaded = await loadPartitions(this.options, {
      recover: this.cleanShutdownEpoch === undefined,
      ...this.logCheckpoints.read(),
      ...this.logCheckpoints.calls,
    });
    const highWatermarks = this.checkpoints.highWatermarks.read();
    this.broken = loaded.broken;
    for (const log of loaded.logs) {
      const key = partitionKey(log.topicId, log.partition);
      const name = partitionName(log.topic, log.partition);
      const highWatermark = highWatermarks.get(name) ?? 0;
      if (highWatermark > log.logEndOffset) this.cutBelowHighWatermark.push(name);
      this.byKey.set(key, log);
      this.highWatermarks.set(key, Math.min(highWatermark, log.logEndOffset));
    }
    this.logCheckpoints.begin();
    this.maintenance.start();
  }

  private makeMaintenance(): LogMaintenance {
    const { clock, logger, maintenanceIntervalMs: intervalMs } = this.options;
    return new LogMaintenance({
      clock,
      logger,
      logs: () => [...this.byKey.values()],
      duties: [
        retentionDuty({ logger, checkpoint: () => this.logCheckpoints.now() }),
        this.compactor.duty,
      ],
      intervalMs,
    });
  }

  private async createLog(id: PartitionId, config: LogConfig): Promise<Log> {
    const { disk, clock, random, logger, producerIdExpirationMs } = this.options;
    const name = partitionName(id.topic, id.partition);
    const directory = `${this.directory}/${name}`;
    const isThere = disk.isDirectory(directory);
    if (isThere) this.checkAdoptable(name, id.topicId);
    disk.makeDirectory(directory);
    await writeTopicId(disk, directory, id.topicId);
    await disk.syncDirectory(this.directory);
    await this.logCheckpoints.forget(name);
    const log = await Log.open(disk, directory, {
      ...id,
      config,
      producerIdExpirationMs,
      clock,
      random,
      logger,
      recover: isThere,
      ...this.logCheckpoints.calls,
    });
    this.byKey.set(partitionKey(id.topicId, id.partition), log);
    return log;
  }

  /** A directory of that name may be what an earlier creation left half done; nothing else. */
  private checkAdoptable(name: string, topicId: string): void {
    const broken = this.broken.get(name);
    if (broken) {
      throw new TributaryError('STORAGE_ERROR', `${name} is offline: ${broken.error.message}`, {
        cause: broken.error,
      });
    }
    const { disk } = this.options;
    const path = `${this.directory}/${name}`;
    const found = readTopicId(disk, path);
    if (found === undefined || found === topicId) return;
    throw new TributaryError(
      'TOPIC_ID_MISMATCH',
      `${path} holds topic id ${found}, not ${topicId}`,
      { details: { path, found, topicId } },
    );
  }

  /** Closes and renames; gives the new path, or undefined when there is no such log. @param found its name, when it is known. */
  private async setAside(
    topicId: string,
    partition: number,
    kind: AsideKind,
    found?: string,
  ): Promise<string | undefined> {
    const { disk, logger } = this.options;
    const name = found ?? findPartition(this.options, topicId, partition);
    if (!name) return undefined;
    const key = partitionKey(topicId, partition);
    const log = this.byKey.get(key);
    this.byKey.delete(key);
    this.highWatermarks.delete(key);
    await log?.close().catch((error: unknown) => {
      logger.warn('a log that is set aside did not close cleanly', { partition: name, error });
    });
    const { topic } = parsePartitionName(name) ?? { topic: name };
    const target = this.asides.place({ topic, partition, topicId, kind });
    disk.rename(`${this.directory}/${name}`, target);
    this.broken.delete(name);
    await disk.syncDirectory(this.directory);
    return target;
  }

  private change<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.lastChange.then(() => {
      if (this.closed) throw new TributaryError('CLOSED', `${this.directory} is closed`);
      return work();
    });
    this.lastChange = turn.catch(() => undefined); // its caller hears of it
    return turn;
  }

  private async closeAll(options: CloseOptions): Promise<void> {
    const { disk, directory, logger } = this.options;
    this.closed = true;
    try {
      await this.maintenance.stop();
      await this.logCheckpoints.close();
      const logs = [...this.byKey.values()];
      const outcomes = await Promise.allSettled(logs.map((log) => log.close()));
      const failed = outcomes.filter((outcome) => outcome.status === 'rejected');
      for (const { reason } of failed) {
        logger.error('a log did not close cleanly', { directory, error: reason as unknown });
      }
      await this.logCheckpoints.write();
      const sound = failed.length === 0 && logs.every((log) => log.failure === undefined);
      // The marker vouches for every log, so also for those that could not be loaded.
      if (!options.clean || !sound || this.broken.size > 0) return;
      await writeMarker(disk, directory, { brokerEpoch: options.brokerEpoch });
    } finally {
      this.lock.unlock();
    }
  }
}

/** Directories in which making `directory` makes an entry, outermost first. */
function missingParents(disk: Disk, directory: string): string[] {
  const parents: string[] = [];
  for (let path = directory; !disk.exists(path); path = parents[0] as string) {
    parents.unshift(path.slice(0, path.lastIndexOf('/')) || '/');
  }
  return parents;
}
