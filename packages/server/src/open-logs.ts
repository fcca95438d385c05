/** Opens a broker's log directory, on whatever disk. Called by both compositions, real and embedded. */
import { resolve } from 'node:path';
import { parseTopicConfig, type Clock, type Logger } from '@tributary/common';
import { LogDirectory, type Disk, type LogStore } from '@tributary/log';

export interface OpenLogsOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly brokerId: number;
  readonly directory: string;
}

/** Until the controller's image names a topic's own settings, the defaults hold. */
const defaults = parseTopicConfig({}, 1);

export function openLogs(options: OpenLogsOptions): Promise<LogStore> {
  const directory = resolve(options.directory);
  return LogDirectory.open({ ...options, directory, configFor: () => defaults });
}
