/**
 * Cuts the end off a log, or all of it. Called by Log, and by a replicated append that must be undone.
 */
import { Segment } from './segment';
import type { LogState } from './log-state';

/** Where the log ends once `offset` and all behind it is gone: whole batches go. */
export function endAfterCut(log: LogState, offset: number): number {
  if (offset < log.startOffset || offset >= log.endOffset) return offset;
  return log.health.guard('read', () => {
    const segment = log.segments.containing(offset);
    const first = segment.findBatch(offset);
    if (!first) return offset;
    let end = segment.baseOffset;
    if (first.position > 0) {
      for (const { position, header } of segment.scan(first.header.baseOffset - 1)) {
        if (position >= first.position) break;
        end = header.lastOffset + 1;
      }
    }
    return Math.min(offset, end);
  });
}

export function truncateLog(log: LogState, offset: number): void {
  if (offset < log.startOffset) return restartLog(log, offset);
  log.health.guard('truncate', () => {
    const wasCompacted = forgetCompacted(log, offset);
    log.flusher.truncations += 1;
    if (offset < log.endOffset) cutSegments(log, offset);
    // Also when nothing was cut: an empty epoch at the very end must go (KAFKA-10706).
    const end = Math.min(offset, log.endOffset);
    log.files.forgetGaps(end);
    if (log.epochs.cutFrom(end)) log.epochFile.writeNow(log.epochs.format());
    // It lay within the first batch that went.
    const startsEarlier = log.endOffset < log.startOffset;
    log.startOffset = Math.min(log.startOffset, log.endOffset);
    log.producers.truncate(log.range);
    log.flusher.cut(end, wasCompacted || startsEarlier);
    log.highWatermark = Math.min(log.highWatermark, end);
  });
}

export function restartLog(log: LogState, offset: number): void {
  log.health.guard('truncate', () => {
    forgetCompacted(log, Math.min(offset, log.startOffset));
    log.flusher.truncations += 1;
    log.segments.replaceAll(() => Segment.create(log.files, offset));
    log.files.forgetGaps(offset);
    log.flusher.directoryChanged();
    log.bytes = 0;
    log.startOffset = offset;
    log.highWatermark = offset;
    log.epochs.replace([]);
    log.epochFile.writeNow(log.epochs.format());
    log.producers.clear();
    log.flusher.cut(offset, true);
  });
}

/**
 * What comes in the place of what goes was not compacted; and a pass must not bring back what goes. True: the checkpoint may
 * say otherwise.
 */
function forgetCompacted(log: LogState, offset: number): boolean {
  log.compaction?.cutAt(offset);
  if (log.compactedTo <= offset) return false;
  log.compactedTo = offset;
  return true;
}

function cutSegments(log: LogState, offset: number): void {
  for (const segment of log.segments.removeFrom(offset)) {
    log.bytes -= segment.size;
    segment.remove();
  }
  const { active } = log.segments;
  const first = active.findBatch(offset);
  if (first) {
    log.bytes -= active.size - first.position;
    active.truncate(first.position);
  }
  log.flusher.directoryChanged();
}
