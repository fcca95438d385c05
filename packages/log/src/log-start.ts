/**
 * Raises the log start offset. Invariant: it rises at once for readers, to at most the high watermark; the checkpoint on the
 * device follows, and files and epochs go only after that: see log-retention. Called by deletions of records and by retention.
 */
import type { LogState } from './log-state';

/** Throws OFFSET_OUT_OF_RANGE. */
export function deleteRecordsBefore(log: LogState, offset: number): void {
  if (offset <= log.startOffset) return;
  if (offset > log.highWatermark) {
    throw log.outOfRange(
      offset,
      `${log.name}: records up to ${offset} cannot be deleted, ${log.highWatermark} is committed`,
    );
  }
  raiseLogStart(log, offset);
}

export function raiseLogStart(log: LogState, offset: number): void {
  if (offset <= log.startOffset) return;
  log.startOffset = offset;
  log.options.onCheckpointDue?.();
}
