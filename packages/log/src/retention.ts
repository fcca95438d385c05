/**
 * Which segments of a log have had their time: a pure decision over what the log says of itself.
 *
 *     segment   0 ......... 100 ......... 200 ......... 300 (active) .... log end
 *     log start             ^ 120                    ^ 290 high watermark
 *               deletable   still read               from here on never touched
 *
 * Asked of the oldest segment, again and again until one stays: does it lie below the log start, is it too old, is the log
 * too large with it - in this order, so that what a second run would delete is deleted by the first (KAFKA-12177).
 * Invariants: whole segments from the front; nothing that reaches beyond the high watermark (KAFKA-5634).
 *
 * The age of a segment counts from its largest timestamp, but at the latest from when it was sealed: nothing in it was
 * written later, whatever a producer's clock said. So a timestamp of the far future keeps a segment for `retention.ms`
 * after its roll, which `segment.ms` bounds, and not for ever. Called by log-retention.
 */
import type { LogConfig } from './partition-log';

export interface RetainedSegment {
  readonly baseOffset: number;
  /** Where the next segment begins; of the active one, the log end. */
  readonly endOffset: number;
  readonly sizeBytes: number;
  /** undefined: it is empty, or its records have none. */
  readonly maxTimestamp: number | undefined;
  /** undefined: it is the active one. */
  readonly sealedAt: number | undefined;
}

export interface RetentionView {
  /** Oldest first, the active one last. */
  readonly segments: readonly RetainedSegment[];
  readonly logStartOffset: number;
  readonly highWatermark: number;
  readonly config: Pick<LogConfig, 'cleanupPolicy' | 'retentionMs' | 'retentionBytes'>;
}

export type RetentionCause = 'logStart' | 'time' | 'size';

export interface RetentionDecision {
  /** One for each segment to delete, oldest first. */
  readonly causes: readonly RetentionCause[];
  /** Not below the present one. */
  readonly logStartOffset: number;
  /** The active one is among them: it must be rolled first, so that the log goes on in another file. */
  readonly rollActive: boolean;
}

export function segmentsToDelete(view: RetentionView, now: number): RetentionDecision {
  const { segments, highWatermark } = view;
  const causes: RetentionCause[] = [];
  let { logStartOffset } = view;
  let rollActive = false;
  let logBytes = segments.reduce((sum, segment) => sum + segment.sizeBytes, 0);
  for (const [i, segment] of segments.entries()) {
    const isActive = i === segments.length - 1;
    if (segment.endOffset > highWatermark || (isActive && segment.sizeBytes === 0)) break;
    const cause = causeToDelete(segment, { ...view, logBytes }, now);
    if (!cause) break;
    causes.push(cause);
    logBytes -= segment.sizeBytes;
    logStartOffset = Math.max(logStartOffset, segment.endOffset);
    rollActive = isActive;
  }
  return { causes, logStartOffset, rollActive };
}

function causeToDelete(
  segment: RetainedSegment,
  { logStartOffset, config, logBytes }: RetentionView & { readonly logBytes: number },
  now: number,
): RetentionCause | undefined {
  if (segment.endOffset <= logStartOffset) return 'logStart';
  // Of a log that is only compacted, every key's last value stays, however old.
  if (config.cleanupPolicy === 'compact') return undefined;
  if (config.retentionMs >= 0 && now - newestOf(segment, now) > config.retentionMs) return 'time';
  const { retentionBytes } = config;
  const isTooLarge = retentionBytes >= 0 && logBytes - segment.sizeBytes >= retentionBytes;
  return isTooLarge ? 'size' : undefined;
}

/** When its newest record was written, as far as can be told. */
function newestOf({ maxTimestamp, sealedAt }: RetainedSegment, now: number): number {
  const atTheLatest = sealedAt ?? now;
  return maxTimestamp === undefined ? atTheLatest : Math.min(maxTimestamp, atTheLatest);
}
