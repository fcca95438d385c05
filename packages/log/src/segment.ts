/**
 * One file of a log with what lies beside it: `<base offset, 20 digits>.log .index .timeindex .seal`. Invariant: the
 * file holds whole batches with rising offsets from `baseOffset` on, the last one ends at `nextOffset`; an index
 * entry and an interval of the seal begin with the batch that comes after 4 KiB without one. What is read from
 * it is checked against both. Called by log, loader and reader.
 */
import { TributaryError } from '@tributary/common';
import type { BatchHeader } from '@tributary/record';
import { scanBatches, type ScannedBatch } from './batch-scan';
import type { PooledFile } from './file-pool';
import type { IntervalIndex } from './interval-index';
import type { LogFiles } from './log-files';
import type { OffsetIndex } from './offset-index';
import type { TimestampedOffset } from './partition-log';
import { rebuildSegment } from './segment-rebuild';
import { SegmentIndexes, type SealFacts } from './segment-indexes';
import type { SealHead } from './segment-seal';
import type { TimeIndex } from './time-index';

export { SEGMENT_OFFSETS_MAX } from './segment-seal';

export class Segment {
  readonly file: PooledFile;
  readonly indexes: SegmentIndexes;
  /** One past the last offset in it; its base offset when it is empty. */
  nextOffset: number;
  /** Wall time after which nothing was written to it; undefined: it is not sealed. */
  sealedAt: number | undefined;
  /** Wall time of this broker at the first append, as far as it is known. undefined: empty. */
  firstAppendAt: number | undefined;
  /** Base timestamp of the first batch. undefined: empty. */
  firstTimestamp: number | undefined;
  private latest: TimestampedOffset | undefined;

  private constructor(
    private readonly files: LogFiles,
    readonly baseOffset: number,
    /** Of its file names: it is not part of the log yet. */
    private suffix: string,
    open: (path: string) => PooledFile,
  ) {
    this.file = open(this.path('log'));
    this.indexes = new SegmentIndexes(files, baseOffset, (extension) => this.path(extension));
    this.nextOffset = baseOffset;
  }

  /** Empty, also when files of that name are left from before. */
  static create(files: LogFiles, baseOffset: number, suffix = ''): Segment {
    const open = (path: string): PooledFile => files.resources.files.create(path);
    const segment = new Segment(files, baseOffset, suffix, open);
    segment.indexes.removeSeal();
    segment.reset();
    return segment;
  }

  /** As it lies there; it must be trusted, or verified, before it is used. */
  static open(files: LogFiles, baseOffset: number, suffix = ''): Segment {
    const open = (path: string): PooledFile => files.resources.files.file(path);
    return new Segment(files, baseOffset, suffix, open);
  }

  get size(): number {
    return this.file.size;
  }

  /** Largest timestamp and the last offset of the batch that has it. undefined: empty. */
  get maxTimestamp(): TimestampedOffset | undefined {
    return this.latest;
  }

  /** Where to read, and the sums of what must be found there. */
  get intervals(): IntervalIndex {
    this.load();
    return this.indexes.intervals;
  }

  get offsetIndex(): OffsetIndex {
    this.load();
    return this.indexes.offsets;
  }

  get timeIndex(): TimeIndex {
    this.load();
    return this.indexes.times;
  }

  /** Of the larger index, loaded or not. */
  get indexBytes(): number {
    const { offsets, times } = this.indexes;
    return Math.max(offsets.byteLength, times.byteLength);
  }

  get bytesSinceIndexEntry(): number {
    this.load();
    return this.size - this.indexes.lastEntryPosition;
  }

  get indexBytesInMemory(): number {
    return this.indexes.memoryBytes;
  }

  /** Writes batches whose headers, in order, are `headers`. After an error the file is as before, or the caller hears of a second one. */
  append(batches: Buffer, headers: readonly BatchHeader[]): void {
    this.load();
    this.indexes.removeSeal();
    this.noteGaps(headers);
    const before = this.file.size;
    try {
      this.file.append([batches]);
    } catch (error) {
      this.takeBack(before);
      throw error;
    }
    if (before === 0) this.firstAppendAt = this.files.now();
    let position = before;
    for (const header of headers) {
      this.note(position, header, batches, position - before);
      position += header.sizeInBytes;
    }
    this.files.resources.indexes.used(this);
  }

  /** A batch lies at `position`, and in `bytes` at `at`: the bookkeeping of append, recovery and rebuild. */
  note(position: number, header: BatchHeader, bytes: Buffer, at: number): void {
    if (position === 0) this.firstTimestamp = header.baseTimestamp;
    this.noteTimestamp(header);
    this.indexes.note({ position, header }, { bytes, at }, this.latest);
    this.nextOffset = header.lastOffset + 1;
  }

  /** The first batch that reaches to `offset` or beyond. Throws CORRUPT_LOG, as all that reads. */
  findBatch(offset: number): ScannedBatch | undefined {
    for (const batch of this.scan(offset)) {
      if (batch.header.lastOffset >= offset) return batch;
    }
    return undefined;
  }

  /** Checked batches, from a little before `offset` on. */
  scan(offset = this.baseOffset): Generator<ScannedBatch> {
    const { intervals, size } = this;
    return scanBatches(this.file, { intervals, size, path: this.file.path }, offset);
  }

