/**
 * Opens the log directories of a broker. Invariants: one that cannot be used is reported and the others serve, as long as
 * it is known what lies in it; where that cannot be known, and where a directory is somebody else's, nothing starts.
 * Called by LogDirectories.
 */
import {
  hasCode,
  parsePartitionName,
  randomUuid,
  TributaryError,
  type Random,
} from '@tributary/common';
import { DirectoryAsides } from './directory-asides';
import { DirectoryLogs } from './directory-logs';
import { DurableTextFile } from './durable-text-file';
import { LogDirectory } from './log-directory';
import { prepareDirectory, type PreparedDirectory } from './log-directory-opening';
import type { LogDirectoryOptions } from './log-directory-options';
import type { ReplicaId } from './log-store';
import { readTopicId } from './partition-metadata';
import { PlacementBook } from './placement-book';
import { planPlacement, type FoundDirectory, type PlacementPlan } from './placement-plan';
import { parsePlacement, PLACEMENT_FILE, type PlacementRecord } from './placement-record';

export interface LogDirectoriesOptions extends Omit<LogDirectoryOptions, 'directory'> {
  /** Absolute, different, none within another. At least one. */
  readonly directories: readonly string[];
  readonly random: Random;
  /** A directory of this broker without logs in it: locked together with them. */
  readonly alsoLocked?: string;
}

export interface OpenedDirectories {
  readonly open: readonly LogDirectory[];
  /** Could not be opened, by path. */
  readonly failed: ReadonlyMap<string, TributaryError>;
  readonly book: PlacementBook;
}

const DISK_ERRORS: readonly string[] = [
  'STORAGE_ERROR',
  'DATA_DIR_NOT_WRITABLE',
  'DISK_FULL',
  'CORRUPT_LOG',
];

interface Prepared {
  readonly options: LogDirectoryOptions;
  readonly prepared: PreparedDirectory;
  readonly id: string;
  readonly record: PlacementRecord | undefined;
  readonly found: readonly ReplicaId[];
}

export class DirectoriesOpening {
  private readonly failed = new Map<string, TributaryError>();
  private readonly ready: Prepared[] = [];

  constructor(private readonly options: LogDirectoriesOptions) {}

  /** Throws DATA_DIR_LOCKED, UNKNOWN_FORMAT, CLUSTER_MISMATCH, INVALID_CONFIG; when none can be used, what the first one threw. */
  async run(): Promise<OpenedDirectories> {
    try {
      for (const directory of this.options.directories) await this.prepare(directory);
      return await this.load();
    } catch (error) {
      for (const { prepared } of this.ready) prepared.lock.unlock();
      throw error;
    }
  }

  private async prepare(directory: string): Promise<void> {
    const options = { ...this.options, directory };
    let prepared: PreparedDirectory | undefined;
    try {
      prepared = await prepareDirectory(options, () => randomUuid(options.random));
      const id = prepared.meta.directoryId ?? directory;
      const record = this.readRecord(directory);
      this.ready.push({ options, prepared, id, record, found: replicasIn(options) });
    } catch (thrown) {
      prepared?.lock.unlock();
      this.setOffline(directory, thrown);
    }
  }

  /** undefined: there is none, or it is damaged: then the others decide. */
  private readRecord(directory: string): PlacementRecord | undefined {
    const file = new DurableTextFile(this.options.disk, `${directory}/${PLACEMENT_FILE}`);
    const text = file.read();
    if (text === undefined) return undefined;
    try {
      return parsePlacement(text, file.path);
    } catch (error) {
      if (!hasCode(error, 'CORRUPT_LOG')) throw error;
      this.options.logger.error('a placement record is damaged and not used', {
        reason: error.message,
        therefore: 'those of the other directories count; where there are none, what is there',
      });
      return undefined;
    }
  }

  /** Passes on what is no failure of a disk. */
  private setOffline(directory: string, thrown: unknown): void {
    const error = TributaryError.from(thrown, 'STORAGE_ERROR');
    if (!DISK_ERRORS.includes(error.code)) throw error;
    this.failed.set(directory, error);
    const [first = error] = this.failed.values();
    if (this.failed.size === this.options.directories.length) throw first;
    this.options.logger.error('a log directory cannot be used and is offline', {
      directory,
      reason: error.message,
      hint: 'Check its disk, then restart this broker.',
    });
  }

