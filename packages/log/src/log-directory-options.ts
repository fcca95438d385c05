/** What a log directory must be told when it is opened. */
import type { Clock, Logger } from '@tributary/common';
import type { Disk } from './disk';
import type { LogConfig } from './partition-log';

export interface LogDirectoryOptions {
  readonly disk: Disk;
  /** Absolute; made when it does not exist. */
  readonly directory: string;
  readonly brokerId: number;
  /** When it is known already; otherwise see `confirmCluster`. */
  readonly clusterId?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly configFor: (topic: string) => LogConfig;
}
