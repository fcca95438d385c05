/**
 * One pass over one log: flushes what it works on, maps the keys of the dirty part, recopies group after group from
 * the log start up to where the map ends. Invariant: at each moment the log in memory and on disk is whole, some groups
 * recopied and some not; only a pass that came to its end moves `compactedTo`. A truncation below its end aborts it.
 * Made for one run by LogCompaction.
 */
import { hasCode, TributaryError } from '@tributary/common';
import { visitKeys } from '@tributary/record';
import type { LogState } from '../log-state';
import { SEGMENT_OFFSETS_MAX, type Segment } from '../segment';
import { readBatches } from './batch-source';
import type { CleanableRange } from './cleanable-range';
import type { CompactionLimits } from './compaction-limits';
import type { CompactionThrottle } from './compaction-throttle';
import { GroupCopy, type CopyCounts } from './group-copy';
import { KeyMap } from './key-map';
import { NeededBatches } from './needed-batches';
import { groupSegments, type GroupedSegment } from './segment-groups';
import type { SegmentSwap } from './segment-swap';

export interface PassOptions {
  readonly limits: CompactionLimits;
  readonly throttle: CompactionThrottle;
}

export interface PassResult extends CopyCounts {
  /** From the first dirty offset up to here it is clean now. */
  readonly from: number;
  readonly to: number;
  readonly keys: number;
}

const NOTHING: CopyCounts = {
  recordsDropped: 0,
  segmentsBefore: 0,
  segmentsAfter: 0,
  bytesBefore: 0,
  bytesAfter: 0,
};

interface Candidate extends GroupedSegment {
  readonly segment: Segment;
}

export class CompactionPass {
  private isCut = false;
  private swap: SegmentSwap | undefined;

  constructor(
    private readonly log: LogState,
    private readonly range: CleanableRange,
    private readonly options: PassOptions,
  ) {}

  /** The log ends at `offset` now, or starts there: called before anything of it is removed. */
  cutAt(offset: number): void {
    if (offset >= this.range.end) return;
    this.isCut = true;
    this.swap?.abandon();
    this.swap = undefined;
  }

  /** Rejects with CANCELLED when the log was cut, with CLOSED, DISK_FULL, or what the disk or the decoder threw. */
  async run(): Promise<PassResult> {
    const { log, range } = this;
    await log.flushTo(range.end);
    this.check();
    const { map, mapEnd } = await this.mapKeys();
    const counts = await this.copyGroups(map, mapEnd);
    this.check();
    log.compactedTo = mapEnd;
    log.options.onCheckpointDue?.();
    return { ...counts, from: range.firstDirtyOffset, to: mapEnd, keys: map.size };
  }

  /** Throws when the world has changed in a way that ends the pass. After every await. */
  private check(): void {
    this.log.health.check();
    if (this.isCut) throw new TributaryError('CANCELLED', `${this.log.name} was truncated`);
  }

  private async mapKeys(): Promise<{ map: KeyMap; mapEnd: number }> {
    const { log, range, options } = this;
    const { maxKeyMapBytes, maxInflatedBytes } = options.limits;
    const from = range.firstDirtyOffset;
    const map = new KeyMap(maxKeyMapBytes, range.end - from);
    let mapEnd = range.end;
    for (const segment of log.segments.within(from, range.end)) {
      if (segment.nextOffset <= from) continue;
      await this.unlessRemoved([segment], async () => {
        log.segments.touch(segment);
        for await (const { batch, header } of readBatches(segment, from)) {
          this.check();
          if (header.lastOffset < from || header.isControl) continue;
          visitKeys(
            batch,
            ({ offset, key }) => {
              if (offset < from || key === null || map.put(key, offset)) return true;
              mapEnd = offset;
              return false;
            },
            { maxInflatedBytes },
          );
          if (mapEnd < range.end) return;
          await options.throttle.spent(batch.length);
          this.check();
        }
      });
      if (mapEnd < range.end) break;
    }
    return { map, mapEnd };
  }

  private async copyGroups(keyMap: KeyMap, mapEnd: number): Promise<CopyCounts> {
    const { log, range, options } = this;
    const needed = new NeededBatches(log, range.end);
    log.producers.forgetSnapshotsBelow(range.end);
    let total = NOTHING;
    let position = log.segments.first.baseOffset;
    for (;;) {
      const group = this.nextGroup(position, mapEnd);
      if (!group) return total;
      const copy = new GroupCopy(log, group, {
        ...options,
        keyMap,
        needed,
        firstDirtyOffset: range.firstDirtyOffset,
        mapEnd,
        check: () => this.check(),
        announce: (swap) => (this.swap = swap),
      });
      const before = needed.position;
      const counts = await this.unlessRemoved(group, () => copy.run());
      this.swap = undefined;
      if (!counts) {
        // Retention took a part of the group: what is left is grouped anew.
        needed.returnTo(before);
        continue;
      }
      position = group.at(-1)?.nextOffset ?? position;
      total = sumOf(total, counts);
    }
  }

  private nextGroup(position: number, mapEnd: number): readonly Segment[] | undefined {
    const { segments, config } = this.log;
    const candidates = segments.all.flatMap((segment, i): Candidate[] => {
      const endOffset = segments.all[i + 1]?.baseOffset;
      if (
        endOffset === undefined ||
        segment.baseOffset < position ||
        segment.baseOffset >= mapEnd
      ) {
        return [];
      }
      const { baseOffset, size: sizeBytes } = segment;
      const indexBytes = segment.indexBytes;
      return [{ segment, baseOffset, endOffset, sizeBytes, indexBytes }];
    });
    const [group] = groupSegments(candidates, { ...config, offsetsMax: SEGMENT_OFFSETS_MAX });
    return group?.map(({ segment }) => segment);
  }

  /** undefined: some of these segments were removed under the work, by retention. */
  private async unlessRemoved<T>(
    segments: readonly Segment[],
    work: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.check();
      const { all } = this.log.segments;
      if (!hasCode(error, 'CLOSED') || segments.every((one) => all.includes(one))) throw error;
      return undefined;
    }
  }
}

function sumOf(a: CopyCounts, b: CopyCounts): CopyCounts {
  return {
    recordsDropped: a.recordsDropped + b.recordsDropped,
    segmentsBefore: a.segmentsBefore + b.segmentsBefore,
    segmentsAfter: a.segmentsAfter + b.segmentsAfter,
    bytesBefore: a.bytesBefore + b.bytesBefore,
    bytesAfter: a.bytesAfter + b.bytesAfter,
  };
}
