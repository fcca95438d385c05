/**
 * Which part of a log a compaction pass works on, and how urgent that is. Pure.
 *
 *     log start      first dirty offset        end                    log end
 *     | clean        | dirty                   | head: the active segment, what is not committed
 *     |              |                         | (KAFKA-13194), records younger than min.compaction.lag.ms
 *
 * Invariant: `end` is the base offset of a segment, so a truncation of what is not committed never reaches into
 * segments that were compacted. Called by the compactor.
 */
import type { LogConfig } from '../partition-log';

export interface SegmentView {
  readonly baseOffset: number;
  /** Where the next segment begins. */
  readonly endOffset: number;
  readonly sizeBytes: number;
  /** undefined: it has no record. */
  readonly maxTimestamp: number | undefined;
}

export interface CleanableView {
  /** Without the active one. */
  readonly sealed: readonly SegmentView[];
  readonly firstDirtyOffset: number;
  readonly highWatermark: number;
}

export interface CleanableRange {
  readonly firstDirtyOffset: number;
  readonly end: number;
  readonly cleanBytes: number;
  readonly dirtyBytes: number;
}

export type LagConfig = Pick<
  LogConfig,
  'minCompactionLagMs' | 'maxCompactionLagMs' | 'minCleanableDirtyRatio'
>;

export function isCompacted({ cleanupPolicy }: Pick<LogConfig, 'cleanupPolicy'>): boolean {
  return cleanupPolicy !== 'delete';
}

/** undefined: nothing is dirty that may be compacted. */
export function cleanableRange(
  { sealed, firstDirtyOffset, highWatermark }: CleanableView,
  { minCompactionLagMs }: LagConfig,
  now: number,
): CleanableRange | undefined {
  const isHead = ({ endOffset, maxTimestamp = -Infinity }: SegmentView): boolean =>
    endOffset > highWatermark ||
    (minCompactionLagMs > 0 &&
      endOffset > firstDirtyOffset &&
      maxTimestamp > now - minCompactionLagMs);
  const firstOfHead = sealed.findIndex(isHead);
  const cleanable = firstOfHead < 0 ? sealed : sealed.slice(0, firstOfHead);
  const end = cleanable.at(-1)?.endOffset ?? 0;
  if (end <= firstDirtyOffset) return undefined;
  const bytesOf = (dirty: boolean): number =>
    cleanable
      .filter(({ endOffset }) => endOffset > firstDirtyOffset === dirty)
      .reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);
  return { firstDirtyOffset, end, cleanBytes: bytesOf(false), dirtyBytes: bytesOf(true) };
}

/**
 * undefined: not due. The larger, the sooner; above 1: a dirty record is older than max.compaction.lag.ms.
 * @param oldestDirty timestamp of the first record of the oldest dirty segment
 */
export function urgencyOf(
  { cleanBytes, dirtyBytes }: CleanableRange,
  config: LagConfig,
  oldestDirty: number | undefined,
  now: number,
): number | undefined {
  const ratio = dirtyBytes / Math.max(1, cleanBytes + dirtyBytes);
  if (oldestDirty !== undefined && now - oldestDirty > config.maxCompactionLagMs) return 1 + ratio;
  return ratio >= config.minCleanableDirtyRatio ? ratio : undefined;
}
