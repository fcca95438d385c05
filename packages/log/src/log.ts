/**
 * One partition's log: see PartitionLog for what it promises. Appends, reads and truncations are synchronous, so
 * none of them ever sees another one half done; what waits for the device is in LogFlusher. Invariant: the
 * files, the indexes, the epochs and the producer states describe the same batches at the end of every
 * call, also of one that failed. Made by the log directory; used by the partition core of the broker.
 */
import { assert, hasCode, TributaryError } from '@tributary/common';
import { assignOffsetAndEpoch, readBatchHeader, type BatchHeader } from '@tributary/record';
import type { Disk } from './disk';
import { DurableTextFile } from './durable-text-file';
import { checkReplicated } from './follower-append';
import { LeaderEpochCache } from './leader-epoch-cache';
import { LogFlusher } from './log-flusher';
import { EPOCH_FILE, loadLog, type LoadedLog } from './log-loader';
import type { LogOptions } from './log-options';
import { LogHealth } from './log-health';
import type { LogProducers } from './log-producers';
import { readNow, readWaiting, type ReadRequest } from './log-reader';
import type {
  EpochEnd,
  LeaderAppend,
  LeaderAppendOptions,
  LogConfig,
  PartitionLog,
  TimestampedOffset,
} from './partition-log';
import { Segment, SEGMENT_OFFSETS_MAX } from './segment';
import type { SegmentList } from './segment-list';
import { firstAtOrAfter, latestBelow } from './timestamp-search';

/** How often an asynchronous read starts again because the log was truncated under it. */
const READ_ATTEMPTS = 5;

export class Log implements PartitionLog {
  readonly topic: string;
  readonly topicId: string;
  readonly partition: number;
  /** Bytes that recovery cut off when it was opened. */
  readonly cutBytes: number;
  private readonly health: LogHealth;
  private readonly segments: SegmentList;
  private readonly epochs: LeaderEpochCache;
  private readonly epochFile: DurableTextFile;
  private readonly flusher: LogFlusher;
  private readonly producers: LogProducers;
  private startOffset: number;
  private config: LogConfig;
  private closing: Promise<void> | undefined;
  private bytes: number;

  private constructor(
    private readonly disk: Disk,
    readonly directory: string,
    private readonly options: LogOptions,
    loaded: LoadedLog,
  ) {
    this.topic = options.topic;
    this.topicId = options.topicId;
    this.partition = options.partition;
    this.health = new LogHealth(options);
    this.config = options.config;
    this.segments = loaded.segments;
    this.epochs = loaded.epochs;
    this.producers = loaded.producers;
    this.startOffset = loaded.logStartOffset;
    this.cutBytes = loaded.cutBytes;
    this.bytes = loaded.segments.all.reduce((sum, segment) => sum + segment.size, 0);
    this.epochFile = new DurableTextFile(disk, `${directory}/${EPOCH_FILE}`);
    this.flusher = new LogFlusher(disk, directory, {
      segments: this.segments,
      recoveryPoint: loaded.recoveryPoint,
      persistEpochs: () => this.epochFile.write(this.epochs.format()),
      onRecoveryPoint: () => this.options.onCheckpointDue?.(),
    });
  }

  /** The directory exists. Recovers when told to; see log-loader. */
  static async open(disk: Disk, directory: string, options: LogOptions): Promise<Log> {
    return new Log(disk, directory, options, await loadLog(disk, directory, options));
  }

  get logStartOffset(): number {
    return this.startOffset;
  }

  get logEndOffset(): number {
    return this.segments.active.nextOffset;
  }

  get latestEpoch(): number {
    return this.epochs.latestEpoch;
  }

  get lastBatchEpoch(): number {
    return this.bytes === 0 ? -1 : this.epochs.epochOf(this.logEndOffset - 1);
  }

  get sizeBytes(): number {
    return this.bytes;
  }

  get failure(): Error | undefined {
    return this.health.failure;
  }

  /** Everything below it is on the device. */
  get recoveryPoint(): number {
    return this.flusher.recoveryPoint;
  }

  configure(config: LogConfig): void {
    this.config = config;
  }

