/**
 * Reads one segment file of a damaged log from end to end and tells what of it is sound. A batch is sound when its CRC
 * matches, its offsets lie behind the batch before and below `upperOffset`, its epoch does not fall, and the sums of
 * the seal, where there is one, match the bytes that the CRC does not cover. Invariant: the sound ranges hold whole
 * batches with rising offsets; everything else is in exactly one damaged range. Called by the repair of a log.
 */
import { hasCode } from '@tributary/common';
import {
  BATCH_HEADER_BYTES,
  batchSizeAt,
  checkCrc,
  continueCrc32c,
  CRC_FROM,
  type BatchHeader,
} from '@tributary/record';
import { headerAt } from './batch-scan';
import type { DiskFile } from './disk';
import { LeaderEpochCache } from './leader-epoch-cache';
import { intervalsOf, type SegmentSeal } from './segment-seal';

const MAGIC_AT = 16;
const MAGIC = 2;
/** Read at once, and searched for the next sound batch. */
const WINDOW_BYTES = 4 * 1024 * 1024;
/** No batch is larger: `max.message.bytes` ends there. */
const BATCH_BYTES_MAX = 64 * 1024 * 1024 + BATCH_HEADER_BYTES;

export interface SoundBatch {
  readonly position: number;
  readonly header: BatchHeader;
}

export interface DamagedRange {
  readonly kind: 'damaged';
  readonly position: number;
  readonly bytes: number;
  readonly fromOffset: number;
  /** Where the next sound batch begins. undefined: there is none in this segment. */
  readonly toOffset: number | undefined;
  /** Of the batch before; -1: none. */
  readonly epoch: number;
}

/** Of whole batches, one after another. */
export interface SoundRange {
  readonly kind: 'sound';
  readonly from: number;
  readonly to: number;
}

export interface DamageScan {
  /** All bytes, in order. */
  readonly pieces: readonly (SoundRange | DamagedRange)[];
  /** Behind the last sound batch. */
  readonly nextOffset: number;
  readonly latestEpoch: number;
  /** Base offset of the last sound batch that leaves a gap before it; -1: none does. */
  readonly gapsUpTo: number;
}

export interface ScanBounds {
  readonly baseOffset: number;
  /** Offsets of this segment lie below it. */
  readonly upperOffset: number;
  /** Of the batch before this segment; -1: none. */
  readonly latestEpoch: number;
  /** No batch has a higher one. */
  readonly upperEpoch: number;
  /** The first batch of the next segment, if its CRC matches. */
  readonly following: BatchHeader | undefined;
  /** undefined: there is none, or it is damaged itself. */
  readonly seal: SegmentSeal | undefined;
  /** As far as is known: may a batch that begins here leave a gap before it? */
  readonly mayLeaveGap: (baseOffset: number) => boolean;
}

/** The first batch of a file, if its CRC matches. */
export async function firstBatch(file: DiskFile): Promise<BatchHeader | undefined> {
  return (await new WindowReader(file).batchAt(0))?.header;
}

export async function scanForDamage(file: DiskFile, bounds: ScanBounds): Promise<DamageScan> {
  const reader = new WindowReader(file);
  const pieces: (SoundRange | DamagedRange)[] = [];
  const refuted = bounds.seal ? await refutedBySeal(reader, bounds.seal) : new Set<number>();
  let nextOffset = bounds.baseOffset;
  let { latestEpoch } = bounds;
  let gapsUpTo = -1;
  let position = 0;
  while (position < file.size) {
    const isFit = ({ position: at, header }: SoundBatch): boolean =>
      header.baseOffset >= nextOffset &&
      header.lastOffset < bounds.upperOffset &&
      header.leaderEpoch >= latestEpoch &&
      header.leaderEpoch <= bounds.upperEpoch &&
      !refuted.has(at) &&
      !isLifted(header, at + header.sizeInBytes === file.size, nextOffset, bounds);
    let batch = await reader.batchAt(position);
    const behind = batch && (await reader.batchAt(position + batch.header.sizeInBytes));
    const isLast = batch && position + batch.header.sizeInBytes === file.size;
    const next = isLast ? bounds.following : behind?.header;
    let wasSound = true;
    if (!batch || !isFit(batch) || isTooHigh(batch, next, { nextOffset, latestEpoch })) {
      wasSound = false;
      const from = position;
      batch = await nextSound(reader, position, isFit);
      position = batch?.position ?? file.size;
      pieces.push({
        kind: 'damaged',
        position: from,
        bytes: position - from,
        fromOffset: nextOffset,
        toOffset: batch?.header.baseOffset,
        epoch: latestEpoch,
      });
      if (!batch) break;
    }
    const to = position + batch.header.sizeInBytes;
    const last = pieces.at(-1);
    if (last?.kind === 'sound') pieces[pieces.length - 1] = { ...last, to };
    else pieces.push({ kind: 'sound', from: position, to });
    // Behind what is damaged there is none: the offsets between are filled.
    if (wasSound && batch.header.baseOffset > nextOffset) gapsUpTo = batch.header.baseOffset;
    nextOffset = batch.header.lastOffset + 1;
    latestEpoch = batch.header.leaderEpoch;
    position = to;
  }
  return { pieces, nextOffset, latestEpoch, gapsUpTo };
}

/**
 * The last batch of all has nothing behind it that tells, and without a seal nothing vouches for its base offset: where no gap
 * is known to be, a flipped bit is what made one.
 */
