/**
 * One file of a log with its two indexes: `<base offset, 20 digits>.log .index .timeindex`. Invariant: the
 * file holds whole batches with rising offsets from `baseOffset` on, the last one ends at `nextOffset`;
 * an index entry is made for the batch that comes after 4 KiB without one. Called by log, loader and reader.
 */
import type { BatchHeader } from '@tributary/record';
import { scanBatches, type ScannedBatch } from './batch-scan';
import type { Disk, DiskFile } from './disk';
import { OffsetIndex } from './offset-index';
import type { TimestampedOffset } from './partition-log';
import { TimeIndex } from './time-index';

export const INDEX_INTERVAL_BYTES = 4096;
/** Offsets in the indexes are relative and have 31 bits. */
export const SEGMENT_OFFSETS_MAX = 2 ** 31 - 1;

export class Segment {
  readonly file: DiskFile;
  readonly offsetIndex: OffsetIndex;
  readonly timeIndex: TimeIndex;
  /** One past the last offset in it; its base offset when it is empty. */
  nextOffset: number;
  private latest: TimestampedOffset | undefined;
  private unindexedBytes = 0;

  private constructor(
    private readonly disk: Disk,
    directory: string,
    readonly baseOffset: number,
    suffix = '',
  ) {
    const path = `${directory}/${segmentName(baseOffset)}`;
    this.file = disk.openFile(`${path}.log${suffix}`, { create: true });
    this.offsetIndex = new OffsetIndex(disk, `${path}.index${suffix}`, baseOffset);
    this.timeIndex = new TimeIndex(disk, `${path}.timeindex${suffix}`, baseOffset);
    this.nextOffset = baseOffset;
  }

  /**
   * Empty, also when files of that name are left from before.
   * @param suffix of its file names: it is not part of the log yet
   */
  static create(disk: Disk, directory: string, baseOffset: number, suffix = ''): Segment {
    const segment = new Segment(disk, directory, baseOffset, suffix);
    if (segment.file.size > 0) segment.file.truncate(0);
    return segment;
  }

  /** As it lies there; indexes are yet to be loaded or rebuilt. */
  static open(disk: Disk, directory: string, baseOffset: number): Segment {
    return new Segment(disk, directory, baseOffset);
  }

  get size(): number {
    return this.file.size;
  }

  get bytesSinceIndexEntry(): number {
    return this.unindexedBytes;
  }

  /** Largest timestamp and the last offset of the batch that has it. undefined: empty. */
  get maxTimestamp(): TimestampedOffset | undefined {
    return this.latest;
  }

  /** Writes batches whose headers, in order, are `headers`. After an error the file is as before, or the caller hears of a second one. */
  append(batches: Buffer, headers: readonly BatchHeader[]): void {
    const before = this.file.size;
    try {
      this.file.append([batches]);
    } catch (error) {
      this.file.truncate(before);
      throw error;
    }
    let position = before;
    for (const header of headers) {
      this.note(position, header);
      position += header.sizeInBytes;
    }
  }

  /** A batch lies at `position`: the bookkeeping of append, recovery and index rebuild. */
  note(position: number, header: BatchHeader): void {
    this.noteTimestamp(header);
    if (this.unindexedBytes > INDEX_INTERVAL_BYTES) {
      this.offsetIndex.append(header.lastOffset, position);
      if (this.latest) this.timeIndex.append(this.latest.timestamp, this.latest.offset);
      this.unindexedBytes = 0;
    }
    this.unindexedBytes += header.sizeInBytes;
    this.nextOffset = header.lastOffset + 1;
  }

  /** Where to begin looking for the batch that contains `offset`. */
  positionFor(offset: number): number {
    this.ensureIndexes();
    return this.offsetIndex.lookup(offset);
  }

  /** The first batch that reaches to `offset` or beyond. */
  findBatch(offset: number): ScannedBatch | undefined {
    for (const batch of this.scan(this.positionFor(offset))) {
      if (batch.header.lastOffset >= offset) return batch;
    }
    return undefined;
  }

  scan(from = 0): Generator<ScannedBatch> {
    return scanBatches(this.file, from);
  }

  /** Cuts the file at a batch boundary; `nextOffset` is where the log ends then. */
  truncate(position: number, nextOffset: number): void {
    this.ensureIndexes();
    this.file.truncate(position);
    this.offsetIndex.cutFrom(nextOffset);
    this.timeIndex.cutFrom(nextOffset);
    this.nextOffset = nextOffset;
    this.noteTail();
  }

  /** The last time index entry tells the largest timestamp; needed once nothing is appended any more. */
  seal(): void {
    if (this.latest) this.timeIndex.append(this.latest.timestamp, this.latest.offset);
  }

  /** Loads or rebuilds the indexes; false: the file does not end with a whole batch. */
  openIndexes(): boolean {
    if (!this.loadIndexes()) return this.rebuildIndexes();
    return this.noteTail() === this.size;
  }

  /** Back in memory, if they were unloaded. */
  ensureIndexes(): void {
    if (this.offsetIndex.isLoaded && this.timeIndex.isLoaded) return;
    if (!this.loadIndexes()) this.rebuildIndexes();
  }

  unloadIndexes(): void {
    this.offsetIndex.unload();
    this.timeIndex.unload();
  }

  /** Forgets all that `note` has learnt. */
  reset(): void {
    this.offsetIndex.reset();
    this.timeIndex.reset();
    this.nextOffset = this.baseOffset;
    this.latest = undefined;
    this.unindexedBytes = 0;
  }

  persistIndexes(): void {
    this.offsetIndex.persist();
    this.timeIndex.persist();
  }

  async syncIndexes(): Promise<void> {
    await Promise.all([this.offsetIndex.sync(), this.timeIndex.sync()]);
  }

  remove(): void {
    this.file.close();
    for (const path of [this.offsetIndex.path, this.timeIndex.path, this.file.path]) {
      this.disk.remove(path);
    }
  }

  private loadIndexes(): boolean {
    if (!this.offsetIndex.load() || !this.timeIndex.load()) return false;
    if (this.size > 0 && this.offsetIndex.lastPosition >= this.size) return false;
    return this.size > 0 ? this.timeIndex.count > 0 : this.offsetIndex.count === 0;
  }

  private rebuildIndexes(): boolean {
    this.reset();
    let end = 0;
    for (const { position, header } of this.scan()) {
      this.note(position, header);
      end = position + header.sizeInBytes;
    }
    this.seal();
    return end === this.size;
  }

  /** What lies behind the last index entry is learnt from the file. Returns where the last whole batch ends. */
  private noteTail(): number {
    this.latest = this.timeIndex.last;
    let end = this.offsetIndex.lastPosition;
    this.unindexedBytes = 0;
    this.nextOffset = this.baseOffset;
    for (const { position, header } of this.scan(end)) {
      this.noteTimestamp(header);
      this.unindexedBytes += header.sizeInBytes;
      this.nextOffset = header.lastOffset + 1;
      end = position + header.sizeInBytes;
    }
    return end;
  }

  private noteTimestamp(header: BatchHeader): void {
    if (header.recordsCount === 0) return; // emptied by compaction: no record has that timestamp
    if (this.latest && header.maxTimestamp <= this.latest.timestamp) return;
    this.latest = { timestamp: header.maxTimestamp, offset: header.lastOffset };
  }
}

export function segmentName(offset: number): string {
  return String(offset).padStart(20, '0');
}
