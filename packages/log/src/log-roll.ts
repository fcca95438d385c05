/**
 * When a log begins another segment, and how. Invariant: the old one is sealed, and its producer snapshot
 * written, before anything goes into the next. Called by appends and by log maintenance.
 */
import { Segment, SEGMENT_OFFSETS_MAX } from './segment';
import type { LogState } from './log-state';

/** Begins another segment when these bytes would make the active one too large. */
export function rollFor(log: LogState, bytes: number, lastOffset: number): void {
  const { active } = log.segments;
  if (active.size === 0) return;
  const fits = active.size + bytes <= log.config.segmentBytes;
  if (fits && lastOffset - active.baseOffset <= SEGMENT_OFFSETS_MAX) return;
  roll(log);
}

export function roll(log: LogState): void {
  const { active } = log.segments;
  const baseOffset = log.endOffset;
  log.producers.snapshot(baseOffset);
  const next = Segment.create(log.disk, log.directory, baseOffset);
  active.seal();
  log.segments.add(next);
  log.flusher.directoryChanged();
  // In the background: a full disk only means that the recovery point stays where it is.
  log.flushTo(baseOffset).catch((error: unknown) => {
    const { topic, partition, logger } = log.options;
    logger.debug('flush after a roll failed', { topic, partition, error });
  });
}