  appendAsLeader(batch: Buffer, options: LeaderAppendOptions): LeaderAppend {
    this.health.check();
    const header = readBatchHeader(batch);
    assert(header.sizeInBytes === batch.length, 'exactly one batch is appended');
    const { leaderEpoch, expectedOffset } = options;
    const first = header.producerId >= 0 ? this.producers.states.check(header) : undefined;
    if (first) {
      return { baseOffset: first.baseOffset, lastOffset: first.lastOffset, duplicate: true };
    }
    const baseOffset = this.logEndOffset;
    if (expectedOffset !== undefined && expectedOffset !== baseOffset) {
      throw new TributaryError(
        'UNEXPECTED_OFFSET',
        `${this.health.name}: offset ${expectedOffset} was expected, the next one is ${baseOffset}`,
        { outcome: 'not written', details: { expectedOffset, logEndOffset: baseOffset } },
      );
    }
    assert(leaderEpoch >= this.latestEpoch, `${this.health.name}: leader epoch went back`);
    assignOffsetAndEpoch(batch, baseOffset, leaderEpoch);
    const lastOffset = baseOffset + header.lastOffsetDelta;
    this.write(batch, [{ ...header, baseOffset, lastOffset, leaderEpoch }]);
    return { baseOffset, lastOffset, duplicate: false };
  }

  appendAsFollower(batches: Buffer): void {
    this.health.check();
    const groups = checkReplicated(batches, {
      name: this.health.name,
      logEndOffset: this.logEndOffset,
      lastBatchEpoch: this.lastBatchEpoch,
      segmentBytes: this.config.segmentBytes,
      activeBytes: this.segments.active.size,
    });
    const before = this.logEndOffset;
    const firstEpoch = groups[0]?.headers[0]?.leaderEpoch ?? this.latestEpoch;
    if (firstEpoch < this.latestEpoch) this.forgetEmptyEpoch();
    const epochs = this.epochs.entries;
    for (const group of groups) {
      try {
        this.write(group.bytes, group.headers);
      } catch (error) {
        // All or nothing: the groups before this one go again, and so do their epochs.
        if (!this.health.failure && this.logEndOffset > before) {
          this.truncateTo(before);
          this.epochs.replace(epochs);
        }
        throw error;
      }
    }
  }

  read(offset: number, maxBytes: number, below: number): Buffer {
    const request = this.readRequest(offset, maxBytes, below);
    if (!request) return Buffer.alloc(0);
    return this.health.guard('read', () => readNow(this.segments, request));
  }

  async readAsync(offset: number, maxBytes: number, below: number): Promise<Buffer> {
    for (let attempt = 0; attempt < READ_ATTEMPTS; attempt += 1) {
      const request = this.readRequest(offset, maxBytes, below);
      if (!request) return Buffer.alloc(0);
      const { truncations } = this.flusher;
      const stillValid = (): boolean => truncations === this.flusher.truncations;
      const batches = await this.health.guardAsync('read', async () => {
        try {
          return await readWaiting(this.segments, request, stillValid);
        } catch (error) {
          // A segment that a truncation closed is no failure: what is left is read again.
          if (stillValid() || !hasCode(error, 'CLOSED')) throw error;
          return undefined;
        }
      });
      if (batches) return batches;
    }
    throw new TributaryError('STORAGE_ERROR', `${this.health.name} is truncated again and again`);
  }

  async assignEpoch(epoch: number): Promise<void> {
    this.health.check();
    if (epoch > this.latestEpoch) this.epochs.assign(epoch, this.logEndOffset);
    await this.health.guardAsync('write the leader epochs', () =>
      this.epochFile.write(this.epochs.format()),
    );
  }

  epochEnd(epoch: number): EpochEnd | undefined {
    return this.epochs.endOf(epoch, this.logEndOffset);
  }

  truncateTo(offset: number): void {
    this.health.check();
    if (offset < this.startOffset) return this.restartAt(offset);
    this.health.guard('truncate', () => {
      this.flusher.truncations += 1;
      if (offset < this.logEndOffset) this.cutSegments(offset);
      // Also when nothing was cut: an empty epoch at the very end must go (KAFKA-10706).
      const end = Math.min(offset, this.logEndOffset);
      if (this.epochs.cutFrom(end)) this.epochFile.writeNow(this.epochs.format());
      this.producers.truncate(this);
      this.flusher.lowerRecoveryPoint(end);
    });
  }

