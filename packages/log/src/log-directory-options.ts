/** What a log directory must be told when it is opened. */
import type { Clock, Logger, Random } from '@tributary/common';
import type { CompactionLimits } from './compaction/compaction-limits';
import type { Disk } from './disk';
import type { LogConfig } from './partition-log';
import type { RecoveryProgress } from './recovery-progress';

export interface LogDirectoryOptions {
  readonly disk: Disk;
  /** Absolute; made when it does not exist. */
  readonly directory: string;
  readonly brokerId: number;
  /** When it is known already; otherwise see `confirmCluster`. */
  readonly clusterId?: string;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** What logs that lie there obey until they are told their settings by `configure`. */
  readonly configFor: (topic: string) => LogConfig;
  /** Is told how far recovery is. */
  readonly progress?: RecoveryProgress;
  /** Between two rounds of retention and compaction. Default `MAINTENANCE_INTERVAL_MS`. */
  readonly maintenanceIntervalMs?: number;
  /** What compaction may use. Default `defaultCompactionLimits`. */
  readonly compactionLimits?: Partial<CompactionLimits>;
  /** Descriptors that the segments and indexes of one directory hold at once. Default `OPEN_FILES_MAX`. */
  readonly openFilesMax?: number;
  /** Default `PRODUCER_ID_EXPIRATION_MS`. */
  readonly producerIdExpirationMs?: number;
}