  /** Cuts the file at a batch boundary. */
  truncate(position: number): void {
    const kept = this.lastInterval(position);
    this.indexes.removeSeal();
    this.file.truncate(position);
    this.sealedAt = undefined;
    if (position === 0) return this.reset();
    this.indexes.cutBefore(position);
    this.latest = this.indexes.times.last;
    for (const batch of kept) this.note(batch.position, batch.header, batch.bytes, 0);
  }

  /** Nothing is appended any more: the last time index entry tells the largest timestamp. */
  finish(): void {
    if (!this.latest || !this.indexes.isLoaded) return; // what was unloaded is finished
    this.indexes.times.append(this.latest.timestamp, this.latest.offset);
  }

  /** Finished, for good. */
  seal(sealedAt = this.files.now()): void {
    this.finish();
    this.sealedAt = sealedAt;
  }

  /** Takes over what the seal says, without reading the file. undefined: none is there that fits, so it must be verified. */
  trust(): SealHead | undefined {
    const head = this.indexes.readHead();
    if (!head || !this.fits(head)) return undefined;
    this.indexes.adopt(head);
    this.nextOffset = head.nextOffset;
    this.latest = head.maxTimestamp;
    this.firstTimestamp = head.firstTimestamp;
    this.firstAppendAt = head.firstAppendAt;
    this.sealedAt = head.sealedAt;
    return head;
  }

  /** Brings into memory what lies beside the file, or makes it anew. Throws CORRUPT_LOG. */
  load(): void {
    if (this.indexes.isLoaded) return;
    const seal = this.indexes.readSeal();
    const fitting = seal && this.fits(seal) ? seal : undefined;
    if (!fitting || !this.indexes.load(fitting)) rebuildSegment(this, this.files, fitting);
    this.files.resources.indexes.used(this);
  }

  /** It is read, or about to be. */
  used(): void {
    this.load();
    this.files.resources.indexes.used(this);
  }

  /** Frees the memory, if the files have it all. */
  unloadIndexes(): void {
    this.indexes.unload(this.size);
    if (!this.indexes.isLoaded) this.files.resources.indexes.dropped(this);
  }

  /** Forgets all that `note` has learnt. */
  reset(): void {
    this.indexes.reset();
    this.nextOffset = this.baseOffset;
    this.latest = this.firstTimestamp = undefined;
    if (this.size === 0) this.firstAppendAt = undefined;
  }

  /**
   * Brings the files beside the log up to date. Throws DISK_FULL or STORAGE_ERROR.
   * @param epochsCrc of the epoch file, when it is not written any more either
   */
  persistIndexes(epochsCrc = 0): void {
    const facts = this.facts(epochsCrc);
    if (this.indexes.isStored(facts, this.sealedAt !== undefined)) return;
    this.load();
    this.indexes.persist(facts);
  }

  async syncIndexes(): Promise<void> {
    await this.indexes.sync();
  }

  /** All its files get this suffix. */
  rename(suffix: string): void {
    this.suffix = suffix;
    this.file.rename(this.path('log'));
    this.indexes.rename((extension) => this.path(extension));
    this.files.directoryDirty = true;
  }

  close(): void {
    this.file.close();
    this.files.resources.indexes.dropped(this);
  }

  remove(): void {
    this.close();
    for (const path of [...this.indexes.paths, this.file.path]) this.files.disk.remove(path);
    this.files.directoryDirty = true;
  }

  private path(extension: string): string {
    return `${this.files.directory}/${segmentName(this.baseOffset)}.${extension}${this.suffix}`;
  }

  private fits(head: SealHead): boolean {
    return head.baseOffset === this.baseOffset && head.logBytes === this.size;
  }

  private facts(epochsCrc: number): SealFacts {
    const { nextOffset, firstAppendAt, firstTimestamp, latest: maxTimestamp } = this;
    const sealedAt = this.sealedAt ?? this.files.now();
    const logBytes = this.size;
    return {
      nextOffset, logBytes, epochsCrc, sealedAt, firstAppendAt, firstTimestamp, maxTimestamp,
    }; // prettier-ignore
  }

  private noteTimestamp(header: BatchHeader): void {
    if (header.recordsCount === 0) return; // emptied by compaction: no record has that timestamp
    if (this.latest && header.maxTimestamp <= this.latest.timestamp) return;
    this.latest = { timestamp: header.maxTimestamp, offset: header.lastOffset };
  }

  private noteGaps(headers: readonly BatchHeader[]): void {
    let { nextOffset } = this;
    let highest: number | undefined;
    for (const { baseOffset, lastOffset } of headers) {
      if (baseOffset > nextOffset) highest = baseOffset;
      nextOffset = lastOffset + 1;
    }
    if (highest !== undefined) this.files.noteGap(highest);
  }

  /** Also where the file system has no room to make a file shorter: a half batch within the log is no full disk. */
  private takeBack(size: number): void {
    try {
      this.file.truncate(size);
    } catch (thrown) {
      const { message, details } = TributaryError.from(thrown);
      throw new TributaryError('STORAGE_ERROR', message, { cause: thrown, details });
    }
  }

  /** Its checked batches below `position`, which lies in it or at its end. */
  private lastInterval(position: number): ScannedBatch[] {
    const { intervals } = this;
    const batches: ScannedBatch[] = [];
    if (position === 0) return batches;
    for (const batch of this.scan(intervals.firstOffset(intervals.at(position - 1)))) {
      if (batch.position >= position) break;
      batches.push(batch);
    }
    return batches;
  }
}

export function segmentName(offset: number): string {
  return String(offset).padStart(20, '0');
}
