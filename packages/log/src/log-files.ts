/**
 * What the segments of one log share: disk and directory, the descriptors and the memory that all logs of a log
 * directory share in turn, and what is known of the log as a whole. Made by the loader; kept by the log.
 */
import type { Clock } from '@tributary/common';
import type { Disk } from './disk';
import { FilePool } from './file-pool';
import { IndexMemory } from './index-memory';
import { SyncSlots } from './sync-slots';

/**
 * Its presence says that somewhere in this log offsets are left out, as compaction does. Without it, a batch whose base
 * offset is not the end of the one before it has a damaged header.
 */
export const GAPS_FILE = 'offset-gaps';

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
  /** Epoch that the batch at `offset` must have; -1: not known. */
  epochOf: (offset: number) => number = () => -1;
  private gaps: boolean;

  constructor(
    readonly disk: Disk,
    readonly directory: string,
    readonly resources: LogResources,
    private readonly clock: Clock,
  ) {
    this.gaps = disk.exists(`${directory}/${GAPS_FILE}`);
  }

  get hasGaps(): boolean {
    return this.gaps;
  }

  /** Before the first batch is written whose base offset is above the end of the one before it. */
  noteGap(): void {
    if (this.gaps) return;
    this.disk.openFile(`${this.directory}/${GAPS_FILE}`, { create: true }).close();
    this.directoryDirty = true;
    this.gaps = true;
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
