/**
 * Makes and opens single logs of a log directory. Invariant: what lies under a name already is taken over only when it
 * is what an earlier creation of the same topic left half done. Called by LogDirectory.
 */
import { partitionName, TributaryError } from '@tributary/common';
import { checkDamage } from './damage-mark';
import { Log } from './log';
import type { LogCheckpoints } from './log-checkpoints';
import type { BrokenLog } from './log-directory-loader';
import type { LogDirectoryOptions } from './log-directory-options';
import { LogResources } from './log-files';
import type { LogOptions } from './log-options';
import type { ReplicaId } from './log-store';
import type { LogConfig } from './partition-log';
import { readTopicId, writeTopicId } from './partition-metadata';

/** What a log calls. */
export type LogCalls = LogCheckpoints['calls'] & Required<Pick<LogOptions, 'onFailed'>>;

export class LogOpener {
  /** With the descriptors and the memory that all logs have together. */
  readonly shared: LogCalls & Required<Pick<LogOptions, 'resources'>>;

  constructor(
    private readonly options: LogDirectoryOptions,
    calls: LogCalls,
    private readonly checkpoints: LogCheckpoints,
  ) {
    const { disk, openFilesMax } = options;
    this.shared = { ...calls, resources: new LogResources(disk, { openFilesMax }) };
  }

  /** @param broken what could not be loaded under its name. Throws STORAGE_ERROR, CORRUPT_LOG, TOPIC_ID_MISMATCH. */
  async create(id: ReplicaId, config: LogConfig, broken: BrokenLog | undefined): Promise<Log> {
    const { disk } = this.options;
    const directory = this.pathOf(id);
    const isThere = disk.isDirectory(directory);
    if (isThere) this.checkAdoptable(id, broken);
    // First: what a line of an earlier log of this name vouches for would be missing in this one.
    await this.checkpoints.forget(partitionName(id.topic, id.partition));
    disk.makeDirectory(directory);
    await writeTopicId(disk, directory, id.topicId);
    await disk.syncDirectory(this.options.directory);
    return this.open(id, config, { recover: isThere });
  }

  open(
    id: ReplicaId,
    config: LogConfig,
    known: Pick<LogOptions, 'recover' | 'recoveryPoint' | 'logStartOffset'>,
  ): Promise<Log> {
    const { disk, clock, random, logger, producerIdExpirationMs } = this.options;
    const given = { config, producerIdExpirationMs, clock, random, logger };
    return Log.open(disk, this.pathOf(id), { ...id, ...given, ...known, ...this.shared });
  }

  private pathOf({ topic, partition }: ReplicaId): string {
    return `${this.options.directory}/${partitionName(topic, partition)}`;
  }

  private checkAdoptable(id: ReplicaId, broken: BrokenLog | undefined): void {
    const path = this.pathOf(id);
    if (broken) {
      throw new TributaryError('STORAGE_ERROR', `${path} is offline: ${broken.error.message}`, {
        cause: broken.error,
      });
    }
    checkDamage(this.options.disk, path);
    const { topicId } = id;
    const found = readTopicId(this.options.disk, path);
    if (found === undefined || found === topicId) return;
    throw new TributaryError(
      'TOPIC_ID_MISMATCH',
      `${path} holds topic id ${found}, not ${topicId}`,
      { details: { path, found, topicId } },
    );
  }
}
