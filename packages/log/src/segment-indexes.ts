/**
 * What lies beside a segment's `.log`: offset index, time index and seal, in memory while they are needed. Invariant:
 * offset index and intervals have an entry for the same batches (the intervals one more, for the first batch);
 * files are believed only as far as the seal vouches for them. Called by the segment.
 */
import { hasCode } from '@tributary/common';
import type { BatchHeader } from '@tributary/record';
import { IntervalIndex } from './interval-index';
import type { EpochEntry } from './leader-epoch-cache';
import type { LogFiles } from './log-files';
import { OffsetIndex } from './offset-index';
import type { TimestampedOffset } from './partition-log';
import {
  decodeSeal,
  decodeSealHead,
  encodeSeal,
  sealHeadBytes,
  type SealHead,
  type SegmentSeal,
} from './segment-seal';
import { TimeIndex } from './time-index';

export const INDEX_INTERVAL_BYTES = 4096;
/** Read at once when a segment is opened: most heads are shorter. */
const HEAD_READ_BYTES = 256;

/** What a seal says and the indexes do not know. */
export type SealFacts = Omit<
  SealHead,
  'baseOffset' | 'index' | 'timeIndex' | 'epochs' | 'intervalCount'
>;

export class SegmentIndexes {
  readonly offsets: OffsetIndex;
  readonly times: TimeIndex;
  private loadedIntervals: IntervalIndex | undefined;
  /** Those of the batches, each with its first offset here; only while loaded. */
  private loadedEpochs: EpochEntry[] = [];
  /** What the seal on disk vouches for; undefined: there is none that counts. */
  private stored: SealHead | undefined;
  private sealPath: string;
  /** As far as we know, without asking the disk before each append. */
  private sealMayExist = true;

  constructor(
    private readonly files: LogFiles,
    private readonly baseOffset: number,
    pathFor: (extension: string) => string,
  ) {
    this.offsets = new OffsetIndex(files.disk, pathFor('index'), baseOffset);
    this.times = new TimeIndex(files.disk, pathFor('timeindex'), baseOffset);
    this.sealPath = pathFor('seal');
  }

  get isLoaded(): boolean {
    return this.loadedIntervals !== undefined;
  }

  get memoryBytes(): number {
    return (
      this.offsets.memoryBytes + this.times.memoryBytes + (this.loadedIntervals?.memoryBytes ?? 0)
    );
  }

  get intervals(): IntervalIndex {
    return (this.loadedIntervals ??= new IntervalIndex(this.baseOffset));
  }

  get epochs(): readonly EpochEntry[] {
    return this.loadedEpochs;
  }

  get paths(): string[] {
    return [this.sealPath, this.offsets.path, this.times.path];
  }

  /** Empty, whatever the files hold. */
  reset(): void {
    this.offsets.reset();
    this.times.reset();
    this.loadedIntervals = new IntervalIndex(this.baseOffset);
    this.loadedEpochs = [];
    this.stored = undefined;
  }

  /** `latest` includes this batch. */
  note(
    batch: { readonly position: number; readonly header: BatchHeader },
    raw: { readonly bytes: Buffer; readonly at: number },
    latest: TimestampedOffset | undefined,
  ): void {
    const { position, header } = batch;
    if (position === 0) this.intervals.begin(header.baseOffset, 0);
    else if (position - this.lastEntryPosition > INDEX_INTERVAL_BYTES) {
      this.offsets.append(header.lastOffset, position);
      if (latest) this.times.append(latest.timestamp, latest.offset);
      this.intervals.begin(header.baseOffset, position);
    }
    this.intervals.add(raw.bytes, raw.at);
    if (header.leaderEpoch !== this.loadedEpochs.at(-1)?.epoch) {
      this.loadedEpochs.push({ epoch: header.leaderEpoch, startOffset: header.baseOffset });
    }
  }

  /** Where the last interval begins. */
  get lastEntryPosition(): number {
    const { count } = this.intervals;
    return count === 0 ? 0 : this.intervals.position(count - 1);
  }

