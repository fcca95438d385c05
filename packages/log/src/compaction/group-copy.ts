/**
 * Recopies one group of neighbouring segments into one, and puts that in their place, unless it would be the
 * same. Invariant: when it rejects, the group is as it was. Called by the compaction pass.
 */
import { assert, TributaryError } from '@tributary/common';
import { MAX_TIMESTAMP, readBatchHeader } from '@tributary/record';
import type { LogState } from '../log-state';
import { Segment } from '../segment';
import { retainBatch, type PassBounds } from './batch-retention';
import { readBatches } from './batch-source';
import { CleanedWriter } from './cleaned-writer';
import type { CompactionLimits } from './compaction-limits';
import type { CompactionThrottle } from './compaction-throttle';
import type { KeyMap } from './key-map';
import type { NeededBatches } from './needed-batches';
import { CLEANED } from './segment-file-names';
import { SegmentSwap } from './segment-swap';

export interface CopyCounts {
  readonly recordsDropped: number;
  readonly segmentsBefore: number;
  readonly segmentsAfter: number;
  /** Of these segments. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
}

export interface GroupCopyOptions {
  readonly limits: CompactionLimits;
  readonly throttle: CompactionThrottle;
  readonly keyMap: KeyMap;
  readonly needed: NeededBatches;
  readonly firstDirtyOffset: number;
  readonly mapEnd: number;
  /** Throws when the pass must end. */
  readonly check: () => void;
  /** From now on a truncation must abandon it. */
  readonly announce: (swap: SegmentSwap) => void;
}

/** What a copy takes at most, unless it turns out that it took longer: see `run`. */
const ALLOWANCE_MS = 1_000;
const ALLOWANCE_GROWTH = 4;

interface Copied {
  readonly recordsDropped: number;
  readonly hasStamped: boolean;
  readonly isSame: boolean;
}

export class GroupCopy {
  /** Where the group ends. */
  private readonly end: number;
  private readonly bytes: number;

  constructor(
    private readonly log: LogState,
    private readonly group: readonly Segment[],
    private readonly options: GroupCopyOptions,
  ) {
    this.end = group.at(-1)?.nextOffset ?? 0;
    this.bytes = group.reduce((sum, { size }) => sum + size, 0);
  }

  /**
   * A tombstone lives for delete.retention.ms from the moment at which the older values of its key are not seen any
   * more. That is when the copy takes its place, later than the tombstone is stamped; so the horizon allows for
   * the time between, and if it was longer, the copy is made again with a larger allowance.
   *
   * Throws what `check` throws; CLOSED when a segment of the group was removed meanwhile; DISK_FULL.
   */
  async run(): Promise<CopyCounts> {
    const { needed } = this.options;
    const { clock } = this.log.options;
    const { deleteRetentionMs } = this.log.config;
    const before = needed.position;
    this.checkRoom();
    for (let allowanceMs = deleteRetentionMs > 0 ? ALLOWANCE_MS : 0; ;) {
      const began = clock.wallTime();
      const deleteHorizon = Math.min(began + allowanceMs + deleteRetentionMs, MAX_TIMESTAMP);
      const counts = await this.attempt({ now: began, deleteHorizon }, (hasStamped) => {
        const isLate = clock.wallTime() - began > allowanceMs;
        return !(isLate && hasStamped && allowanceMs > 0);
      });
      if (counts) return counts;
      needed.returnTo(before);
      allowanceMs = (clock.wallTime() - began) * ALLOWANCE_GROWTH;
    }
  }

  /** What fills the disk makes appends fail, so it is not even begun. */
  private checkRoom(): void {
    const { disk, directory, name } = this.log;
    const wanted = this.bytes;
    const free = disk.freeBytes(directory);
    if (free >= wanted) return;
    const message = `${name}: compaction needs ${wanted} bytes, ${free} are free`;
    throw new TributaryError('DISK_FULL', message, { details: { path: directory } });
  }

  /** undefined: `isInTime` said no, and nothing has changed. */
  private async attempt(
    times: Pick<PassBounds, 'now' | 'deleteHorizon'>,
    isInTime: (hasStamped: boolean) => boolean,
  ): Promise<CopyCounts | undefined> {
    const { log, group, options } = this;
    const baseOffset = (group[0] as Segment).baseOffset;
    const segment = Segment.create(log.files, baseOffset, CLEANED);
    const swap = new SegmentSwap(log, group, segment);
    try {
      const { recordsDropped, isSame, hasStamped } = await this.copyTo(segment, times);
      const before = { segmentsBefore: group.length, bytesBefore: this.bytes };
      if (isSame) {
        return {
          ...before,
          recordsDropped: 0,
          segmentsAfter: group.length,
          bytesAfter: this.bytes,
        };
      }
      await Promise.all([segment.file.datasync(), segment.syncIndexes(), log.files.syncGaps()]);
      this.check();
      options.announce(swap);
      swap.commit();
      await log.disk.syncDirectory(log.directory);
      this.check();
      if (!isInTime(hasStamped)) return undefined;
      const bytesAfter = segment.size;
      swap.finish();
      await log.disk.syncDirectory(log.directory);
      return { ...before, recordsDropped, segmentsAfter: 1, bytesAfter };
    } finally {
      this.abandon(swap);
    }
  }

  private async copyTo(
    segment: Segment,
    times: Pick<PassBounds, 'now' | 'deleteHorizon'>,
  ): Promise<Copied> {
    const { group, end } = this;
    const { limits, throttle, needed, keyMap, firstDirtyOffset, mapEnd } = this.options;
    const bounds = { ...times, firstDirtyOffset, mapEnd };
    const writer = new CleanedWriter(segment, limits.compactionSliceBytes);
    const { maxInflatedBytes } = limits;
    let recordsDropped = 0;
    let hasStamped = false;
    for (const original of group) {
      for await (const { batch, header } of readBatches(original)) {
        const isNeeded = needed.has(header, end);
        const context = { keyMap, bounds, maxInflatedBytes, isNeeded: () => isNeeded };
        const retained = retainBatch(batch, header, context);
        recordsDropped += retained.droppedRecords;
        hasStamped ||= retained.isStamped;
        const { batch: left } = retained;
        if (left) writer.add(left, left === batch ? header : readBatchHeader(left));
        await throttle.spent(batch.length + (left?.length ?? 0));
        this.check();
      }
    }
    writer.flush();
    assert(segment.nextOffset === end, 'the last batch of a group is kept');
    segment.firstAppendAt = group[0]?.firstAppendAt;
    segment.seal(group.at(-1)?.sealedAt);
    segment.persistIndexes();
    // Compressed anew, fewer records may take as many bytes.
    const isUntouched = recordsDropped === 0 && !hasStamped;
    const isSame = group.length === 1 && isUntouched && segment.size === group[0]?.size;
    return { recordsDropped, hasStamped, isSame };
  }

  private check(): void {
    this.options.check();
    if (this.log.segments.hasRun(this.group)) return;
    throw new TributaryError('CLOSED', `${this.log.name}: a segment was removed`);
  }

  /** Nothing, after `finish`. What cannot be removed now is removed at the next start. */
  private abandon(swap: SegmentSwap): void {
    try {
      swap.abandon();
    } catch (error) {
      const { topic, partition, logger } = this.log.options;
      logger.debug('what compaction had begun is left', { topic, partition, error });
    }
  }
}
