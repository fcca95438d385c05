/**
 * Whether one more batch goes into a segment: by size, by the width of relative offsets, by the size of either index.
 * Pure arithmetic, so that a follower divides what it is sent exactly as it will be written. Called by the roll and
 * by the check of replicated batches.
 */
import type { BatchHeader } from '@tributary/record';
import type { LogConfig } from './partition-log';
import { INDEX_INTERVAL_BYTES, SEGMENT_OFFSETS_MAX, type Segment } from './segment';

const OFFSET_ENTRY_BYTES = 8;
const TIME_ENTRY_BYTES = 12;

/** How full a segment is. */
export interface SegmentFill {
  readonly baseOffset: number;
  readonly sizeBytes: number;
  readonly offsetEntries: number;
  readonly timeEntries: number;
  /** Since the last index entry. */
  readonly unindexedBytes: number;
}

export type RoomLimits = Pick<LogConfig, 'segmentBytes' | 'segmentIndexBytes'>;

export function fillOf(segment: Segment): SegmentFill {
  return {
    baseOffset: segment.baseOffset,
    sizeBytes: segment.size,
    offsetEntries: segment.offsetIndex.count,
    timeEntries: segment.timeIndex.count,
    unindexedBytes: segment.bytesSinceIndexEntry,
  };
}

export function emptyFill(baseOffset: number): SegmentFill {
  return { baseOffset, sizeBytes: 0, offsetEntries: 0, timeEntries: 0, unindexedBytes: 0 };
}

/** `batch` with the offsets under which it is written. The first batch of a segment has room, however large it is. */
export function hasRoom(
  fill: SegmentFill,
  batch: Pick<BatchHeader, 'lastOffset' | 'sizeInBytes'>,
  limits: RoomLimits,
): boolean {
  if (batch.lastOffset - fill.baseOffset > SEGMENT_OFFSETS_MAX) return false;
  if (fill.sizeBytes === 0) return true;
  if (fill.sizeBytes + batch.sizeInBytes > limits.segmentBytes) return false;
  const added = addsEntry(fill) ? 1 : 0;
  // Sealing may write one more entry into the time index.
  const timeEntries = fill.timeEntries + added + 1;
  return (
    (fill.offsetEntries + added) * OFFSET_ENTRY_BYTES <= limits.segmentIndexBytes &&
    timeEntries * TIME_ENTRY_BYTES <= limits.segmentIndexBytes
  );
}

export function withBatch(fill: SegmentFill, batch: Pick<BatchHeader, 'sizeInBytes'>): SegmentFill {
  const added = addsEntry(fill) ? 1 : 0;
  return {
    baseOffset: fill.baseOffset,
    sizeBytes: fill.sizeBytes + batch.sizeInBytes,
    offsetEntries: fill.offsetEntries + added,
    timeEntries: fill.timeEntries + added,
    unindexedBytes: (added > 0 ? 0 : fill.unindexedBytes) + batch.sizeInBytes,
  };
}

/** The time index gets none where time stood still; counting one there rolls no earlier than the offset index does. */
function addsEntry({ unindexedBytes }: SegmentFill): boolean {
  return unindexedBytes > INDEX_INTERVAL_BYTES;
}
