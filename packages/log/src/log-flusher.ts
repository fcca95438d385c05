/**
 * Brings a log to the device. Invariant: everything below `recoveryPoint` is there, with its epochs, its
 * directory entry and the indexes of its sealed segments; so it moves only after all syncs, and not at all
 * when a truncation came between. Never called under an append: a slow device delays acknowledgements, not
 * the event loop (KAFKA-15046). Called by the log: on demand, after a roll, at close.
 */
import type { Disk } from './disk';
import { snapshotPath } from './producer-snapshot';
import type { SegmentList } from './segment-list';

export interface LogFlusherOptions {
  readonly segments: SegmentList;
  readonly recoveryPoint: number;
  readonly persistEpochs: () => Promise<void>;
  /** It moved, up or down. */
  readonly onRecoveryPoint: () => void;
}

export class LogFlusher {
  /** Counts them, so that whoever waits for the disk sees that the log is another one now. */
  truncations = 0;
  private point: number;
  /** Files were created or removed since the last sync of the directory (KAFKA-3968). */
  private directoryDirty = true;
  private last: Promise<void> = Promise.resolve();
  private readonly segments: SegmentList;

  constructor(
    private readonly disk: Disk,
    private readonly directory: string,
    private readonly options: LogFlusherOptions,
  ) {
    this.segments = options.segments;
    this.point = options.recoveryPoint;
  }

  get recoveryPoint(): number {
    return this.point;
  }

  directoryChanged(): void {
    this.directoryDirty = true;
  }

  /** After a truncation: what is written there from now on is not on the device. */
  lowerRecoveryPoint(offset: number): void {
    if (offset >= this.point) return;
    this.point = offset;
    this.options.onRecoveryPoint();
  }

  /**
   * Resolves once everything below `target` that is still part of the log is on the device. One at a time: those
   * who wait find most of their work done.
   */
  flushTo(target: number): Promise<void> {
    const turn = this.last.then(() => this.flushUntil(target));
    this.last = turn.catch(() => undefined); // its caller hears of it
    return turn;
  }

  /** Everything, and the indexes of the active segment too: nothing is written any more. */
  async flushAll(): Promise<void> {
    const { active } = this.segments;
    active.persistIndexes();
    await this.flushTo(active.nextOffset);
    await this.options.persistEpochs();
    await active.syncIndexes();
    await this.syncDirectory();
  }

  private async flushUntil(wanted: number): Promise<void> {
    for (;;) {
      const { truncations } = this;
      const target = Math.min(wanted, this.segments.active.nextOffset);
      if (this.point >= target && !this.directoryDirty) return;
      try {
        await this.flushOnce(target);
      } catch (error) {
        // What a truncation removed under us needs no sync any more; a real failure comes again.
        if (truncations === this.truncations) throw error;
      }
      if (truncations === this.truncations) return;
    }
  }

  private async flushOnce(target: number): Promise<void> {
    const { truncations, segments } = this;
    const dirty = segments.within(this.point, target);
    const sealed = dirty.filter((segment) => segment !== segments.active);
    await this.options.persistEpochs();
    if (truncations !== this.truncations) return;
    for (const segment of sealed) segment.persistIndexes();
    const snapshot = snapshotPath(this.directory, target);
    await Promise.all([
      ...dirty.map((segment) => segment.file.datasync()),
      ...sealed.map((segment) => segment.syncIndexes()),
      this.syncIfThere(snapshot),
    ]);
    if (this.directoryDirty) {
      this.directoryDirty = false;
      await this.syncDirectory();
    }
    if (truncations !== this.truncations || target <= this.point) return;
    this.point = target;
    this.options.onRecoveryPoint();
  }

  private async syncDirectory(): Promise<void> {
    try {
      await this.disk.syncDirectory(this.directory);
    } catch (error) {
      this.directoryDirty = true;
      throw error;
    }
  }

  private async syncIfThere(path: string): Promise<void> {
    if (!this.disk.exists(path)) return;
    const file = this.disk.openFile(path);
    try {
      await file.datasync();
    } finally {
      file.close();
    }
  }
}
