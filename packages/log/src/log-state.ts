/**
 * What one open log consists of. The operations on it stand in files of their own (log-append, log-truncation,
 * log-reads, ...), each leaving it whole: files, indexes, epochs and producer states describe the same
 * batches at the end of every call, also of one that failed. Made and owned by Log; nobody else keeps it.
 */
import { hasCode, TributaryError } from '@tributary/common';
import { crc32c } from '@tributary/record';
import { markDamage } from './damage-mark';
import type { Disk } from './disk';
import { EpochFile } from './epoch-file';
import type { EpochEntry, LeaderEpochCache } from './leader-epoch-cache';
import { ActiveAge } from './active-age';
import type { LogFiles } from './log-files';
import { LogFlusher } from './log-flusher';
import { LogHealth } from './log-health';
import type { LoadedLog } from './log-loader';
import type { LogOptions } from './log-options';
import type { LogProducers } from './log-producers';
import type { LogConfig, LogObserver } from './partition-log';
import type { SealTimes } from './seal-times';
import type { SegmentList } from './segment-list';

export class LogState {
  readonly health: LogHealth;
  readonly files: LogFiles;
  readonly segments: SegmentList;
  readonly epochs: LeaderEpochCache;
  readonly epochFile: EpochFile;
  private readonly loadedEnd: number;
  private readonly loadedEpochs: readonly EpochEntry[];
  readonly flusher: LogFlusher;
  readonly producers: LogProducers;
  readonly activeAge: ActiveAge;
  config: LogConfig;
  /** Until then nothing is deleted. */
  configIsKnown: boolean;
  startOffset: number;
  /** In all segments. */
  bytes: number;
  /** Who hears of what happens without a call. */
  observer: LogObserver | undefined;
  /** Compaction has passed everything below it. */
  compactedTo: number;
  /** The pass that is under way; told before the end of the log is cut off. */
  compaction: { cutAt(offset: number): void } | undefined;
  private durableEpochs: readonly EpochEntry[] | undefined;
  /** What the epoch file tells, on the device or not yet. */
  private placedEpochs: readonly EpochEntry[] | undefined;
  /** How often the epoch file was made to tell something else than the log holds, and how often that was put right. */
  private strayed = 0;
  private returned = 0;
  /** What is committed, as far as we were told: nothing at or above it is deleted or compacted. */
  highWatermark = 0;
  readonly sealTimes: SealTimes;

  constructor(
    readonly disk: Disk,
    readonly directory: string,
    readonly options: LogOptions,
    loaded: LoadedLog,
  ) {
    this.files = loaded.files;
    this.health = new LogHealth(options, (error) => {
      if (hasCode(error, 'CORRUPT_LOG')) markDamage(disk, directory, error);
      this.observer?.failed(error);
    });
    this.activeAge = new ActiveAge(options.clock, options.random);
    this.config = options.config;
    this.configIsKnown = !options.configIsGuess;
    this.sealTimes = loaded.sealTimes;
    this.segments = loaded.segments;
    this.epochs = loaded.epochs;
    if (loaded.epochFileStrays) this.epochFileStrays();
    this.producers = loaded.producers;
    this.startOffset = loaded.logStartOffset;
    this.compactedTo = Math.min(options.compactedTo ?? 0, loaded.segments.active.nextOffset);
    this.bytes = loaded.segments.all.reduce((sum, segment) => sum + segment.size, 0);
    this.loadedEnd = this.endOffset;
    this.loadedEpochs = loaded.epochs.entries;
    this.epochFile = new EpochFile(disk, directory);
    this.flusher = new LogFlusher(loaded.files, {
      clock: options.clock,
      segments: this.segments,
      recoveryPoint: loaded.recoveryPoint,
      cutsMayBeUnsynced: options.recover,
      persistEpochs: () => this.persistEpochs(),
      epochsCrc: () => crc32c(Buffer.from(this.epochs.format())),
      onRecoveryPoint: () => {
        options.onCheckpointDue?.();
        this.observer?.durable();
      },
      lowerCheckpoint: options.lowerCheckpoint ?? (() => Promise.resolve()),
      onSyncFailed: (error) => {
        if (!hasCode(error, 'CLOSED')) markDamage(disk, directory, error);
      },
      guard: (turn) => this.flushGuarded(turn),
    });
  }

  /** Closing it has nothing to write: it was closed in order, and nothing happened since that is not on the device. */
  get isUntouched(): boolean {
    const { flusher, epochs, loadedEpochs, endOffset, loadedEnd } = this;
    if (!this.options.isOnDevice || flusher.wasChanged) return false;
    if (endOffset !== loadedEnd || flusher.recoveryPoint < endOffset) return false;
    // An epoch file of its own time is what the seal of the last segment vouches for.
    return epochs.entries === loadedEpochs;
  }

  get name(): string {
    return this.health.name;
  }

  get endOffset(): number {
    return this.segments.active.nextOffset;
  }

  /** Epoch of the last batch; -1: empty. */
  get lastBatchEpoch(): number {
    return this.startOffset === this.endOffset ? -1 : this.epochs.epochOf(this.endOffset - 1);
  }

  get range(): { readonly logStartOffset: number; readonly logEndOffset: number } {
    return { logStartOffset: this.startOffset, logEndOffset: this.endOffset };
  }

  flushTo(target: number): Promise<void> {
    return this.flusher.flushTo(target);
  }

  /** With `flush=sync` what was appended goes to the device now, with all that is appended in the same tick. */
  commit(): void {
    const { endOffset, flusher, config } = this;
    if (config.flush === 'sync' && flusher.recoveryPoint < endOffset) flusher.commitTo(endOffset);
  }

  private async flushGuarded(turn: () => Promise<void>): Promise<void> {
    const { failure } = this.health;
    if (failure) throw failure;
    await this.health.guardAsync('flush', turn);
  }

  /** The cache makes another list at each change, so that nothing is formatted for every commit. */
  async persistEpochs(): Promise<void> {
    if (this.epochs.entries === this.durableEpochs && !this.epochFileStrayed) return;
    await this.files.resources.syncs.run(() => this.writeEpochs());
  }

  /** In the file on return; on the device with the next flush, before anything of the epoch counts as being there. */
  placeEpochs(): void {
    const { entries } = this.epochs;
    if (entries === this.placedEpochs && !this.epochFileStrayed) return;
    this.epochFile.writeNow(this.epochs.format());
    this.files.directoryDirty = true; // so that the next flush has something to do
    this.placedEpochs = entries;
    this.epochFileReturned();
  }

  private async writeEpochs(): Promise<void> {
    const { strayed } = this;
    const { entries } = this.epochs;
    await this.epochFile.write(this.epochs.format());
    this.durableEpochs = this.placedEpochs = entries;
    this.returned = strayed;
  }

  /**
   * A full disk kept away the batches that it was written ahead of, or what was undone of it; or they were lost with the
   * power. It must not stay so: recovery holds what is written in their place against it.
   */
  get epochFileStrayed(): boolean {
    return this.returned < this.strayed;
  }

  /** It is about to tell something else than the log holds. */
  epochFileStrays(): void {
    this.strayed += 1;
  }

  /** The log holds what it tells. */
  epochFileReturned(): void {
    this.returned = this.strayed;
  }

  outOfRange(offset: number, message?: string): TributaryError {
    const { logStartOffset, logEndOffset } = this.range;
    return new TributaryError(
      'OFFSET_OUT_OF_RANGE',
      message ??
        `${this.name}: offset ${offset} is not within ${logStartOffset} to ${logEndOffset}`,
      { details: { offset, logStartOffset, logEndOffset } },
    );
  }
}
