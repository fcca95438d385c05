/**
 * An obvious PartitionLog in memory: a list of batches. For tests of the broker's core that want nothing of files; it can be
 * told to fail as a disk would. Invariant: what is read is what was appended, byte for byte.
 */
import { TributaryError, type ErrorCode } from '@tributary/common';
import type {
  EpochEnd,
  LeaderAppend,
  LeaderAppendOptions,
  LogConfig,
  LogObserver,
  LostRange,
  PartitionLog,
  RepairOptions,
  TimestampedOffset,
} from '@tributary/log';
import { gapBatches } from '@tributary/log';
import { assignOffsetAndEpoch, checkCrc, readBatchHeader, splitBatches } from '@tributary/record';

interface StoredBatch {
  readonly baseOffset: number;
  readonly lastOffset: number;
  readonly epoch: number;
  readonly bytes: Buffer;
}

interface LastBatch {
  readonly sequence: number;
  readonly count: number;
  readonly baseOffset: number;
}

export class MemoryLog implements PartitionLog {
  logStartOffset = 0;
  failure: Error | undefined;
  /** The next append throws this. */
  failNextAppend: ErrorCode | undefined;
  /** Resolves asynchronous work; tests replace it to hold things up. */
  beforeAssignEpoch: () => Promise<void> = () => Promise.resolve();
  private observer: LogObserver | undefined;
  private cutsSettled = true;
  private settlingCuts: Promise<void> = Promise.resolve();
  /** undefined: everything that is appended. */
  private durableEnd: number | undefined;
  private batches: StoredBatch[] = [];
  private readonly damaged = new Set<StoredBatch>();
  private epochs: { readonly epoch: number; readonly startOffset: number }[] = [];
  private producers = new Map<number, LastBatch[]>();

  constructor(
    readonly topic: string,
    readonly topicId: string,
    readonly partition: number,
  ) {}

  get logEndOffset(): number {
    const last = this.batches[this.batches.length - 1];
    return last ? last.lastOffset + 1 : this.logStartOffset;
  }

  get latestEpoch(): number {
    return this.epochs[this.epochs.length - 1]?.epoch ?? -1;
  }

  get lastBatchEpoch(): number {
    return this.batches[this.batches.length - 1]?.epoch ?? -1;
  }