  /** Keeps what lies before the last interval that begins before `position`; batches of that one are noted again. */
  cutBefore(position: number): { readonly position: number; readonly firstOffset: number } {
    const { intervals } = this;
    const kept = position === 0 ? 0 : intervals.at(position - 1);
    const cut = { position: intervals.position(kept), firstOffset: intervals.firstOffset(kept) };
    this.offsets.keep(Math.max(0, kept - 1));
    this.loadedIntervals = intervals.cut(kept);
    this.times.cutFrom(cut.firstOffset);
    this.loadedEpochs = this.loadedEpochs.filter(
      ({ startOffset }) => startOffset < cut.firstOffset,
    );
    return cut;
  }

  /** undefined: there is none, or a damaged one. Throws UNKNOWN_FORMAT. */
  readHead(): SealHead | undefined {
    return this.readSealFile((read) => {
      let bytes = read(HEAD_READ_BYTES);
      const needed = sealHeadBytes(bytes);
      if (needed > bytes.length) bytes = read(needed);
      return decodeSealHead(bytes, this.sealPath);
    });
  }

  /** undefined: there is none, or a damaged one. Throws UNKNOWN_FORMAT. */
  readSeal(): SegmentSeal | undefined {
    return this.readSealFile((read) => decodeSeal(read(Infinity), this.sealPath));
  }

  /** Not in memory; the files are as this seal says. */
  adopt(head: SealHead): void {
    this.offsets.assumeStored(head.index);
    this.times.assumeStored(head.timeIndex);
    this.loadedIntervals = undefined;
    this.loadedEpochs = [];
    this.stored = head;
  }

  /** False: an index file is not what the seal says. */
  load(seal: SegmentSeal): boolean {
    if (!this.offsets.load(seal.index) || !this.times.load(seal.timeIndex)) return false;
    this.loadedIntervals = new IntervalIndex(this.baseOffset, Buffer.from(seal.intervals));
    this.loadedEpochs = [...seal.epochs];
    this.stored = seal;
    return true;
  }

  /** Frees the memory, if the files have it all. */
  unload(logBytes: number): void {
    if (this.stored?.logBytes !== logBytes) return;
    if (!this.offsets.isPersisted || !this.times.isPersisted) return;
    this.adopt(this.stored);
  }

  /** Do the files say this already? */
  isStored(facts: SealFacts, alsoSealedAt: boolean): boolean {
    const { stored } = this;
    if (!stored || !this.offsets.isPersisted || !this.times.isPersisted) return false;
    if (alsoSealedAt && stored.sealedAt !== facts.sealedAt) return false;
    return stored.logBytes === facts.logBytes && stored.epochsCrc === facts.epochsCrc;
  }

  /** Brings the files up to date. Throws DISK_FULL or STORAGE_ERROR. */
  persist(facts: SealFacts): void {
    this.offsets.persist();
    this.times.persist();
    const seal: SegmentSeal = {
      ...facts,
      baseOffset: this.baseOffset,
      index: this.offsets.sum,
      timeIndex: this.times.sum,
      epochs: this.loadedEpochs,
      intervalCount: this.intervals.count,
      intervals: this.intervals.bytes,
    };
    this.stored = undefined;
    this.sealMayExist = true;
    const file = this.files.disk.openFile(this.sealPath, { create: true });
    try {
      file.truncate(0);
      file.append([encodeSeal(seal)]);
    } finally {
      file.close();
    }
    const { intervals: _intervals, ...head } = seal;
    this.stored = { ...head, epochs: [...seal.epochs] };
  }

  rename(pathFor: (extension: string) => string): void {
    this.offsets.rename(pathFor('index'));
    this.times.rename(pathFor('timeindex'));
    this.files.disk.rename(this.sealPath, pathFor('seal'));
    this.sealPath = pathFor('seal');
  }

  /** What it vouches for is about to change. */
  removeSeal(): void {
    this.stored = undefined;
    if (!this.sealMayExist) return;
    this.files.disk.remove(this.sealPath);
    this.sealMayExist = false;
    this.files.directoryDirty = true;
  }

  async sync(): Promise<void> {
    await Promise.all(this.paths.map((path) => this.files.syncSideFile(path)));
  }

  private readSealFile<T>(decode: (read: (bytes: number) => Buffer) => T): T | undefined {
    const { disk } = this.files;
    if (!disk.exists(this.sealPath)) return undefined;
    const file = disk.openFile(this.sealPath);
    try {
      return decode((bytes) => file.read(0, Math.min(bytes, file.size)));
    } catch (error) {
      if (hasCode(error, 'CORRUPT_LOG')) return undefined;
      throw error;
    } finally {
      file.close();
    }
  }
}
