/** Opens a broker's log directory, on whatever disk. Called by both compositions, real and embedded. */
import { dirname, resolve } from 'node:path';
import {
  parseTopicConfig,
  TributaryError,
  type Clock,
  type Logger,
  type Random,
} from '@tributary/common';
import { LogDirectory, type Disk, type LogStore } from '@tributary/log';

export interface OpenLogsOptions {
  readonly disk: Disk;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly brokerId: number;
  readonly directory: string;
}

/** Until the controller's image names a topic's own settings, the defaults hold. */
const defaults = parseTopicConfig({}, 1);

export async function openLogs(options: OpenLogsOptions): Promise<LogStore> {
  const directory = resolve(options.directory);
  refuseFile(options.disk, directory);
  return LogDirectory.open({ ...options, directory, configFor: () => defaults });
}

/** Making the directory would fail, too, but could not say why in the operator's words. */
function refuseFile(disk: Disk, directory: string): void {
  let existing = directory;
  while (!disk.exists(existing) && existing !== dirname(existing)) existing = dirname(existing);
  if (disk.isDirectory(existing)) return;
  throw new TributaryError(
    'DATA_DIR_NOT_WRITABLE',
    `the data directory ${directory} cannot be made: ${existing} is not a directory`,
    { hint: 'Remove what is there, or choose another --data-dir.', details: { path: directory } },
  );
}
