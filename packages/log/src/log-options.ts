/** What a log must be told when it is opened, and what a log directory remembers about it. */
import type { Clock, Logger, Random } from '@tributary/common';
import type { LogResources } from './log-files';
import type { LogConfig } from './partition-log';

export interface LogOptions {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  readonly config: LogConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  /** There was no clean shutdown: check every batch from the recovery point on. */
  readonly recover: boolean;
  /**
   * With `recover`: the power may have failed, and with it what was not synced; so bytes that do not check are where the
   * log ended, also in its middle. false: only the process died, and such bytes are damage. Default true.
   */
  readonly unsyncedMayBeLost?: boolean;
  /** Shared with the other logs of the directory. Default: of its own. */
  readonly resources?: LogResources;
  /** The last shutdown was clean: what lies there is on the device, indexes and all. Default false. */
  readonly isOnDevice?: boolean;
  /** Everything below it is known to be on the device. Default 0. */
  readonly recoveryPoint?: number;
  /**
   * `config` is a guess until `configure` is called: appends obey it, and nothing is deleted by it. Without that, a broker
   * that starts would delete by the default settings what the topic's own keep.
   */
  readonly configIsGuess?: boolean;
  /** Default `PRODUCER_ID_EXPIRATION_MS`. */
  readonly producerIdExpirationMs?: number;
  /** Default: where the first segment begins. */
  readonly logStartOffset?: number;
  /** Compaction has passed everything below it. Default 0. */
  readonly compactedTo?: number;
  /** The recovery point, the log start offset or `compactedTo` moved: the checkpoints should be written. Must not throw. */
  readonly onCheckpointDue?: () => void;
  /** One of them went back: resolves once no checkpoint on the device names a higher one. */
  readonly lowerCheckpoint?: () => Promise<void>;
  /** It met an I/O error: maybe all of its directory did. Must not throw. */
  readonly onFailed?: () => void;
}
