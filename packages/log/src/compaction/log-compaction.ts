/**
 * What a log offers to the compactor: how urgent compaction is, and one pass at a time. Made by Log.
 */
import { assert, hasCode } from '@tributary/common';
import { UNDECODABLE } from '../log-health';
import type { LogState } from '../log-state';
import type { Segment } from '../segment';
import {
  cleanableRange,
  isCompacted,
  urgencyOf,
  type CleanableRange,
  type SegmentView,
} from './cleanable-range';
import { CompactionPass, type PassOptions, type PassResult } from './compaction-pass';

export class LogCompaction {
  /** Of the first record of a segment. */
  private readonly firstTimestamps = new WeakMap<Segment, number>();

  constructor(private readonly log: LogState) {}

  /** Offsets below it were compacted at least once. */
  get compactedTo(): number {
    return this.log.compactedTo;
  }

  /** undefined: not due. The larger, the sooner. Throws CLOSED, STORAGE_ERROR. */
  urgency(): number | undefined {
    const { log } = this;
    log.health.check();
    const range = this.range();
    if (!range) return undefined;
    const oldest = log.health.guard('read', () => this.oldestDirty(range));
    return urgencyOf(range, log.config, oldest, log.options.clock.wallTime());
  }

  /**
   * undefined: nothing is to be done. Rejects with CANCELLED when the log was truncated meanwhile or the throttle was told to
   * stop, with CLOSED, with DISK_FULL, and with UNSUPPORTED_CODEC, INVALID_BATCH or BATCH_TOO_LARGE when a batch cannot be
   * decoded; the log is as sound as before then. What else it rejects with has taken the log offline.
   */
  async run(options: PassOptions): Promise<PassResult | undefined> {
    const { log } = this;
    log.health.check();
    const range = this.range();
    if (!range) return undefined;
    assert(!log.compaction, 'a log is compacted by one pass at a time');
    const pass = new CompactionPass(log, range, options);
    log.compaction = pass;
    try {
      return await pass.run();
    } catch (error) {
      if (isHarmless(error)) throw error;
      return await log.health.guardAsync('compact', () => Promise.reject(error));
    } finally {
      log.compaction = undefined;
    }
  }

  private range(): CleanableRange | undefined {
    const { config, configIsKnown, segments, startOffset, compactedTo, highWatermark, options } =
      this.log;
    if (!configIsKnown || !isCompacted(config)) return undefined;
    const { all } = segments;
    const sealed = all.slice(0, -1).map((segment, i): SegmentView => {
      const endOffset = (all[i + 1] as Segment).baseOffset;
      const { baseOffset, size: sizeBytes } = segment;
      return { baseOffset, endOffset, sizeBytes, maxTimestamp: segment.maxTimestamp?.timestamp };
    });
    const firstDirtyOffset = Math.max(startOffset, compactedTo);
    const view = { sealed, firstDirtyOffset, highWatermark };
    return cleanableRange(view, config, options.clock.wallTime());
  }

  private oldestDirty({ firstDirtyOffset, end }: CleanableRange): number | undefined {
    const { segments, config } = this.log;
    if (config.maxCompactionLagMs === Number.MAX_SAFE_INTEGER) return undefined;
    const timestamps = segments
      .within(firstDirtyOffset, end)
      .filter((segment) => segment.nextOffset > firstDirtyOffset)
      .map((segment) => this.firstTimestamp(segment));
    return Math.min(...timestamps);
  }

  private firstTimestamp(segment: Segment): number {
    const known = this.firstTimestamps.get(segment);
    if (known !== undefined) return known;
    let timestamp = Infinity;
    for (const { header } of segment.scan()) {
      // The base timestamp of a batch with a delete horizon is that horizon.
      timestamp = header.hasDeleteHorizon ? header.maxTimestamp : header.baseTimestamp;
      break;
    }
    this.firstTimestamps.set(segment, timestamp);
    return timestamp;
  }
}

function isHarmless(error: unknown): boolean {
  return hasCode(error, 'CANCELLED', 'CLOSED', 'DISK_FULL', ...UNDECODABLE);
}