  private async load(): Promise<OpenedDirectories> {
    const record = this.newestRecord();
    if (!record) this.checkNothingIsUnknown();
    const plan = this.plan(record);
    const loads = this.ready.map(async ({ options, prepared, id }) => {
      try {
        await this.setStraysAside(options, plan.strays.get(id) ?? []);
        return await LogDirectory.load(options, prepared, refusals(plan.refused.get(id)));
      } catch (thrown) {
        prepared.lock.unlock();
        this.setOffline(options.directory, thrown);
        return [];
      }
    });
    const outcomes = await Promise.allSettled(loads);
    const open = outcomes.flatMap((one) => (one.status === 'fulfilled' ? one.value : []));
    try {
      for (const one of outcomes)
        if (one.status === 'rejected') throw TributaryError.from(one.reason);
      return { open, failed: this.failed, book: await this.begin(open, plan, record) };
    } catch (error) {
      await Promise.all(
        open.map((directory) => directory.close({ clean: false, brokerEpoch: -1 })),
      );
      throw error;
    }
  }

  private newestRecord(): PlacementRecord | undefined {
    const records = this.ready.flatMap(({ record }) => record ?? []);
    return records.sort((a, b) => b.generation - a.generation)[0];
  }

  /** Without a record what lies in a directory is known by looking into it only. */
  private checkNothingIsUnknown(): void {
    for (const [directory, error] of this.failed) {
      throw new TributaryError(
        error.code,
        `log directory ${directory} cannot be used (${error.message}), and no other one knows which replicas lie in it`,
        {
          cause: error,
          details: error.details,
          hint: 'Repair it, or take it out of log.dirs; then its replicas are gone.',
        },
      );
    }
  }

  private plan(record: PlacementRecord | undefined): PlacementPlan {
    const directories = this.ready.map(({ options, id, record: own, found }): FoundDirectory => ({
      id,
      path: options.directory,
      generation: own?.generation,
      found,
    }));
    return planPlacement(directories, record);
  }

  private async setStraysAside(
    options: LogDirectoryOptions,
    strays: readonly ReplicaId[],
  ): Promise<void> {
    const asides = new DirectoryAsides(options, new DirectoryLogs());
    for (const { topic, topicId, partition } of strays) {
      const path = await asides.move(topicId, partition, 'stray');
      const what = { topic, partition, path };
      options.logger.warn('a replica that counts elsewhere or not at all is set aside', what);
    }
  }

  private async begin(
    open: readonly LogDirectory[],
    { placements }: PlacementPlan,
    record: PlacementRecord | undefined,
  ): Promise<PlacementBook> {
    const paths = new Map(this.ready.map(({ id, options }) => [id, options.directory]));
    // Where they were, as long as something is said to lie there.
    for (const { directoryId } of placements.values()) {
      const path = paths.get(directoryId) ?? record?.paths.get(directoryId);
      if (path !== undefined) paths.set(directoryId, path);
    }
    const generation = record?.generation ?? 0;
    const book = new PlacementBook(this.options.disk, open, { paths, placements, generation });
    await book.persist().catch((error: unknown) => {
      if (!hasCode(error, 'DISK_FULL')) throw error;
      // As long as it is so, nothing is created; what is there is known by the old one.
      this.options.logger.warn('the placement record cannot be written', { error });
    });
    return book;
  }
}

function replicasIn({ disk, directory }: LogDirectoryOptions): ReplicaId[] {
  return disk.list(directory).flatMap((name) => {
    const parsed = parsePartitionName(name);
    if (!parsed || !disk.isDirectory(`${directory}/${name}`)) return [];
    try {
      const topicId = readTopicId(disk, `${directory}/${name}`);
      return topicId === undefined ? [] : [{ ...parsed, topicId }];
    } catch {
      return []; // whose it is cannot be told: the loader reports it
    }
  });
}

function refusals(
  reasons: ReadonlyMap<string, string> | undefined,
): ReadonlyMap<string, TributaryError> {
  const entries = [...(reasons ?? [])].map(
    ([name, reason]) => [name, new TributaryError('STORAGE_ERROR', reason)] as const,
  );
  return new Map(entries);
}
