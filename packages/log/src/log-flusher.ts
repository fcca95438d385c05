/**
 * Brings a log to the device. Invariant: everything below `recoveryPoint` is there, with its epochs, its
 * directory entry and the indexes of its sealed segments; so it moves only after all syncs, and not at all
 * when a truncation came between. Never called under an append: a slow device delays acknowledgements, not
 * the event loop (KAFKA-15046).
 *
 * Group commit: one turn at a time, and whoever comes while it is under way shares the next one. A sync that failed
 * is never tried again: the system may have dropped the pages and call the next one a success, so the caller
 * takes the log offline, and the next start takes it for damaged. Called by the log: on demand, after each append with `flush=sync`, after a roll, at close.
 */
import { hasCode, TributaryError, type Clock, type Timer } from '@tributary/common';
import { FlushTurn } from './flush-turn';
import type { LogFiles } from './log-files';
import { snapshotPath } from './producer-snapshot';
import type { Segment } from './segment';
import type { SegmentList } from './segment-list';

/** Between two tries of a commit for which a full disk has no room (an epoch file, an index). */
export const COMMIT_RETRY_MS = 500;

export interface LogFlusherOptions {
  readonly clock: Clock;
  readonly segments: SegmentList;
  readonly recoveryPoint: number;
  /** The life before this one may have cut the log and died before that was on the device: see `settle`. */
  readonly cutsMayBeUnsynced: boolean;
  readonly persistEpochs: () => Promise<void>;
  /** Of the epoch file as it was persisted last. */
  readonly epochsCrc: () => number;
  /** It moved up. */
  readonly onRecoveryPoint: () => void;
  /** See LogOptions. */
  readonly lowerCheckpoint: () => Promise<void>;
  /** A sync of a segment failed: what lies in its file may not be on the device, whatever a later sync says. */
  readonly onSyncFailed: (error: TributaryError) => void;
  /** Runs a turn, and notes a failure of it: the log is offline when it rejects, but for a full disk. */
  readonly guard: (turn: () => Promise<void>) => Promise<void>;
}

export class LogFlusher {
  /** Counts them, so that whoever waits for the disk sees that the log is another one now. */
  truncations = 0;
  private point: number;
  /** Something was cut, created or removed since it was opened. */
  wasChanged = false;
  private running: FlushTurn | undefined;
  private next: FlushTurn | undefined;
  private working = false;
  /** Cuts so far, and those that are on the device. */
  private cuts = 0;
  private syncedCuts = 0;
  private checkpointTooHigh = false;
  /** How often the checkpoint was about to be lowered. */
  private lowerings = 0;
  /** A cut to come, and where the log ended then: a sync that is under way must not vouch again for what goes. */
  private announced: { readonly offset: number; readonly logEndOffset: number } | undefined;
  private settling: Promise<void> | undefined;
  private retryTimer: Timer | undefined;
  private readonly segments: SegmentList;

  constructor(
    private readonly files: LogFiles,
    private readonly options: LogFlusherOptions,
  ) {
    this.segments = options.segments;
    this.point = options.recoveryPoint;
    if (options.cutsMayBeUnsynced) this.cuts = 1;
  }

  get recoveryPoint(): number {
    return this.point;
  }

  directoryChanged(): void {
    this.wasChanged = true;
    this.files.directoryDirty = true;
  }

  /**
   * Before the end of the log is cut off at `offset`: undefined when no checkpoint vouches for what goes, or else resolves
   * once none does any more. Half of a cut can be on the device when the power fails, and must not look like damage.
   */
  prepareCut(offset: number): Promise<void> | undefined {
    if (offset >= this.point && !this.checkpointTooHigh) return undefined;
    this.point = Math.min(this.point, offset);
    this.announced = { offset: this.point, logEndOffset: this.segments.active.nextOffset };
    this.checkpointTooHigh = true;
    return this.lower();
  }

  /** No cut follows after all: what it would have taken away may be vouched for again. */
  withdrawCut(): void {
    this.announced = undefined;
  }

  /**
   * The end of the log was cut off at `offset`, or the log starts anew there: what is written from there on is not
   * on the device, whatever an older checkpoint says. See `settle`.
   * @param isToldHigher another checkpoint than the recovery point says more than is true now
   */
  cut(offset: number, isToldHigher = false): void {
    this.wasChanged = true;
    this.cuts += 1;
    this.announced = undefined;
    this.checkpointTooHigh ||= isToldHigher || offset < this.point;
    this.point = Math.min(this.point, offset);
    this.settle().catch(() => undefined); // who waits for it hears of it, or begins it again
  }

  get isSettled(): boolean {
    return this.syncedCuts === this.cuts && !this.checkpointTooHigh;
  }

  /**
   * Resolves once all cuts are on the device and no checkpoint vouches for what was cut. What is appended before
   * that could be torn by a power failure, or mixed with what lay there, and be taken for sound by the next start.
   */
  settle(): Promise<void> {
    if (this.isSettled) return Promise.resolve();
    this.settling ??= this.settleNow().finally(() => (this.settling = undefined));
    return this.settling;
  }

  /**
   * Resolves once everything below `target` that is still part of the log is on the device. All calls of one tick,
   * and all that come while a turn is under way, share one turn and one promise.
   */
  flushTo(target: number): Promise<void> {
    return this.turnFor(target).done;
  }

  /** As `flushTo`, for nobody who waits: tried again where a full disk is in the way. */
  commitTo(target: number): void {
    this.turnFor(target).mustSucceed = true;
  }

