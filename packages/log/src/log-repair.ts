/**
 * Repairs the files of a damaged log that no peer can refill: a person accepted the loss. Batches without records take
 * the place of what is unreadable or missing (see gap-batch); all sound batches before and behind stay, byte for byte but
 * for the leader epoch, and no offset that was given away once is given to another record.
 *
 * Crash-safe without a journal: each segment is written anew aside and renamed into its place, its companions
 * (indexes, seal) are removed before that and built again by the loader. So the log stays marked as damaged until all is
 * done, and repairing it again ends the same. Called by the repair of a replica, on a log that is not open.
 */
import { hasCode, TributaryError } from '@tributary/common';
import {
  assignOffsetAndEpoch,
  batchSizeAt,
  readBatchHeader,
  type BatchHeader,
} from '@tributary/record';
import { finishSwaps } from './compaction/swap-recovery';
import { firstBatch, scanForDamage, type DamageScan, type SoundRange } from './damage-scan';
import type { Disk, DiskFile } from './disk';
import { gapBatches, type Gap } from './gap-batch';
import { EpochFile } from './epoch-file';
import { LeaderEpochCache } from './leader-epoch-cache';
import { keepGaps, OffsetGaps } from './offset-gaps';
import type { LostRange } from './log-store';
import { segmentName } from './segment';
import { decodeSeal, type SegmentSeal } from './segment-seal';

export interface RepairPlan {
  /** See RepairOptions. */
  readonly endOffset: number;
  /** Where it began; undefined: not known. */
  readonly startOffset: number | undefined;
  readonly epoch: number;
  readonly stamped: boolean;
}

export interface RepairedFiles {
  readonly lost: readonly LostRange[];
  /** Where the log ends; everything below it is on the device. */
  readonly endOffset: number;
}

const LOG_FILE = /^([0-9]{20})\.log$/;
const COMPANIONS = ['.index', '.timeindex', '.seal'];
const ASIDE = '.repair.tmp';
const COPY_BYTES = 4 * 1024 * 1024;

interface Scanned extends DamageScan {
  readonly baseOffset: number;
  readonly path: string;
  readonly size: number;
  readonly seal: SegmentSeal | undefined;
}

/** What a segment shall consist of. */
interface Target {
  readonly path: string;
  readonly pieces: readonly (SoundRange | LostPiece)[];
}

interface LostPiece extends LostRange {
  readonly kind: 'lost';
  /** Of the batch before; -1: none. */
  readonly epoch: number;
}

interface Stamp {
  readonly epoch: number;
  /** Batches from this offset on get it. */
  readonly from: number;
}

export async function repairLog(
  disk: Disk,
  directory: string,
  plan: RepairPlan,
): Promise<RepairedFiles> {
  finishSwaps(disk, directory, disk.list(directory));
  const segments = await scanSegments(disk, directory, plan.epoch);
  await keepGaps(disk, directory, gapsIn(segments));
  const endOffset = Math.max(plan.endOffset, segments.at(-1)?.nextOffset ?? 0);
  const targets = segments.map((segment, i) => {
    const following = segments[i + 1]?.baseOffset ?? endOffset;
    return targetOf(segment, following);
  });
  if (targets.length === 0 && endOffset > 0) targets.push(nothingLeft(directory, endOffset));
  const lost = [
    ...missingAtStart(directory, plan.startOffset, segments[0]?.baseOffset),
    ...targets.flatMap(({ pieces }) => pieces.filter((piece) => piece.kind === 'lost')),
  ];
  const from = lost[0]?.fromOffset;
  const { epoch } = plan;
  const stamp = plan.stamped && from !== undefined ? { epoch, from } : undefined;
  if (from !== undefined) await repairEpochs(disk, directory, stamp);
  // From the end: epochs rise at any time, and where the first loss begins is known until all behind it is done.
  for (const [i, target] of [...targets.entries()].reverse()) {
    const isStamped = stamp !== undefined && (segments[i]?.nextOffset ?? endOffset) > stamp.from;
    const isSound = target.pieces.every(({ kind }) => kind === 'sound');
    if (isSound && segments[i]?.pieces.length === target.pieces.length && !isStamped) continue;
    await rewrite(disk, directory, target, stamp);
  }
  await disk.syncDirectory(directory);
  return { lost: lost.map(rangeOf), endOffset };
}

