/**
 * Offsets by time. A segment that lies wholly below the limit answers from its largest timestamp; only the
 * batch that holds the answer is decoded. Called by the log for list-offsets.
 */
import { decodeBatch, type DecodedRecord } from '@tributary/record';
import type { ScannedBatch } from './batch-scan';
import type { TimestampedOffset } from './partition-log';
import type { Segment } from './segment';
import type { SegmentList } from './segment-list';

/** First record at or after `timestamp` with an offset in [from, below). */
export function firstAtOrAfter(
  segments: SegmentList,
  timestamp: number,
  from: number,
  below: number,
): TimestampedOffset | undefined {
  for (const segment of segments.within(from, below)) {
    if ((segment.maxTimestamp?.timestamp ?? -Infinity) < timestamp) continue;
    segments.touch(segment);
    for (const batch of segment.scan(segment.timeIndex.lookup(timestamp))) {
      if (batch.header.baseOffset >= below) return undefined;
      if (batch.header.maxTimestamp < timestamp || batch.header.lastOffset < from) continue;
      const found = decodeBatch(batch.bytes).find(
        (record) => record.timestamp >= timestamp && record.offset >= from,
      );
      if (found) return found.offset < below ? pick(found) : undefined;
    }
  }
  return undefined;
}

/** The first record that has the largest timestamp of all with an offset in [from, below). */
export function latestBelow(
  segments: SegmentList,
  from: number,
  below: number,
): TimestampedOffset | undefined {
  let best: TimestampedOffset | undefined;
  for (const segment of segments.within(from, below)) {
    if ((segment.maxTimestamp?.timestamp ?? -Infinity) <= (best?.timestamp ?? -Infinity)) continue;
    segments.touch(segment);
    const isWhole = segment.baseOffset >= from && segment.nextOffset <= below;
    for (const batch of isWhole ? latestBatch(segments, segment) : segment.scan()) {
      const { baseOffset, lastOffset, maxTimestamp } = batch.header;
      if (baseOffset >= below) break;
      if (lastOffset < from || maxTimestamp <= (best?.timestamp ?? -Infinity)) continue;
      for (const record of decodeBatch(batch.bytes)) {
        if (record.offset < from || record.offset >= below) continue;
        if (record.timestamp > (best?.timestamp ?? -Infinity)) best = pick(record);
      }
    }
  }
  return best;
}

/** The first one with the largest timestamp of the segment; [] when that is empty. */
function latestBatch(segments: SegmentList, segment: Segment): readonly ScannedBatch[] {
  segments.touch(segment);
  const batch = segment.maxTimestamp && segment.findBatch(segment.maxTimestamp.offset);
  return batch ? [batch] : [];
}

function pick({ offset, timestamp }: DecodedRecord): TimestampedOffset {
  return { offset, timestamp };
}