  /** Everything, and the indexes of the active segment too: nothing is written any more. */
  async flushAll(): Promise<void> {
    this.retryTimer?.cancel();
    await this.settle();
    const { active } = this.segments;
    await this.flushTo(active.nextOffset);
    await this.options.persistEpochs();
    active.persistIndexes(this.options.epochsCrc());
    await active.syncIndexes();
    await this.syncDirectory();
  }

  /** What is under way ends; nothing is tried again. */
  async stop(): Promise<void> {
    this.retryTimer?.cancel();
    await this.settling?.catch(() => undefined); // the log is closed: nobody needs it
    while (this.working) await (this.running ?? this.next)?.done.catch(() => undefined);
    this.retryTimer?.cancel();
  }

  private async settleNow(): Promise<void> {
    while (!this.isSettled) {
      await this.flushTo(this.point);
      if (this.syncedCuts === this.cuts && this.checkpointTooHigh) await this.lower();
    }
  }

  /** What is true at the call is what the checkpoint says when it resolves; when it rejects, it may still say more. */
  private async lower(): Promise<void> {
    const { cuts } = this;
    const mine = (this.lowerings += 1);
    await this.options.lowerCheckpoint();
    if (cuts === this.cuts && mine === this.lowerings) this.checkpointTooHigh = false;
  }

  private turnFor(target: number): FlushTurn {
    const { running } = this;
    if (running && running.target >= target && running.truncations === this.truncations) {
      return running;
    }
    this.next ??= new FlushTurn();
    this.next.target = Math.max(this.next.target, target);
    if (!this.working) {
      this.working = true;
      queueMicrotask(() => void this.work());
    }
    return this.next;
  }

  /** Never rejects. */
  private async work(): Promise<void> {
    while (this.next) {
      const turn = this.next;
      this.next = undefined;
      this.running = turn;
      try {
        await this.options.guard(() => this.flushUntil(turn));
        turn.succeed();
      } catch (error) {
        turn.fail(error);
        if (turn.mustSucceed && hasCode(error, 'DISK_FULL')) this.retryLater(turn.target);
      }
      this.running = undefined;
      // Those who waited for this turn and append at once go with the next one.
      await Promise.resolve();
    }
    this.working = false;
  }

  private retryLater(target: number): void {
    this.retryTimer?.cancel();
    this.retryTimer = this.options.clock.setTimer(COMMIT_RETRY_MS, () => this.commitTo(target));
  }

  private async flushUntil(turn: FlushTurn): Promise<void> {
    do {
      turn.truncations = this.truncations;
      turn.target = Math.min(turn.target, this.segments.active.nextOffset);
      const isThere = this.point >= turn.target && !this.files.directoryDirty;
      if (isThere && this.syncedCuts === this.cuts) return;
      await this.flushOnce(turn.target);
    } while (turn.truncations !== this.truncations);
  }

  private async flushOnce(target: number): Promise<void> {
    const { truncations, cuts, segments } = this;
    await this.options.persistEpochs();
    if (truncations !== this.truncations) return;
    const dirty = segments.within(this.point, target);
    // A cut changes the size of the active segment, also where nothing was appended since.
    const resized = cuts === this.syncedCuts ? [] : [segments.active];
    const unstored = segments.toStore(target);
    const synced = [...new Set([...dirty, ...resized, ...unstored])];
    for (const segment of unstored) segment.persistIndexes();
    await Promise.all([...synced.map((segment) => this.syncSegment(segment)), this.syncGaps()]);
    if (this.files.directoryDirty) await this.syncDirectory();
    if (truncations !== this.truncations) return;
    for (const segment of unstored) segments.stored(segment);
    this.syncedCuts = cuts;
    const reached = Math.min(target, this.announcedCut());
    if (reached <= this.point) return;
    this.point = reached;
    this.options.onRecoveryPoint();
  }

  /** Forgotten when the log grows: nobody cuts it any more. */
  private announcedCut(): number {
    const { announced } = this;
    if (announced && this.segments.active.nextOffset > announced.logEndOffset) {
      this.announced = undefined;
    }
    return this.announced?.offset ?? Infinity;
  }

  private async syncSegment(segment: Segment): Promise<void> {
    const { active } = this.segments;
    const following = segment === active ? undefined : this.segments.after(segment);
    const syncs = [segment.file.datasync()];
    if (following) {
      syncs.push(segment.syncIndexes());
      const { directory } = this.files;
      syncs.push(this.files.syncSideFile(snapshotPath(directory, following.baseOffset)));
    }
    try {
      await Promise.all(syncs);
    } catch (error) {
      // What was removed under us needs no sync any more.
      if (!this.segments.all.includes(segment)) return;
      const failure = failedSync(error);
      this.options.onSyncFailed(failure);
      throw failure;
    }
  }

  private async syncGaps(): Promise<void> {
    try {
      await this.files.syncGaps();
    } catch (error) {
      throw failedSync(error);
    }
  }

  private async syncDirectory(): Promise<void> {
    const { files } = this;
    try {
      await files.resources.syncs.run(() => {
        files.directoryDirty = false;
        return files.disk.syncDirectory(files.directory);
      });
    } catch (error) {
      files.directoryDirty = true;
      throw failedSync(error);
    }
  }
}

/** Also where the device says that it is full: bytes that were taken for written are lost. */
function failedSync(thrown: unknown): TributaryError {
  const error = TributaryError.from(thrown);
  if (error.code !== 'DISK_FULL') return error;
  const { message, details } = error;
  return new TributaryError('STORAGE_ERROR', message, { cause: error, details });
}