  get sizeBytes(): number {
    return this.batches.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  bytesFrom(offset: number): number {
    const behind = this.batches.filter(({ lastOffset }) => lastOffset >= offset);
    return behind.reduce((sum, { bytes }) => sum + bytes.length, 0);
  }

  /** All bytes, one after another: two logs are equal if these are. */
  get content(): Buffer {
    return Buffer.concat(this.batches.map(({ bytes }) => bytes));
  }

  /** A byte of the batch that holds `offset` is flipped on the disk: whoever reads it finds out. */
  damage(offset: number): void {
    const batch = this.batches.find((one) => one.lastOffset >= offset);
    if (batch) this.damaged.add(batch);
  }

  /** As the repair of a real log: batches without records take the place of what is damaged. */
  repairInto(
    other: MemoryLog,
    { epoch, stamped }: Pick<RepairOptions, 'epoch' | 'stamped'>,
  ): LostRange[] {
    const lost: LostRange[] = [];
    for (const batch of this.batches) {
      const { baseOffset: fromOffset, lastOffset, bytes } = batch;
      const gap = { fromOffset, toOffset: lastOffset + 1 };
      const isLost = this.damaged.has(batch);
      if (isLost) lost.push({ ...gap, path: '/memory', position: 0, bytes: bytes.length });
      const copy = isLost ? gapBatches(gap, batch.epoch) : Buffer.from(bytes);
      if (stamped && lost.length > 0) assignOffsetAndEpoch(copy, fromOffset, epoch);
      other.store(copy);
    }
    other.logStartOffset = this.logStartOffset;
    if (!stamped || lost.length === 0) other.epochs = [...this.epochs];
    return lost;
  }

  get durableEndOffset(): number {
    return Math.min(this.durableEnd ?? Infinity, this.logEndOffset);
  }

  /** What is appended from now on is not on the device before the test says so. */
  holdSyncs(): void {
    this.durableEnd ??= this.logEndOffset;
  }

  /** The device has everything below `offset`. */
  syncTo(offset: number): void {
    this.durableEnd = offset;
    this.observer?.durable();
  }

  /** As a failed background sync. */
  fail(error: Error): void {
    this.failure = error;
    this.observer?.failed(error);
  }

  observe(observer: LogObserver): void {
    this.observer = observer;
  }

  configure(_config: LogConfig): void {}

  noteHighWatermark(_offset: number): void {}

  deleteRecordsBefore(offset: number): void {
    this.batches = this.batches.filter(({ lastOffset }) => lastOffset >= offset);
    this.logStartOffset = Math.max(this.logStartOffset, offset);
  }

  appendAsLeader(batch: Buffer, options: LeaderAppendOptions): LeaderAppend {
    this.check();
    const header = readBatchHeader(batch);
    const { producerId, baseSequence, recordsCount } = header;
    const earlier = this.producers
      .get(producerId)
      ?.find((one) => one.sequence === baseSequence && one.count === recordsCount);
    if (producerId >= 0 && earlier) {
      const { baseOffset } = earlier;
      return { baseOffset, lastOffset: baseOffset + recordsCount - 1, duplicate: true };
    }
    const baseOffset = this.logEndOffset;
    if (options.expectedOffset !== undefined && options.expectedOffset !== baseOffset) {
      throw new TributaryError('UNEXPECTED_OFFSET', `the log ends at ${baseOffset}`);
    }
    assignOffsetAndEpoch(batch, baseOffset, options.leaderEpoch);
    this.store(Buffer.from(batch));
    this.synced();
    return { baseOffset, lastOffset: baseOffset + recordsCount - 1, duplicate: false };
  }

  appendAsFollower(batches: Buffer): void {
    this.check();
    const split = splitBatches(batches);
    let end = this.logEndOffset;
    for (const batch of split) {
      const { baseOffset, lastOffset } = readBatchHeader(batch);
      if (!checkCrc(batch)) throw new TributaryError('CORRUPT_BATCH', 'CRC mismatch');
      if (baseOffset < end) {
        throw new TributaryError('INVALID_BATCH', `${baseOffset} is below the end ${end}`);
      }
      end = lastOffset + 1;
    }
    for (const batch of split) this.store(Buffer.from(batch));
    this.synced();
  }

  /** Unless the syncs are held. */
  private synced(): void {
    if (this.durableEnd === undefined) this.observer?.durable();
  }

  private check(): void {
    if (this.failure) throw new TributaryError('STORAGE_ERROR', this.failure.message);
    const code = this.failNextAppend;
    if (!code) return;
    this.failNextAppend = undefined;
    const outcome = code === 'STORAGE_ERROR' ? 'maybe written' : 'not written';
    const error = new TributaryError(code, 'the disk was told to fail', { outcome });
    if (code === 'STORAGE_ERROR') this.failure = error;
    throw error;
  }

  private store(bytes: Buffer): void {
    const { baseOffset, lastOffset, leaderEpoch, producerId, baseSequence, recordsCount } =
      readBatchHeader(bytes);
    if (leaderEpoch !== this.lastBatchEpoch) this.addEpoch(leaderEpoch, baseOffset);
    this.batches.push({ baseOffset, lastOffset, epoch: leaderEpoch, bytes });
    if (producerId < 0) return;
    const recent = this.producers.get(producerId) ?? [];
    recent.push({ sequence: baseSequence, count: recordsCount, baseOffset });
    this.producers.set(producerId, recent.slice(-5));
  }

  private addEpoch(epoch: number, startOffset: number): void {
    this.epochs = this.epochs.filter((one) => one.epoch < epoch && one.startOffset < startOffset);
    this.epochs.push({ epoch, startOffset });
  }

  read(offset: number, maxBytes: number, below: number): Buffer {
    if (this.failure) throw new TributaryError('STORAGE_ERROR', this.failure.message);
    if (offset < this.logStartOffset || offset > this.logEndOffset) {
      throw new TributaryError('OFFSET_OUT_OF_RANGE', `offset ${offset}`);
    }
    const found: Buffer[] = [];
    let bytes = 0;
    for (const batch of this.batches) {
      if (batch.lastOffset < offset) continue;
      const full = found.length > 0 && bytes + batch.bytes.length > maxBytes;
      if (batch.lastOffset >= below || full) break;
      if (this.damaged.has(batch)) throw this.damageFound(batch);
      found.push(batch.bytes);
      bytes += batch.bytes.length;
    }
    return Buffer.concat(found);
  }

  batchStart(offset: number): number {
    const bytes = this.read(offset, 0, this.logEndOffset);
    return bytes.length === 0 ? offset : Math.min(offset, readBatchHeader(bytes).baseOffset);
  }

  private damageFound({ baseOffset }: StoredBatch): Error {
    const message = `the batch at offset ${baseOffset} fails its CRC`;
    this.failure = new TributaryError('CORRUPT_LOG', message);
    return this.failure;
  }

  async readAsync(offset: number, maxBytes: number, below: number): Promise<Buffer> {
    return this.read(offset, maxBytes, below);
  }

  async assignEpoch(epoch: number): Promise<void> {
    await this.beforeAssignEpoch();
    if (epoch > this.latestEpoch) this.addEpoch(epoch, this.logEndOffset);
  }

  epochEnd(epoch: number): EpochEnd | undefined {
    const at = this.epochs.findLastIndex((one) => one.epoch <= epoch);
    const entry = this.epochs[at];
    if (!entry) return undefined;
    const endOffset = this.epochs[at + 1]?.startOffset ?? this.logEndOffset;
    return { epoch: entry.epoch, endOffset };
  }

  truncateTo(offset: number): void {
    this.batches = this.batches.filter(({ lastOffset }) => lastOffset < offset);
    this.epochs = this.epochs.filter(({ startOffset }) => startOffset < offset);
    this.forgetProducersFrom(offset);
  }

  restartAt(offset: number): void {
    this.batches = [];
    this.epochs = [];
    this.producers.clear();
    this.logStartOffset = offset;
  }

  withdrawCut(): void {
    // Nothing is announced.
  }

  prepareCut(): undefined {
    return undefined;
  }

  get cutsAreSettled(): boolean {
    return this.cutsSettled;
  }

  /** From now on the next `settleCuts` hangs until the test says so. */
  holdCuts(): () => void {
    this.cutsSettled = false;
    let release: () => void = () => undefined;
    this.settlingCuts = new Promise((resolve) => (release = resolve));
    return () => {
      this.cutsSettled = true;
      release();
    };
  }

  settleCuts(): Promise<void> {
    return this.settlingCuts;
  }

  private forgetProducersFrom(offset: number): void {
    for (const [producerId, recent] of this.producers) {
      const kept = recent.filter(({ baseOffset }) => baseOffset < offset);
      this.producers.set(producerId, kept);
    }
  }

  storeLogStart(): Promise<void> {
    return Promise.resolve();
  }

  offsetForTimestamp(timestamp: number, below: number): TimestampedOffset | undefined {
    for (const { baseOffset, lastOffset, bytes } of this.batches) {
      const { maxTimestamp } = readBatchHeader(bytes);
      if (lastOffset < below && maxTimestamp >= timestamp) {
        return { offset: baseOffset, timestamp: maxTimestamp };
      }
    }
    return undefined;
  }

  maxTimestamp(below: number): TimestampedOffset | undefined {
    let found: TimestampedOffset | undefined;
    for (const { baseOffset, lastOffset, bytes } of this.batches) {
      const { maxTimestamp } = readBatchHeader(bytes);
      if (lastOffset < below && maxTimestamp > (found?.timestamp ?? -1)) {
        found = { offset: baseOffset, timestamp: maxTimestamp };
      }
    }
    return found;
  }

  flush(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
