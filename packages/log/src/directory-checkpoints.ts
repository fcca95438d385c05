/**
 * The four checkpoint files of a log directory: recovery points, log start offsets, high watermarks, and up to where
 * compaction has passed; one line per partition. Invariant: a damaged file (a changed byte is noticed) costs time, never data, and is told.
 * Called by the log directory.
 */
import { hasCode, partitionName, type Logger } from '@tributary/common';
import { ChecksummedTextFile } from './checksummed-text-file';
import { formatOffsets, parseOffsets } from './checkpoint-format';
import type { Disk } from './disk';
import type { LogDirectoryOptions } from './log-directory-options';

export interface CheckpointEntry {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
}

export class OffsetCheckpoint {
  private readonly file: ChecksummedTextFile;
  /** What the file says, by partition name. */
  private lines: ReadonlyMap<string, number> = new Map();

  /**
   * @param withoutIt what happens when it cannot be used, for people.
   * @param mute partition names whose line stays when a write says nothing of them.
   */
  constructor(
    disk: Disk,
    path: string,
    private readonly logger: Logger,
    private readonly withoutIt: string,
    private readonly mute: () => ReadonlySet<string>,
  ) {
    this.file = new ChecksummedTextFile(disk, path);
  }

  /** By partition name; empty when there is none or it is damaged. Throws UNKNOWN_FORMAT. */
  read(): Map<string, number> {
    try {
      const text = this.file.read();
      if (text === undefined) return new Map();
      const offsets = parseOffsets(text, this.file.path);
      this.lines = offsets;
      return offsets;
    } catch (error) {
      if (!hasCode(error, 'CORRUPT_LOG')) throw error;
      this.logger.error('a checkpoint file is damaged and not used', {
        reason: error.message,
        therefore: this.withoutIt,
      });
      return new Map();
    }
  }

  async write(entries: readonly CheckpointEntry[]): Promise<void> {
    const mute = this.mute();
    const lines = new Map([...this.lines].filter(([name]) => mute.has(name)));
    for (const { topic, partition, offset } of entries) {
      lines.set(partitionName(topic, partition), offset);
    }
    this.lines = lines;
    await this.file.write(formatOffsets(lines));
  }
}

export class DirectoryCheckpoints {
  readonly recoveryPoints: OffsetCheckpoint;
  readonly logStartOffsets: OffsetCheckpoint;
  readonly highWatermarks: OffsetCheckpoint;
  readonly compactedOffsets: OffsetCheckpoint;

  /** @param mute names of logs of which nobody can say anything new: they are there, and cannot be used. */
  constructor(
    { disk, directory, logger }: Pick<LogDirectoryOptions, 'disk' | 'directory' | 'logger'>,
    readonly mute: () => ReadonlySet<string>,
  ) {
    const open = (name: string, withoutIt: string): OffsetCheckpoint =>
      new OffsetCheckpoint(disk, `${directory}/${name}`, logger, withoutIt, mute);
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
