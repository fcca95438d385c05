/**
 * One partition's log: see PartitionLog for what it promises. Appends, reads and truncations are synchronous, so
 * none of them ever sees another one half done; what waits for the device is in LogFlusher. Holds the
 * state; what is done to it stands in the files it calls. Made by the log directory; used by the
 * partition core of the broker.
 */
import { TributaryError } from '@tributary/common';
import type { Disk } from './disk';
import { LogCompaction } from './compaction/log-compaction';
import { appendAsFollower, appendAsLeader } from './log-append';
import { loadLog, type LoadedLog } from './log-loader';
import type { LogOptions } from './log-options';
import { deleteRecordsBefore } from './log-start';
import { LogUpkeep } from './log-upkeep';
import { batchStart, readLog, readLogAsync } from './log-reads';
import { LogState } from './log-state';
import { endAfterCut, restartLog, truncateLog } from './log-truncation';
import type {
  EpochEnd,
  LeaderAppend,
  LeaderAppendOptions,
  LogConfig,
  LogObserver,
  PartitionLog,
  TimestampedOffset,
} from './partition-log';
import { firstAtOrAfter, latestBelow } from './timestamp-search';

export class Log implements PartitionLog {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** Bytes that recovery cut off when it was opened. */
  readonly cutBytes: number;
  /** For log maintenance. */
  readonly upkeep: LogUpkeep;
  /** For the compactor. */
  readonly compaction: LogCompaction;
  private readonly state: LogState;
  private closing: Promise<void> | undefined;

  private constructor(disk: Disk, directory: string, options: LogOptions, loaded: LoadedLog) {
    this.topic = options.topic;
    this.topicId = options.topicId;
    this.partition = options.partition;
    this.cutBytes = loaded.cutBytes;
    this.state = new LogState(disk, directory, options, loaded);
    this.upkeep = new LogUpkeep(this.state);
    this.compaction = new LogCompaction(this.state);
  }

  /** The directory exists. Recovers when told to; see log-loader. */
  static async open(disk: Disk, directory: string, options: LogOptions): Promise<Log> {
    const log = new Log(disk, directory, options, await loadLog(disk, directory, options));
    log.state.commit();
    return log;
  }

  get directory(): string {
    return this.state.directory;
  }

  get logStartOffset(): number {
    return this.state.startOffset;
  }

  get logEndOffset(): number {
    return this.state.endOffset;
  }

  get latestEpoch(): number {
    return this.state.epochs.latestEpoch;
  }

  get lastBatchEpoch(): number {
    return this.state.lastBatchEpoch;
  }

  get sizeBytes(): number {
    return this.state.bytes;
  }

  bytesFrom(offset: number): number {
    return this.state.segments.bytesFrom(offset);
  }

  get failure(): Error | undefined {
    return this.state.health.failure;
  }

  get durableEndOffset(): number {
    return this.recoveryPoint;
  }

  /** Everything below it is on the device. */
  get recoveryPoint(): number {
    return this.state.flusher.recoveryPoint;
  }

  /** All of its directory failed. */
  fail(error: TributaryError): void {
    this.state.health.fail(error);
  }

  configure(config: LogConfig): void {
    this.state.config = config;
    this.state.configIsKnown = true;
    this.state.commit();
  }

  noteHighWatermark(offset: number): void {
    this.state.highWatermark = Math.min(offset, this.logEndOffset);
  }

  appendAsLeader(batch: Buffer, options: LeaderAppendOptions): LeaderAppend {
    this.state.health.check();
    const appended = appendAsLeader(this.state, batch, options);
    this.state.commit();
    return appended;
  }

  appendAsFollower(batches: Buffer): void {
    this.state.health.check();
    appendAsFollower(this.state, batches);
    this.state.commit();
  }

  read(offset: number, maxBytes: number, below: number): Buffer {
    this.state.health.check();
    return readLog(this.state, { offset, maxBytes, below });
  }

  async readAsync(offset: number, maxBytes: number, below: number): Promise<Buffer> {
    return readLogAsync(this.state, { offset, maxBytes, below });
  }

  batchStart(offset: number): number {
    this.state.health.check();
    return batchStart(this.state, offset);
  }

  async assignEpoch(epoch: number): Promise<void> {
    const { health, epochs } = this.state;
    health.check();
    if (epoch > epochs.latestEpoch) epochs.assign(epoch, this.logEndOffset);
    await health.guardAsync('write the leader epochs', () => {
      this.state.placeEpochs();
      return Promise.resolve();
    });
  }

  epochEnd(epoch: number): EpochEnd | undefined {
    return this.state.epochs.endOf(epoch, this.logEndOffset);
  }

  truncateTo(offset: number): void {
    this.state.health.check();
    truncateLog(this.state, offset);
    this.state.commit();
  }

  restartAt(offset: number): void {
    this.state.health.check();
    restartLog(this.state, offset);
    this.state.commit();
  }

  deleteRecordsBefore(offset: number): void {
    this.state.health.check();
    deleteRecordsBefore(this.state, offset);
  }

  async storeLogStart(): Promise<void> {
    const { health, options } = this.state;
    health.check();
    await options.lowerCheckpoint?.();
  }

  offsetForTimestamp(timestamp: number, below: number): TimestampedOffset | undefined {
    const { health, segments, startOffset } = this.state;
    health.check();
    return health.guard('read', () => firstAtOrAfter(segments, timestamp, startOffset, below));
  }

  maxTimestamp(below: number): TimestampedOffset | undefined {
    const { health, segments, startOffset } = this.state;
    health.check();
    return health.guard('read', () => latestBelow(segments, startOffset, below));
  }

  flush(): Promise<void> {
    try {
      this.state.health.check();
    } catch (error) {
      return Promise.reject(TributaryError.from(error));
    }
    return this.state.flushTo(this.logEndOffset);
  }

  observe(observer: LogObserver): void {
    this.state.observer = observer;
  }

  prepareCut(offset: number): Promise<void> | undefined {
    try {
      return this.state.flusher.prepareCut(endAfterCut(this.state, offset));
    } catch (error) {
      return Promise.reject(TributaryError.from(error));
    }
  }

  withdrawCut(): void {
    this.state.flusher.withdrawCut();
    this.state.commit();
  }

  get cutsAreSettled(): boolean {
    return this.state.flusher.isSettled;
  }

  settleCuts(): Promise<void> {
    return this.state.flusher.settle();
  }

  close(): Promise<void> {
    this.closing ??= this.flushAndClose();
    return this.closing;
  }

  /** Closes without bringing anything to the device: its files are about to be deleted. Idempotent, as is `close`. */
  discard(): Promise<void> {
    this.closing ??= this.closeUnflushed();
    return this.closing;
  }

  private async closeUnflushed(): Promise<void> {
    const { health, segments, flusher } = this.state;
    health.close();
    await flusher.stop();
    for (const segment of segments.all) segment.close();
  }

  private async flushAndClose(): Promise<void> {
    const { health, segments, producers, flusher } = this.state;
    health.close();
    try {
      if (health.failure || this.state.isUntouched) return;
      await health.guardAsync('close', async () => {
        segments.active.finish();
        producers.snapshot(this.logEndOffset);
        await flusher.flushAll();
      });
    } finally {
      for (const segment of segments.all) segment.close();
    }
  }
}
