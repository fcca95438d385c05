/**
 * The four checkpoint files of a log directory: recovery points, log start offsets, high watermarks, and up to where
 * compaction has passed; one line per partition. Invariant: a damaged file (a changed byte is noticed) costs time, never data, and is told.
 * Called by the log directory.
 */
import { hasCode, type Logger } from '@tributary/common';
import { ChecksummedTextFile } from './checksummed-text-file';
import { formatCheckpoint, parseOffsets } from './checkpoint-format';
import type { Disk } from './disk';

export interface CheckpointEntry {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export class OffsetCheckpoint {
  private readonly file: ChecksummedTextFile;

  /** @param withoutIt what happens when it cannot be used, for people. */
  constructor(
    disk: Disk,
    path: string,
    private readonly logger: Logger,
    private readonly withoutIt: string,
  ) {
    this.file = new ChecksummedTextFile(disk, path);
  }

  /** By partition name; empty when there is none or it is damaged. Throws UNKNOWN_FORMAT. */
  read(): Map<string, number> {
    try {
      const text = this.file.read();
      if (text === undefined) return new Map();
      return parseOffsets(text, this.file.path);
    } catch (error) {
      if (!hasCode(error, 'CORRUPT_LOG')) throw error;
      this.logger.error('a checkpoint file is damaged and not used', {
        reason: error.message,
        therefore: this.withoutIt,
      });
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
  readonly compactedOffsets: OffsetCheckpoint;

  constructor(disk: Disk, directory: string, logger: Logger) {
    const open = (name: string, withoutIt: string): OffsetCheckpoint =>
      new OffsetCheckpoint(disk, `${directory}/${name}`, logger, withoutIt);
    this.recoveryPoints = open(
      'recovery-point-offset-checkpoint',
      'after an unclean end every log is checked from its beginning',
    );
    this.logStartOffsets = open(
      'log-start-offset-checkpoint',
      'logs begin where their first segment does: records that were deleted before may be seen again',
    );
    this.highWatermarks = open(
      'replication-offset-checkpoint',
      'what is committed is known again once the leaders tell',
    );
    this.compactedOffsets = open(
      'cleaner-offset-checkpoint',
      'compacted logs are compacted once more from their beginning',
    );
  }
}