function isLifted(
  { baseOffset }: BatchHeader,
  isAtEnd: boolean,
  nextOffset: number,
  { upperOffset, seal, mayLeaveGap }: ScanBounds,
): boolean {
  const isLast = isAtEnd && upperOffset === Infinity && !seal;
  return isLast && baseOffset > nextOffset && !mayLeaveGap(baseOffset);
}

/**
 * A flipped bit may lift a base offset or an epoch, and all that comes behind then seems to go back. Where the batch behind
 * fits what came before, it is this one that is wrong.
 */
function isTooHigh(
  { header }: SoundBatch,
  behind: BatchHeader | undefined,
  before: { readonly nextOffset: number; readonly latestEpoch: number },
): boolean {
  if (!behind) return false;
  const { baseOffset, leaderEpoch } = behind;
  if (baseOffset < before.nextOffset || leaderEpoch < before.latestEpoch) return false;
  const leavesGap = header.baseOffset !== before.nextOffset;
  return (leavesGap && baseOffset <= header.lastOffset) || leaderEpoch < header.leaderEpoch;
}

/**
 * Positions of the batches whose 21 bytes before the CRC's are not those that were sealed. The sums are of many batches
 * at once: which one it is, tells the seal's own knowledge of where an interval and an epoch begin, and the counts of
 * the batches, which their CRCs cover.
 */
async function refutedBySeal(reader: WindowReader, seal: SegmentSeal): Promise<Set<number>> {
  const refuted = new Set<number>();
  const epochs = new LeaderEpochCache(seal.epochs);
  const intervals = intervalsOf(seal);
  for (const [i, interval] of intervals.entries()) {
    const end = intervals[i + 1]?.position ?? seal.logBytes;
    let sum = 0;
    let expected = interval.baseOffset;
    const suspects: number[] = [];
    for (let position = interval.position; position < end;) {
      const batch = await reader.batchAt(position);
      if (!batch) break;
      const { header } = batch;
      sum = continueCrc32c(sum, await reader.prefixAt(position), 0, CRC_FROM);
      const isAsSealed =
        header.baseOffset === expected && header.leaderEpoch === epochs.epochOf(expected);
      if (!isAsSealed) suspects.push(position);
      expected += header.lastOffsetDelta + 1;
      position += header.sizeInBytes;
    }
    if (sum !== interval.crc) for (const position of suspects) refuted.add(position);
  }
  return refuted;
}

/** The first one behind `from` that fits; where the length of the damaged one is sound, it is directly behind it. */
async function nextSound(
  reader: WindowReader,
  from: number,
  isFit: (batch: SoundBatch) => boolean,
): Promise<SoundBatch | undefined> {
  const behind = await reader.behind(from);
  const direct = behind === undefined ? undefined : await reader.batchAt(behind);
  if (direct && isFit(direct)) return direct;
  for (let position = from + 1; ; position += 1) {
    const candidate = await reader.nextMagic(position);
    if (candidate === undefined) return undefined;
    position = candidate;
    const batch = await reader.batchAt(position);
    if (batch && isFit(batch)) return batch;
  }
}

class WindowReader {
  private window: Buffer = Buffer.alloc(0);
  private windowAt = 0;

  constructor(private readonly file: DiskFile) {}

  /** A whole batch whose CRC matches. */
  async batchAt(position: number): Promise<SoundBatch | undefined> {
    const size = await this.sizeAt(position);
    if (size === undefined) return undefined;
    const bytes = await this.bytes(position, size);
    if (bytes.readInt8(MAGIC_AT) !== MAGIC || !checkCrc(bytes)) return undefined;
    const header = headerAt(bytes, 0);
    return header && { position, header };
  }

  /** What its CRC does not cover. */
  prefixAt(position: number): Promise<Buffer> {
    return this.bytes(position, CRC_FROM);
  }

  /** Where the batch at `position` ends by its own length; undefined: that cannot be its length. */
  async behind(position: number): Promise<number | undefined> {
    const size = await this.sizeAt(position);
    return size === undefined ? undefined : position + size;
  }

  /** The next position at or behind `position` where a batch could begin. */
  async nextMagic(position: number): Promise<number | undefined> {
    for (let at = position; at + BATCH_HEADER_BYTES <= this.file.size;) {
      const length = Math.min(WINDOW_BYTES, this.file.size - at);
      const bytes = await this.bytes(at, length);
      const found = bytes.indexOf(MAGIC, MAGIC_AT);
      if (found >= 0) return at + found - MAGIC_AT;
      at += length - MAGIC_AT;
    }
    return undefined;
  }

  private async sizeAt(position: number): Promise<number | undefined> {
    if (position + BATCH_HEADER_BYTES > this.file.size) return undefined;
    try {
      const size = batchSizeAt(await this.bytes(position, BATCH_HEADER_BYTES), 0) ?? 0;
      const fits = size <= BATCH_BYTES_MAX && position + size <= this.file.size;
      return fits ? size : undefined;
    } catch (error) {
      if (hasCode(error, 'INVALID_BATCH')) return undefined;
      throw error;
    }
  }

  private async bytes(position: number, length: number): Promise<Buffer> {
    const at = position - this.windowAt;
    if (at < 0 || at + length > this.window.length) {
      this.window = await this.file.readAsync(position, Math.max(length, WINDOW_BYTES));
      this.windowAt = position;
    }
    return this.window.subarray(position - this.windowAt, position - this.windowAt + length);
  }
}
