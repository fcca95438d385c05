/**
 * Several log directories as one store. Invariants: a replica lies in exactly one of them, and which one is known to all of
 * them (see placement-record); a directory that fails takes its own replicas with it and no other; what lay in
 * a directory that is offline, replaced or gone is lost until it is given up, never made empty elsewhere.
 * Made by the composition root, also for one directory; used by the broker.
 */
import { partitionKey, partitionName, TributaryError } from '@tributary/common';
import type { DirectoryLock } from './disk';
import type { LogDirectory } from './log-directory';
import {
  DirectoriesOpening,
  type LogDirectoriesOptions,
  type OpenedDirectories,
} from './log-directories-opening';
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
import { LostReplicas } from './lost-replicas';
import type { LogConfig, PartitionLog } from './partition-log';
import type { PlacementBook } from './placement-book';
import { combineStops } from './running-marker';

export class LogDirectories implements LogStore {
  readonly previousStop: PreviousStop;
  private readonly open: readonly LogDirectory[];
  private readonly book: PlacementBook;
  private readonly losses: LostReplicas;
  /** Where each replica that counts lies, by its key. */
  private readonly homes = new Map<string, LogDirectory>();
  private readonly creations = new Map<string, Promise<PartitionLog>>();
  /** Of replicas that are being made, by their directory. */
  private readonly reserved = new Map<LogDirectory, number>();

  private constructor(
    private readonly options: LogDirectoriesOptions,
    private readonly opened: OpenedDirectories,
    private readonly lock: DirectoryLock | undefined,
  ) {
    this.open = opened.open;
    this.book = opened.book;
    this.losses = new LostReplicas(opened, (key) => this.homes.has(key));
    this.previousStop = combineStops(this.open.map(({ previousStop }) => previousStop));
    for (const directory of this.open) {
      for (const log of directory.logs()) this.homes.set(keyOf(log), directory);
    }
  }

  /** At least one of them can be used; see DirectoriesOpening for what it throws. */
  static async open(options: LogDirectoriesOptions): Promise<LogDirectories> {
    const { disk, clock, logger, alsoLocked, progress } = options;
    if (alsoLocked !== undefined) disk.makeDirectory(alsoLocked);
    const lock = alsoLocked === undefined ? undefined : disk.lockDirectory(alsoLocked);
    const endReport = progress?.report(clock, logger);
    try {
      return new LogDirectories(options, await new DirectoriesOpening(options).run(), lock);
    } catch (error) {
      lock?.unlock();
      throw error;
    } finally {
      endReport?.();
    }
  }

  get cutBelowHighWatermark(): readonly string[] {
    return this.open.flatMap(({ cutBelowHighWatermark }) => cutBelowHighWatermark);
  }

  /** Throws CLUSTER_MISMATCH. */
  async confirmCluster(clusterId: string): Promise<void> {
    await this.onEach((directory) => directory.confirmCluster(clusterId));
  }

  logs(): PartitionLog[] {
    return this.open.flatMap((directory) =>
      directory.logs().filter((log) => this.homes.get(keyOf(log)) === directory),
    );
  }

  get(topicId: string, partition: number): PartitionLog | undefined {
    return this.homes.get(partitionKey(topicId, partition))?.get(topicId, partition);
  }

  lost(): LostReplica[] {
    return this.losses.all();
  }

  setCompactionRate(bytesPerSecond: number | undefined): void {
    for (const directory of this.open) directory.setCompactionRate(bytesPerSecond);
  }

  directories(): DirectoryStatus[] {
    const offline = [...this.opened.failed].map(([path, { message }]) => ({
      path,
      failure: message,
      partitions: 0,
      freeBytes: 0,
    }));
    const all = [...this.open.flatMap((directory) => directory.directories()), ...offline];
    const order = this.options.directories;
    return all.sort((a, b) => order.indexOf(a.path) - order.indexOf(b.path));
  }

  create(
    topic: string,
    topicId: string,
    partition: number,
    config: LogConfig,
  ): Promise<PartitionLog> {
    const existing = this.get(topicId, partition);
    existing?.configure(config);
    if (existing) return Promise.resolve(existing);
    const key = partitionKey(topicId, partition);
    const running = this.creations.get(key);
    if (running) return running;
    const creation = this.make({ topic, topicId, partition }, config).finally(() =>
      this.creations.delete(key),
    );
    this.creations.set(key, creation);
    return creation;
  }

  async delete(topicId: string, partition: number): Promise<void> {
    const topic = this.get(topicId, partition)?.topic;
    await this.giveUp({ topicId, partition }, (directory) =>
      directory.delete(topicId, partition, topic),
    );
  }

  async moveAside(topicId: string, partition: number): Promise<void> {
    await this.giveUp({ topicId, partition }, (directory) =>
      directory.moveAside(topicId, partition),
    );
  }

  async setAsideDamaged(replica: ReplicaId): Promise<void> {
    await this.giveUp(replica, (directory) => directory.setAsideDamaged(replica));
  }

  strays(): ReplicaId[] {
    return this.serving.flatMap((directory) => directory.strays());
  }

