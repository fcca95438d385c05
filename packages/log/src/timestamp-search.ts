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
    segment.ensureIndexes();
    const position = segment.positionFor(segment.timeIndex.lookup(timestamp));
    for (const batch of segment.scan(position)) {
      if (batch.header.baseOffset >= below) return undefined;
      if (batch.header.maxTimestamp < timestamp || batch.header.lastOffset < from) continue;
      const found = recordsOf(segment, batch).find(
        (record) => record.timestamp >= timestamp && record.offset >= from,
      );
      if (found) return found.offset < below ? pick(found) : undefined;
    }
  }
  return undefined;
}

/** The first record that has the largest timestamp of all below `below`. */
export function latestBelow(segments: SegmentList, below: number): TimestampedOffset | undefined {
  let best: { segment: Segment; batch: ScannedBatch } | undefined;
  for (const segment of segments.within(segments.first.baseOffset, below)) {
    const found = latestBatch(segments, segment, below);
    if (found && found.header.maxTimestamp > (best?.batch.header.maxTimestamp ?? -Infinity)) {
      best = { segment, batch: found };
    }
  }
  if (!best) return undefined;
  const { maxTimestamp } = best.batch.header;
  const records = recordsOf(best.segment, best.batch);
  const first = records.find((record) => record.timestamp === maxTimestamp);
  return first && pick(first);
}

function latestBatch(
  segments: SegmentList,
  segment: Segment,
  below: number,
): ScannedBatch | undefined {
  const whole = segment.maxTimestamp;
  if (segment.nextOffset <= below) {
    segments.touch(segment);
    return whole && segment.findBatch(whole.offset);
  }
  let latest: ScannedBatch | undefined;
  for (const batch of segment.scan()) {
    if (batch.header.lastOffset >= below) break;
    if (batch.header.maxTimestamp > (latest?.header.maxTimestamp ?? -Infinity)) latest = batch;
  }
  return latest;
}

function recordsOf(segment: Segment, { position, header }: ScannedBatch): DecodedRecord[] {
  return decodeBatch(segment.file.read(position, header.sizeInBytes));
}

function pick({ offset, timestamp }: DecodedRecord): TimestampedOffset {
  return { offset, timestamp };
}
