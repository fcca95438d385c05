/**
 * What the segments of one log share: disk and directory, the descriptors and the memory that all logs of a log
 * directory share in turn, and what is known of the log as a whole. Made by the loader; kept by the log.
 */
import type { Clock } from '@tributary/common';
import type { Disk } from './disk';
import { FilePool } from './file-pool';
import { IndexMemory } from './index-memory';
import { GAPS_FILE, OffsetGaps } from './offset-gaps';
import { SyncSlots } from './sync-slots';

/** Shared by all logs of a log directory. */
export class LogResources {
  readonly files: FilePool;
  readonly indexes: IndexMemory;
  readonly syncs = new SyncSlots();

  constructor(
    disk: Disk,
    limits: { readonly openFilesMax?: number; readonly indexBytesMax?: number } = {},
  ) {
    this.files = new FilePool(disk, limits.openFilesMax);
    this.indexes = new IndexMemory(limits.indexBytesMax);
  }
}

export class LogFiles {
  /** Files were created, renamed or removed since the last sync of the directory (KAFKA-3968). */
  directoryDirty = true;
  /** Epoch that the batch at `offset` must have, which says that it has `found`; -1: not known. */
  epochOf: (offset: number, found: number) => number = () => -1;
  private readonly gaps: OffsetGaps;

  constructor(
    readonly disk: Disk,
    readonly directory: string,
    readonly resources: LogResources,
    private readonly clock: Clock,
  ) {
    this.gaps = OffsetGaps.read(disk, directory);
  }

  /** May a batch that begins here leave a gap before it? */
  mayLeaveGap(baseOffset: number): boolean {
    return this.gaps.allows(baseOffset);
  }

  /** Before a batch is written whose base offset is above the end of the one before it. */
  noteGap(baseOffset: number): void {
    if (this.gaps.allows(baseOffset)) return;
    this.gaps.raise(baseOffset);
    this.directoryDirty = true;
  }

  /** No batch begins at `offset` or behind it any more. */
  forgetGaps(offset: number): void {
    this.gaps.lower(offset);
  }

  /** Before anything that lies behind such a gap counts as being on the device. */
  async syncGaps(): Promise<void> {
    const { gaps } = this;
    if (!gaps.isDirty) return;
    gaps.isDirty = false;
    try {
      await this.syncSideFile(`${this.directory}/${GAPS_FILE}`);
    } catch (error) {
      gaps.isDirty = true;
      throw error;
    }
  }

  /** What lies beside the segments: it is open for that only. What is removed by then needs no sync. */
  syncSideFile(path: string): Promise<void> {
    return this.resources.syncs.run(async () => {
      if (!this.disk.exists(path)) return;
      const file = this.disk.openFile(path);
      try {
        await file.datasync();
      } finally {
        file.close();
      }
    });
  }

  now(): number {
    return this.clock.wallTime();
  }
}
