/**
 * Which neighbouring segments become one when they are recopied, judged by their sizes before: a group fits into one
 * segment even if nothing is dropped. Pure. Called by the compaction pass.
 */
import type { LogConfig } from '../partition-log';

export interface GroupedSegment {
  readonly baseOffset: number;
  /** Where the next segment begins. */
  readonly endOffset: number;
  readonly sizeBytes: number;
  /** Of the larger one of its two indexes. */
  readonly indexBytes: number;
}

export type GroupLimits = Pick<LogConfig, 'segmentBytes' | 'segmentIndexBytes'> & {
  /** Largest distance of an offset from the base offset of its segment. */
  readonly offsetsMax: number;
};

/** Each group has at least one segment, also one that is beyond the limits by itself. */
export function groupSegments<T extends GroupedSegment>(
  segments: readonly T[],
  limits: GroupLimits,
): T[][] {
  const groups: T[][] = [];
  let group: T[] = [];
  let sizeBytes = 0;
  let indexBytes = 0;
  for (const segment of segments) {
    const first = group[0] ?? segment;
    const fits =
      sizeBytes + segment.sizeBytes <= limits.segmentBytes &&
      indexBytes + segment.indexBytes <= limits.segmentIndexBytes &&
      segment.endOffset - 1 - first.baseOffset <= limits.offsetsMax;
    if (group.length > 0 && !fits) {
      groups.push(group);
      group = [];
      sizeBytes = 0;
      indexBytes = 0;
    }
    group.push(segment);
    sizeBytes += segment.sizeBytes;
    indexBytes += segment.indexBytes;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