  damaged(): ReplicaId[] {
    return this.serving.flatMap((directory) => directory.damaged());
  }

  async removeDamaged(topicId: string, partition: number): Promise<void> {
    await this.onEach((directory) => directory.removeDamaged(topicId, partition));
  }

  /** Where it lies; where nothing of it can be reached, in a directory that serves. */
  async repair(replica: ReplicaId, options: RepairOptions): Promise<RepairedLog> {
    const key = keyOf(replica);
    const home = this.homes.get(key) ?? this.losses.directoryOf(replica);
    const directory = home && !home.failure ? home : this.choose();
    this.homes.delete(key);
    const repaired = await directory.repair(replica, options);
    await this.settle(replica, directory);
    return repaired;
  }

  checkpointedHighWatermark(topicId: string, partition: number): number {
    const home = this.homes.get(partitionKey(topicId, partition));
    return home?.checkpointedHighWatermark(topicId, partition) ?? 0;
  }

  /** Each in the directory where it lies. */
  async checkpointHighWatermarks(entries: readonly HighWatermarkEntry[]): Promise<void> {
    const named = entries.every(({ topicId }) => topicId !== undefined);
    const nameOf = (log: PartitionLog | HighWatermarkEntry): string => {
      const { topic, topicId = '', partition } = log;
      return named ? partitionKey(topicId, partition) : partitionName(topic, partition);
    };
    await this.onEach(async (directory) => {
      const here = new Set(directory.logs().map(nameOf));
      await directory.checkpointHighWatermarks(entries.filter((entry) => here.has(nameOf(entry))));
    });
  }

  async noteBrokerEpoch(brokerEpoch: number): Promise<void> {
    await this.onEach((directory) => directory.noteBrokerEpoch(brokerEpoch));
  }

  async close(options: CloseOptions): Promise<void> {
    try {
      await settleAll(this.open.map((directory) => directory.close(options)));
    } finally {
      this.lock?.unlock();
    }
  }

  private get serving(): LogDirectory[] {
    return this.open.filter(({ failure }) => !failure);
  }

  private async make(replica: ReplicaId, config: LogConfig): Promise<PartitionLog> {
    this.losses.refuse(replica);
    const { topic, topicId, partition } = replica;
    // A creation that could not be recorded, for instance on a full disk, left it half done there.
    const begun = this.serving.find((directory) => directory.get(topicId, partition));
    const directory = begun ?? this.choose();
    this.reserve(directory, 1);
    try {
      const log = await directory.create(topic, topicId, partition, config);
      await this.settle(replica, directory);
      return log;
    } finally {
      this.reserve(directory, -1);
    }
  }

  /** From here on it counts: all directories know where it lies. */
  private async settle(replica: ReplicaId, directory: LogDirectory): Promise<void> {
    await this.book.put({ ...replica, directoryId: directory.id });
    if (directory.failure) throw directory.failure;
    this.homes.set(keyOf(replica), directory);
  }

  /** The fewest replicas, then the most room, then the order of the configuration. */
  private choose(): LogDirectory {
    const ranked = this.serving.map((directory) => {
      const [status] = directory.directories();
      const replicas = (status?.partitions ?? 0) + (this.reserved.get(directory) ?? 0);
      return { directory, replicas, freeBytes: status?.freeBytes ?? 0 };
    });
    ranked.sort((a, b) => a.replicas - b.replicas || b.freeBytes - a.freeBytes);
    const [best] = ranked;
    if (best) return best.directory;
    throw new TributaryError('STORAGE_ERROR', 'all log directories of this broker are offline');
  }

  private reserve(directory: LogDirectory, count: number): void {
    this.reserved.set(directory, (this.reserved.get(directory) ?? 0) + count);
  }

  /** Also of what lies in a directory that is offline: should it come back, what is there is a stray. */
  private async giveUp(
    replica: Omit<ReplicaId, 'topic'>,
    work: (directory: LogDirectory) => Promise<void>,
  ): Promise<void> {
    const home = this.homes.get(keyOf(replica));
    // Nobody could note it, and the next start would find it here again.
    if (home?.failure && this.serving.length === 0) throw home.failure;
    this.homes.delete(keyOf(replica));
    if (home?.failure) home.forget(replica.topicId, replica.partition);
    await this.onEach(work);
    await this.book.remove(replica);
  }

  /** On all that serve; passes on the first error, but not of a directory that failed by it. */
  private async onEach(work: (directory: LogDirectory) => Promise<void>): Promise<void> {
    await settleAll(
      this.serving.map(async (directory) => {
        try {
          await work(directory);
        } catch (error) {
          if (!directory.failure) throw error;
        }
      }),
    );
  }
}

/** Waits for all of them, then passes on the first error. */
async function settleAll(work: readonly Promise<void>[]): Promise<void> {
  for (const outcome of await Promise.allSettled(work)) {
    if (outcome.status === 'rejected') throw TributaryError.from(outcome.reason);
  }
}

function keyOf({ topicId, partition }: Omit<ReplicaId, 'topic'>): string {
  return partitionKey(topicId, partition);
}