async function scanSegments(disk: Disk, directory: string, upperEpoch: number): Promise<Scanned[]> {
  const baseOffsets = disk.list(directory).flatMap((name) => {
    const [, base] = LOG_FILE.exec(name) ?? [];
    return base === undefined ? [] : [Number(base)];
  });
  const scanned: Scanned[] = [];
  const gaps = OffsetGaps.read(disk, directory);
  const mayLeaveGap = (baseOffset: number): boolean => gaps.allows(baseOffset);
  let latestEpoch = -1;
  for (const [i, baseOffset] of baseOffsets.entries()) {
    const path = logPath(directory, baseOffset);
    const next = baseOffsets[i + 1];
    const following =
      next === undefined ? undefined : await firstOf(disk, logPath(directory, next));
    const file = disk.openFile(path);
    try {
      const seal = readSeal(disk, path, file.size);
      const bounds = { baseOffset, upperOffset: next ?? Infinity, latestEpoch, upperEpoch };
      const scan = await scanForDamage(file, { ...bounds, following, seal, mayLeaveGap });
      latestEpoch = scan.latestEpoch;
      await file.datasync(); // also what stays as it is
      scanned.push({ ...scan, baseOffset, path, size: file.size, seal });
    } finally {
      file.close();
    }
  }
  return scanned;
}

/**
 * Up to where there are gaps in what is kept: between batches, and between segments where the seal vouches for it. Without the file
 * that says so, or with one that says less, the repaired log would not load.
 */
function gapsIn(segments: readonly Scanned[]): number {
  const between = segments.flatMap(({ seal }, i) => {
    const following = segments[i + 1]?.baseOffset;
    const isGap = seal && following !== undefined && seal.nextOffset < following;
    return isGap ? [following] : [];
  });
  return Math.max(-1, ...segments.map(({ gapsUpTo }) => gapsUpTo), ...between);
}

async function firstOf(disk: Disk, path: string): Promise<BatchHeader | undefined> {
  const file = disk.openFile(path);
  try {
    return await firstBatch(file);
  } finally {
    file.close();
  }
}

function logPath(directory: string, baseOffset: number): string {
  return `${directory}/${segmentName(baseOffset)}.log`;
}

/** One that is damaged itself, or of a longer file than there is, says nothing. */
function readSeal(disk: Disk, logPath: string, logBytes: number): SegmentSeal | undefined {
  const path = logPath.replace(/log$/, 'seal');
  if (!disk.exists(path)) return undefined;
  const file = disk.openFile(path);
  try {
    const seal = decodeSeal(file.read(0, file.size), path);
    return seal.logBytes <= logBytes ? seal : undefined;
  } catch (error) {
    if (!hasCode(error, 'CORRUPT_LOG', 'UNKNOWN_FORMAT')) throw error;
    return undefined;
  } finally {
    file.close();
  }
}

/** @param following where the next segment begins, or the log ends */
function targetOf(segment: Scanned, following: number): Target {
  const { path, size, seal, nextOffset, latestEpoch } = segment;
  const pieces = segment.pieces.flatMap((piece): (SoundRange | LostPiece)[] => {
    if (piece.kind === 'sound') return [piece];
    const { position, bytes, fromOffset, toOffset = following, epoch } = piece;
    // A torn end behind everything that counts: nothing is lost with it.
    if (toOffset <= fromOffset) return [];
    return [{ kind: 'lost', fromOffset, toOffset, path, position, bytes, epoch }];
  });
  const last = pieces.at(-1);
  const reached = last?.kind === 'lost' ? last.toOffset : nextOffset;
  // Not a byte is wrong, but some are missing at the end, or the next segment is. A gap that was there when this one was
  // sealed is compaction's.
  if (reached < following && (seal === undefined || seal.nextOffset < following)) {
    const missing = { fromOffset: reached, toOffset: following, path, position: size, bytes: 0 };
    pieces.push({ kind: 'lost', ...missing, epoch: latestEpoch });
  }
  return { path, pieces };
}

