/**
 * Whether one more batch goes into a segment: by size, by the width of relative offsets, by the size of either index.
 * Pure arithmetic, so that a follower divides what it is sent exactly as it will be written. Called by the roll and
 * by the check of replicated batches.
 */
import type { BatchHeader } from '@tributary/record';
import type { LogConfig } from './partition-log';
import { SEGMENT_OFFSETS_MAX, type Segment } from './segment';
import { INDEX_INTERVAL_BYTES } from './segment-indexes';

const OFFSET_ENTRY_BYTES = 8;
const TIME_ENTRY_BYTES = 12;

/** How full a segment is. */
export interface SegmentFill {
  readonly baseOffset: number;
  readonly sizeBytes: number;
  readonly offsetEntries: number;
  readonly timeEntries: number;
  /** Of the last entry in the time index. */
  readonly indexedTimestamp: number;
  readonly maxTimestamp: number;
  /** Since the last index entry. */
  readonly unindexedBytes: number;
}

export type RoomLimits = Pick<LogConfig, 'segmentBytes' | 'segmentIndexBytes'>;
type BatchExtent = Pick<BatchHeader, 'lastOffset' | 'sizeInBytes' | 'maxTimestamp'>;

export function fillOf(segment: Segment): SegmentFill {
  const { baseOffset, size, offsetIndex, timeIndex, maxTimestamp } = segment;
  return {
    baseOffset,
    sizeBytes: size,
    offsetEntries: offsetIndex.count,
    timeEntries: timeIndex.count,
    indexedTimestamp: timeIndex.last?.timestamp ?? -Infinity,
    maxTimestamp: maxTimestamp?.timestamp ?? -Infinity,
    unindexedBytes: segment.bytesSinceIndexEntry,
  };
}

export function emptyFill(baseOffset: number): SegmentFill {
  return {
    baseOffset,
    sizeBytes: 0,
    offsetEntries: 0,
    timeEntries: 0,
    indexedTimestamp: -Infinity,
    maxTimestamp: -Infinity,
    unindexedBytes: 0,
  };
}

/** `batch` with the offsets under which it is written. The first batch of a segment has room, however large it is. */
export function hasRoom(fill: SegmentFill, batch: BatchExtent, limits: RoomLimits): boolean {
  if (batch.lastOffset - fill.baseOffset > SEGMENT_OFFSETS_MAX) return false;
  if (fill.sizeBytes === 0) return true;
  const next = withBatch(fill, batch);
  const atTheSeal = next.maxTimestamp > next.indexedTimestamp ? 1 : 0;
  return (
    next.sizeBytes <= limits.segmentBytes &&
    next.offsetEntries * OFFSET_ENTRY_BYTES <= limits.segmentIndexBytes &&
    (next.timeEntries + atTheSeal) * TIME_ENTRY_BYTES <= limits.segmentIndexBytes
  );
}

/** What `Segment.append` makes of it. */
export function withBatch(fill: SegmentFill, batch: BatchExtent): SegmentFill {
  const isIndexed = fill.unindexedBytes > INDEX_INTERVAL_BYTES;
  const maxTimestamp = Math.max(fill.maxTimestamp, batch.maxTimestamp);
  const isTimeIndexed = isIndexed && maxTimestamp > fill.indexedTimestamp;
  return {
    baseOffset: fill.baseOffset,
    sizeBytes: fill.sizeBytes + batch.sizeInBytes,
    offsetEntries: fill.offsetEntries + (isIndexed ? 1 : 0),
    timeEntries: fill.timeEntries + (isTimeIndexed ? 1 : 0),
    indexedTimestamp: isTimeIndexed ? maxTimestamp : fill.indexedTimestamp,
    maxTimestamp,
    unindexedBytes: (isIndexed ? 0 : fill.unindexedBytes) + batch.sizeInBytes,
  };
}
