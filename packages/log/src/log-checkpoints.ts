/**
 * Recovery points, log start offsets and compacted offsets of all logs of a directory, on the device. Invariant: no checkpoint vouches
 * for bytes that are not there: one that goes back is written before anything is appended (`lowerCheckpoint`), and
 * a new log never inherits the line that an earlier one of its name left. Called by LogDirectory.
 */
import { partitionName, type Clock, type Logger } from '@tributary/common';
import { CheckpointSchedule } from './checkpoint-schedule';
import type { CheckpointEntry, DirectoryCheckpoints } from './directory-checkpoints';
import type { Log } from './log';
import type { LogOptions } from './log-options';

export interface LogCheckpointsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly directory: string;
}

export interface StoredCheckpoints {
  readonly recoveryPoints: ReadonlyMap<string, number>;
  readonly logStartOffsets: ReadonlyMap<string, number>;
  readonly compactedOffsets: ReadonlyMap<string, number>;
}

export class LogCheckpoints {
  private readonly schedule: CheckpointSchedule;
  /** Partition names that have a line in one of the files. */
  private named = new Set<string>();
  private loaded = false;
  private hasCompacted = false;

  constructor(
    private readonly files: Omit<DirectoryCheckpoints, 'highWatermarks'>,
    private readonly logs: () => Iterable<Log>,
    { clock, logger, directory }: LogCheckpointsOptions,
  ) {
    this.schedule = new CheckpointSchedule({
      clock,
      write: () => this.write(),
      onFailure: (error) => {
        const message = 'checkpoints cannot be written: the next start takes longer';
        logger.warn(message, { directory, error });
      },
    });
  }

  /** What a log calls. */
  readonly calls: Required<Pick<LogOptions, 'onCheckpointDue' | 'lowerCheckpoint'>> = {
    // Without the logs that are still being loaded the files would forget where these start.
    onCheckpointDue: () => {
      if (this.loaded) this.schedule.soon();
    },
    lowerCheckpoint: () => this.schedule.now(),
  };

  /** Throws UNKNOWN_FORMAT. */
  read(): StoredCheckpoints {
    const recoveryPoints = this.files.recoveryPoints.read();
    const logStartOffsets = this.files.logStartOffsets.read();
    const compactedOffsets = this.files.compactedOffsets.read();
    this.hasCompacted = compactedOffsets.size > 0;
    const stored = { recoveryPoints, logStartOffsets, compactedOffsets };
    this.named = new Set(Object.values(stored).flatMap((offsets) => [...offsets.keys()]));
    return stored;
  }

  /** All logs are loaded. */
  begin(): void {
    this.loaded = true;
  }

  /** A log of this name is about to be made; resolves once the files say nothing of an earlier one. */
  async forget(name: string): Promise<void> {
    if (this.named.has(name)) await this.schedule.now();
  }

  /** What is true at the call is on the device when it resolves. */
  now(): Promise<void> {
    return this.schedule.now();
  }

  async write(): Promise<void> {
    const logs = [...this.logs()];
    const entries = (offsetOf: (log: Log) => number): CheckpointEntry[] =>
      logs.map((log) => ({ topic: log.topic, partition: log.partition, offset: offsetOf(log) }));
    const names = logs.map(({ topic, partition }) => partitionName(topic, partition));
    this.named = new Set([...this.named, ...names]);
    await this.files.recoveryPoints.write(entries((log) => log.recoveryPoint));
    await this.files.logStartOffsets.write(entries((log) => log.logStartOffset));
    await this.writeCompacted(entries((log) => log.compaction.compactedTo));
    this.named = new Set([...names, ...this.files.mute()]);
  }

  /** No file where nothing was ever compacted. */
  private async writeCompacted(entries: readonly CheckpointEntry[]): Promise<void> {
    const compacted = entries.filter(({ offset }) => offset > 0);
    if (compacted.length === 0 && !this.hasCompacted) return;
    await this.files.compactedOffsets.write(compacted);
    this.hasCompacted = compacted.length > 0;
  }

  /** Nothing is written by itself any more. */
  close(): Promise<void> {
    return this.schedule.close();
  }
}
