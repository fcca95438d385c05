/** Opens the log directories of a broker, on whatever disk. Called by both compositions, real and embedded. */
import { resolve } from 'node:path';
import { parseTopicConfig } from '@tributary/common';
import { LogDirectories, type LogDirectoriesOptions, type LogStore } from '@tributary/log';

export interface OpenLogsOptions extends Omit<LogDirectoriesOptions, 'configFor' | 'alsoLocked'> {
  /** Holds what is no log, such as the session ticket. */
  readonly dataDir: string;
}

/** Until the controller's image names a topic's own settings, the defaults hold. */
const defaults = parseTopicConfig({}, 1);

export async function openLogs(options: OpenLogsOptions): Promise<LogStore> {
  const dataDir = resolve(options.dataDir);
  const isApart = !options.directories.includes(dataDir);
  return LogDirectories.open({
    ...options,
    ...(isApart ? { alsoLocked: dataDir } : {}),
    configFor: () => defaults,
  });
}
