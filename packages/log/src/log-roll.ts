/**
 * When a log begins another segment, and how. Invariant: the old one is sealed, and its producer snapshot
 * written, before anything goes into the next. Called by appends and by log maintenance.
 */
import type { BatchHeader } from '@tributary/record';
import { Segment } from './segment';
import { emptyFill, fillOf, hasRoom } from './segment-room';
import type { LogState } from './log-state';

/** Does this batch, with the offsets under which it is written, belong into another segment than the active one? */
export function mustRoll(log: LogState, batch: BatchHeader): boolean {
  const { active } = log.segments;
  if (!hasRoom(fillOf(active), batch, log.config)) return true;
  return log.activeAge.isOver(active, log.config);
}

/** By age alone, for a log to which nothing is written: what it holds becomes due for retention and compaction. */
export function rollIfOld(log: LogState): boolean {
  if (!log.activeAge.isOver(log.segments.active, log.config)) return false;
  log.health.guard('roll', () => roll(log));
  return true;
}

/**
 * @param firstOffset of the batch that goes into it. The segment begins at the log end, so that segments follow each
 * other without a hole; only where compaction has left a gap too wide for relative offsets, it begins at the batch.
 */
export function rollFor(log: LogState, batch: BatchHeader): void {
  const tooFar = !hasRoom(emptyFill(log.endOffset), batch, log.config);
  if (tooFar) log.files.noteGap(batch.baseOffset);
  roll(log, tooFar ? batch.baseOffset : log.endOffset);
}

export function roll(log: LogState, baseOffset = log.endOffset): void {
  const { active } = log.segments;
  if (active.size === 0) return beginEmptyElsewhere(log, baseOffset);
  log.producers.snapshot(baseOffset);
  const next = Segment.create(log.files, baseOffset);
  active.seal();
  log.segments.add(next);
  log.flusher.directoryChanged();
  // In the background: a full disk only means that the recovery point stays where it is.
  log.flushTo(baseOffset).catch((error: unknown) => {
    const { topic, partition, logger } = log.options;
    logger.debug('flush after a roll failed', { topic, partition, error });
  });
}

/** Nothing is in the active segment, and it begins too far before what goes into it. */
function beginEmptyElsewhere(log: LogState, baseOffset: number): void {
  const { segments, files, flusher } = log;
  if (segments.active.baseOffset === baseOffset) return;
  flusher.truncations += 1;
  const create = (): Segment => Segment.create(files, baseOffset);
  if (segments.first === segments.active) {
    segments.replaceAll(create);
  } else {
    for (const empty of segments.removeFrom(segments.active.baseOffset)) empty.remove();
    segments.add(create());
  }
  flusher.directoryChanged();
}
