/**
 * The three checkpoint files of a log directory: recovery points, log start offsets and high watermarks, one
 * line per partition. Invariant: a damaged file costs time (more is recovered), never data. Called by the
 * log directory.
 */
import { hasCode, type Logger } from '@tributary/common';
import { formatCheckpoint, parseOffsets } from './checkpoint-format';
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';

export interface CheckpointEntry {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export class OffsetCheckpoint {
  private readonly file: DurableTextFile;

  constructor(
    disk: Disk,
    path: string,
    private readonly logger: Logger,
  ) {
    this.file = new DurableTextFile(disk, path);
  }

  /** By partition name; empty when there is none or it is damaged. Throws UNKNOWN_FORMAT. */
  read(): Map<string, number> {
    const text = this.file.read();
    if (text === undefined) return new Map();
    try {
      return parseOffsets(text, this.file.path);
    } catch (error) {
      if (!hasCode(error, 'CORRUPT_LOG')) throw error;
      this.logger.warn('a checkpoint file is damaged and not used', { path: this.file.path });
      return new Map();
    }
  }

  write(entries: readonly CheckpointEntry[]): Promise<void> {
    const lines = entries.map(({ topic, partition, offset }) => [topic, partition, offset]);
    return this.file.write(formatCheckpoint(lines));
  }
}

export class DirectoryCheckpoints {
  readonly recoveryPoints: OffsetCheckpoint;
  readonly logStartOffsets: OffsetCheckpoint;
  readonly highWatermarks: OffsetCheckpoint;

  constructor(disk: Disk, directory: string, logger: Logger) {
    const open = (name: string): OffsetCheckpoint =>
      new OffsetCheckpoint(disk, `${directory}/${name}`, logger);
    this.recoveryPoints = open('recovery-point-offset-checkpoint');
    this.logStartOffsets = open('log-start-offset-checkpoint');
    this.highWatermarks = open('replication-offset-checkpoint');
  }
}
