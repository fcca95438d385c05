/**
 * What stays of one batch in a compaction pass. Pure. Rules, for a record below the end of the key map:
 *
 *   its key has a later record                            dropped
 *   it has no key                                         dropped: it should not be here
 *   tombstone, passed in an earlier pass, horizon over    dropped
 *   everything else                                       stays
 *
 * A tombstone counts as passed when this replica's pass dropped what it deletes: so the horizon is set (again) while its
 * batch is dirty, also where a leader had set one before it came here, and obeyed only once it is clean. A batch
 * with nothing left stays, emptied, if it is needed: as one of the last of a live producer (sequences), as the first of
 * a leader epoch (truncation points), or as the last of its segment (no hole between segments).
 */
import {
  emptiedBatch,
  filterBatch,
  type BatchHeader,
  type InflateOptions,
} from '@tributary/record';
import type { KeyMap } from './key-map';

export interface PassBounds {
  readonly firstDirtyOffset: number;
  /** From here on nothing is touched. */
  readonly mapEnd: number;
  /** Wall time. */
  readonly now: number;
  /** For tombstones that are passed for the first time. */
  readonly deleteHorizon: number;
}

export interface RetentionContext extends InflateOptions {
  readonly keyMap: KeyMap;
  readonly bounds: PassBounds;
  readonly isNeeded: (header: BatchHeader) => boolean;
}

export interface RetainedBatch {
  /** undefined: nothing. */
  readonly batch: Buffer | undefined;
  readonly droppedRecords: number;
  readonly isStamped: boolean;
}

/** Throws what `filterBatch` throws. */
export function retainBatch(
  batch: Buffer,
  header: BatchHeader,
  context: RetentionContext,
): RetainedBatch {
  const { bounds, keyMap } = context;
  if (header.isControl || header.baseOffset >= bounds.mapEnd) return untouched(batch);
  if (header.recordsCount === 0) {
    return { ...untouched(batch), batch: context.isNeeded(header) ? batch : undefined };
  }
  const isDirty = header.lastOffset >= bounds.firstDirtyOffset;
  // What it deletes is gone when this pass is over; not so for a batch that reaches beyond the map.
  const isPassed = isDirty && header.lastOffset < bounds.mapEnd;
  const isOver = !isDirty && header.hasDeleteHorizon && header.baseTimestamp < bounds.now;
  const filtered = filterBatch(batch, {
    ...context,
    deleteHorizon: isPassed ? bounds.deleteHorizon : undefined,
    keep: ({ offset, key, isTombstone }) => {
      if (offset >= bounds.mapEnd) return true;
      if (key === null || keyMap.lastOffset(key) > offset) return false;
      return !(isTombstone && isOver);
    },
  });
  const { droppedRecords, isStamped } = filtered;
  const left = filtered.batch ?? (context.isNeeded(header) ? emptiedBatch(batch) : undefined);
  return { batch: left, droppedRecords, isStamped };
}

function untouched(batch: Buffer): RetainedBatch {
  return { batch, droppedRecords: 0, isStamped: false };
}
