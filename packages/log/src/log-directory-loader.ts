/**
 * Opens all partitions that lie in a log directory. Invariant: one partition that cannot be loaded takes no other
 * with it, and nothing is deleted here but what an explicit deletion had begun. Called by LogDirectory.open.
 */
import { hasCode, parsePartitionName, partitionName, TributaryError } from '@tributary/common';
import { checkDamage, keepDamage } from './damage-mark';
import { parseAsideName } from './directory-names';
import { Log } from './log';
import type { LogDirectoryOptions } from './log-directory-options';
import type { Disk } from './disk';
import type { LogResources } from './log-files';
import type { LogOptions } from './log-options';
import { PARTITION_METADATA_FILE, readTopicId } from './partition-metadata';

/** Logs that are recovered at the same time. */
const CONCURRENT_RECOVERIES = 4;

export interface LoadContext {
  readonly recover: boolean;
  readonly recoveryPoints: ReadonlyMap<string, number>;
  readonly logStartOffsets: ReadonlyMap<string, number>;
  readonly compactedOffsets: ReadonlyMap<string, number>;
  readonly onCheckpointDue: () => void;
  readonly lowerCheckpoint: () => Promise<void>;
  readonly onFailed: () => void;
  readonly resources: LogResources;
  readonly unsyncedMayBeLost: boolean;
  /** By directory name: not to be loaded, and why. */
  readonly refused?: ReadonlyMap<string, TributaryError>;
}

export interface LoadedDirectory {
  readonly logs: Log[];
  /** By directory name: what could not be loaded. */
  readonly broken: Map<string, BrokenLog>;
}

export interface BrokenLog {
  readonly error: TributaryError;
  /** undefined: it cannot be told. */
  readonly topicId: string | undefined;
}

export async function loadPartitions(
  options: LogDirectoryOptions,
  context: LoadContext,
): Promise<LoadedDirectory> {
  const { disk, directory, logger } = options;
  const names = disk.list(directory).filter((name) => disk.isDirectory(`${directory}/${name}`));
  for (const name of names) {
    if (parseAsideName(name)?.kind === 'delete') disk.remove(`${directory}/${name}`);
  }
  const waiting = names.filter((name) => parsePartitionName(name)).reverse();
  const loaded: LoadedDirectory = { logs: [], broken: new Map() };
  const sizes = new Map(
    waiting.map((name) => [
      name,
      context.recover ? bytesFrom(options, name, context.recoveryPoints.get(name) ?? 0) : 0,
    ]),
  );
  if (context.recover) for (const bytes of sizes.values()) options.progress?.expect(bytes);
  const work = async (): Promise<void> => {
    for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
      try {
        const refusal = context.refused?.get(name);
        if (refusal) throw refusal;
        const log = await loadPartition(name, options, context);
        if (log) loaded.logs.push(log);
      } catch (thrown) {
        const error = TributaryError.from(thrown);
        loaded.broken.set(name, { error, topicId: topicIdOf(options, name) });
        logger.error('a log cannot be loaded and is offline', { partition: name, error });
      }
      if (context.recover) options.progress?.done(sizes.get(name) ?? 0);
    }
  };
  await Promise.all(Array.from({ length: CONCURRENT_RECOVERIES }, work));
  return loaded;
}

async function loadPartition(
  name: string,
  options: LogDirectoryOptions,
  context: LoadContext,
): Promise<Log | undefined> {
  const { disk, clock, random, logger, configFor, producerIdExpirationMs } = options;
  const directory = `${options.directory}/${name}`;
  const topicId = readTopicId(disk, directory);
  if (topicId === undefined && !hasData(options, directory)) {
    // It was created, and the process died before it was told which topic it belongs to.
    disk.remove(directory);
    return undefined;
  }
  if (topicId === undefined) {
    throw new TributaryError('CORRUPT_LOG', `${directory} has no ${PARTITION_METADATA_FILE}`);
  }
  const parsed = parsePartitionName(name);
  if (!parsed) return undefined;
  checkDamage(disk, directory);
  const started = clock.now();
  const log = await openOrMark(disk, directory, {
    ...parsed,
    topicId,
    config: configFor(parsed.topic),
    configIsGuess: true,
    producerIdExpirationMs,
    clock,
    random,
    logger,
    recover: context.recover,
    isOnDevice: !context.recover,
    recoveryPoint: context.recoveryPoints.get(name),
    logStartOffset: context.logStartOffsets.get(name),
    compactedTo: context.compactedOffsets.get(name),
    onCheckpointDue: context.onCheckpointDue,
    lowerCheckpoint: context.lowerCheckpoint,
    onFailed: context.onFailed,
    resources: context.resources,
    unsyncedMayBeLost: context.unsyncedMayBeLost,
  });
  const { logEndOffset, cutBytes } = log;
  const elapsedMs = Math.round(clock.now() - started);
  logger.debug('log loaded', {
    partition: partitionName(parsed.topic, parsed.partition),
    logEndOffset,
    cutBytes,
    elapsedMs,
  });
  return log;
}

/** What is damaged to this start is so to the next ones, too, whatever these know of how the process before them ended. */
async function openOrMark(disk: Disk, directory: string, options: LogOptions): Promise<Log> {
  try {
    return await Log.open(disk, directory, options);
  } catch (error) {
    if (hasCode(error, 'CORRUPT_LOG')) await keepDamage(disk, directory, error);
    throw error;
  }
}

/** Of the segments that reach beyond `recoveryPoint`; 0 when it cannot be told. */
function bytesFrom(
  { disk, directory }: LogDirectoryOptions,
  name: string,
  recoveryPoint: number,
): number {
  try {
    const segments = disk.list(`${directory}/${name}`).filter((file) => file.endsWith('.log'));
    const next = segments.findIndex((file) => Number(file.slice(0, -4)) > recoveryPoint);
    const files = next < 0 ? segments.slice(-1) : segments.slice(Math.max(0, next - 1));
    return files.reduce((sum, file) => sum + disk.fileSize(`${directory}/${name}/${file}`), 0);
  } catch {
    return 0; // loading it will say why
  }
}

function hasData({ disk }: LogDirectoryOptions, directory: string): boolean {
  return disk.list(directory).some((name) => name.endsWith('.log'));
}

/** The name of the directory that holds this partition of this topic id, whether or not it could be loaded. */
export function findPartition(
  options: LogDirectoryOptions,
  topicId: string,
  partition: number,
): string | undefined {
  return options.disk
    .list(options.directory)
    .filter((name) => parsePartitionName(name)?.partition === partition)
    .find((name) => topicIdOf(options, name) === topicId);
}

function topicIdOf({ disk, directory }: LogDirectoryOptions, name: string): string | undefined {
  try {
    return readTopicId(disk, `${directory}/${name}`);
  } catch {
    return undefined; // whose it is cannot be told
  }
}