function nothingLeft(directory: string, endOffset: number): Target {
  const path = logPath(directory, 0);
  const range = { fromOffset: 0, toOffset: endOffset, path, position: 0, bytes: 0 };
  return { path, pieces: [{ kind: 'lost', ...range, epoch: 0 }] };
}

/** The log begins later then. */
function missingAtStart(
  directory: string,
  startOffset = Infinity,
  firstOffset = -Infinity,
): LostRange[] {
  if (startOffset >= firstOffset) return [];
  const path = logPath(directory, startOffset);
  return [{ fromOffset: startOffset, toOffset: firstOffset, path, position: 0, bytes: 0 }];
}

function rangeOf({ fromOffset, toOffset, path, position, bytes }: LostRange): LostRange {
  return { fromOffset, toOffset, path, position, bytes };
}

async function rewrite(
  disk: Disk,
  directory: string,
  { path, pieces }: Target,
  stamp: Stamp | undefined,
): Promise<void> {
  const aside = `${path}${ASIDE}`;
  disk.remove(aside);
  const from = disk.openFile(path, { create: true });
  const to = disk.openFile(aside, { create: true });
  try {
    for (const piece of pieces) {
      if (piece.kind === 'sound') await copy(from, to, piece, stamp);
      else to.append([gapBatches(piece, epochFor(piece, piece.epoch, stamp))]);
    }
    await to.datasync();
  } finally {
    from.close();
    to.close();
  }
  for (const suffix of COMPANIONS) disk.remove(path.replace(/\.log$/, suffix));
  // What they said must not come back beside the new file.
  await disk.syncDirectory(directory);
  disk.rename(aside, path);
}

function epochFor({ fromOffset }: Gap, before: number, stamp: Stamp | undefined): number {
  return stamp && fromOffset >= stamp.from ? stamp.epoch : Math.max(before, 0);
}

/** A range holds whole batches, so that each can be stamped on its way. */
async function copy(
  from: DiskFile,
  to: DiskFile,
  range: SoundRange,
  stamp: Stamp | undefined,
): Promise<void> {
  for (let position = range.from; position < range.to;) {
    let chunk = await from.readAsync(position, Math.min(COPY_BYTES, range.to - position));
    let whole = stampWhole(chunk, stamp);
    if (whole === 0) {
      chunk = await from.readAsync(position, batchSizeAt(chunk, 0) ?? 0);
      whole = stampWhole(chunk, stamp);
      if (whole === 0) throw changedMeanwhile(from.path, position);
    }
    to.append([chunk.subarray(0, whole)]);
    position += whole;
  }
}

/** Stamps the whole batches in `chunk`; answers how many bytes they have. */
function stampWhole(chunk: Buffer, stamp: Stamp | undefined): number {
  for (let at = 0; ;) {
    const size = batchSizeAt(chunk, at);
    if (size === undefined || at + size > chunk.length) return at;
    const { baseOffset } = readBatchHeader(chunk, at);
    if (stamp && baseOffset >= stamp.from) {
      assignOffsetAndEpoch(chunk.subarray(at, at + size), baseOffset, stamp.epoch);
    }
    at += size;
  }
}

async function repairEpochs(
  disk: Disk,
  directory: string,
  stamp: Stamp | undefined,
): Promise<void> {
  const file = new EpochFile(disk, directory);
  let epochs: LeaderEpochCache;
  try {
    epochs = LeaderEpochCache.parse(file.read() ?? '', file.path);
  } catch (error) {
    if (!hasCode(error, 'CORRUPT_LOG')) throw error;
    file.remove(); // the loader reads them from the batches
    return;
  }
  if (!stamp) return;
  epochs.cutFrom(stamp.from);
  epochs.assign(stamp.epoch, stamp.from);
  await file.write(epochs.format());
}

function changedMeanwhile(path: string, position: number): TributaryError {
  return new TributaryError('CORRUPT_LOG', `${path} changed while it was repaired`, {
    details: { path, position },
  });
}