  restartAt(offset: number): void {
    this.health.check();
    this.health.guard('truncate', () => {
      this.flusher.truncations += 1;
      this.segments.replaceAll(() => Segment.create(this.disk, this.directory, offset));
      this.flusher.directoryChanged();
      this.bytes = 0;
      this.startOffset = offset;
      this.epochs.replace([]);
      this.epochFile.writeNow(this.epochs.format());
      this.producers.clear();
      this.flusher.lowerRecoveryPoint(offset);
      this.options.onCheckpointDue?.();
    });
  }

  offsetForTimestamp(timestamp: number, below: number): TimestampedOffset | undefined {
    this.health.check();
    return this.health.guard('read', () =>
      firstAtOrAfter(this.segments, timestamp, this.startOffset, below),
    );
  }

  maxTimestamp(below: number): TimestampedOffset | undefined {
    this.health.check();
    return this.health.guard('read', () => latestBelow(this.segments, below));
  }

  async flush(): Promise<void> {
    this.health.check();
    await this.flushTo(this.logEndOffset);
  }

  close(): Promise<void> {
    this.closing ??= this.flushAndClose();
    return this.closing;
  }

  private write(batches: Buffer, headers: readonly BatchHeader[]): void {
    const last = headers.at(-1) as BatchHeader;
    try {
      this.health.guard('append', () => {
        this.rollFor(batches.length, last.lastOffset);
        this.segments.active.append(batches, headers);
      });
    } catch (error) {
      const outcome = hasCode(error, 'DISK_FULL') ? 'not written' : 'maybe written';
      throw TributaryError.from(error).withOutcome(outcome);
    }
    this.bytes += batches.length;
    for (const header of headers) {
      if (header.leaderEpoch > this.latestEpoch) {
        this.epochs.assign(header.leaderEpoch, header.baseOffset);
      }
      this.producers.states.record(header);
    }
  }

  /** It was led here, and nobody followed: what comes is older, and would seem to be of that epoch. */
  private forgetEmptyEpoch(): void {
    const kept = new LeaderEpochCache(this.epochs.entries);
    kept.cutFrom(this.logEndOffset);
    this.health.guard('append', () => this.epochFile.writeNow(kept.format()));
    this.epochs.replace(kept.entries);
  }

  /** Begins another segment when these bytes would make the active one too large. */
  private rollFor(bytes: number, lastOffset: number): void {
    const { active } = this.segments;
    if (active.size === 0) return;
    const fits = active.size + bytes <= this.config.segmentBytes;
    if (fits && lastOffset - active.baseOffset <= SEGMENT_OFFSETS_MAX) return;
    const baseOffset = this.logEndOffset;
    this.producers.snapshot(baseOffset);
    const next = Segment.create(this.disk, this.directory, baseOffset);
    active.seal();
    this.segments.add(next);
    this.flusher.directoryChanged();
    // In the background: a full disk only means that the recovery point stays where it is.
    this.flushTo(baseOffset).catch((error: unknown) => {
      const { topic, partition } = this;
      this.options.logger.debug('flush after a roll failed', { topic, partition, error });
    });
  }

  private cutSegments(offset: number): void {
    for (const segment of this.segments.removeFrom(offset)) {
      this.bytes -= segment.size;
      segment.remove();
    }
    const { active } = this.segments;
    const first = active.findBatch(offset);
    if (first) {
      this.bytes -= active.size - first.position;
      active.truncate(first.position, first.header.baseOffset);
    }
    this.flusher.directoryChanged();
  }

  /** undefined: there is nothing to read. */
  private readRequest(offset: number, maxBytes: number, below: number): ReadRequest | undefined {
    this.health.check();
    const { logStartOffset, logEndOffset } = this;
    if (offset < logStartOffset || offset > logEndOffset) {
      throw new TributaryError(
        'OFFSET_OUT_OF_RANGE',
        `${this.health.name}: offset ${offset} is not within ${logStartOffset} to ${logEndOffset}`,
        { details: { offset, logStartOffset, logEndOffset } },
      );
    }
    return offset < Math.min(below, logEndOffset) ? { offset, maxBytes, below } : undefined;
  }

  private flushTo(target: number): Promise<void> {
    return this.health.guardAsync('flush', () => this.flusher.flushTo(target));
  }

  private async flushAndClose(): Promise<void> {
    this.health.close();
    try {
      if (this.health.failure) return;
      await this.health.guardAsync('close', async () => {
        this.segments.active.seal();
        this.producers.snapshot(this.logEndOffset);
        await this.flusher.flushAll();
      });
    } finally {
      for (const segment of this.segments.all) segment.file.close();
    }
  }
}
