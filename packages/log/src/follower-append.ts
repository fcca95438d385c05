/**
 * The check of what a leader sent before a follower appends it: whole batches, true CRCs, offsets at or above
 * the log end (compaction leaves gaps), epochs that do not fall. All of it, before the first byte is written.
 * Divides the batches into groups that fit a segment each. Called by the log.
 */
import { TributaryError } from '@tributary/common';
import { checkCrc, readBatchHeader, splitBatches, type BatchHeader } from '@tributary/record';
import { emptyFill, hasRoom, withBatch, type RoomLimits, type SegmentFill } from './segment-room';

export interface FollowerPosition {
  readonly name: string;
  readonly logEndOffset: number;
  /** -1: the log is empty. A later epoch in which nothing was written does not count. */
  readonly lastBatchEpoch: number;
  readonly limits: RoomLimits;
  /** How full the active segment is. */
  readonly active: SegmentFill;
  /** Nothing goes into the active segment any more, however empty it is. */
  readonly activeIsOver: boolean;
}

export interface BatchGroup {
  /** It goes into a new segment. */
  readonly beginsSegment: boolean;
  readonly bytes: Buffer;
  readonly headers: readonly BatchHeader[];
}

/** Throws CORRUPT_BATCH or INVALID_BATCH. */
export function checkReplicated(batches: Buffer, position: FollowerPosition): BatchGroup[] {
  let { logEndOffset, lastBatchEpoch: latestEpoch } = position;
  const headers = splitBatches(batches).map((batch) => {
    const header = checkedHeader(batch, position.name);
    if (header.baseOffset < logEndOffset) {
      throw refuse(position.name, `base offset ${header.baseOffset} is below ${logEndOffset}`);
    }
    if (header.leaderEpoch < latestEpoch) {
      throw refuse(position.name, `leader epoch ${header.leaderEpoch} is below ${latestEpoch}`);
    }
    logEndOffset = header.lastOffset + 1;
    latestEpoch = header.leaderEpoch;
    return header;
  });
  return groupBySegment(batches, headers, position);
}

function checkedHeader(batch: Buffer, name: string): BatchHeader {
  if (!checkCrc(batch)) {
    throw new TributaryError('CORRUPT_BATCH', `${name}: a replicated batch fails its CRC`);
  }
  const header = readBatchHeader(batch);
  if (header.magic !== 2 || header.lastOffsetDelta < 0) {
    throw refuse(name, `magic ${header.magic}, last offset delta ${header.lastOffsetDelta}`);
  }
  return header;
}

function groupBySegment(
  batches: Buffer,
  headers: readonly BatchHeader[],
  { limits, active, activeIsOver, logEndOffset }: FollowerPosition,
): BatchGroup[] {
  const groups: BatchGroup[] = [];
  let fill = active;
  let beginsSegment = false;
  let from = 0;
  let to = 0;
  let members: BatchHeader[] = [];
  const finish = (): void => {
    if (members.length > 0) {
      groups.push({ beginsSegment, bytes: batches.subarray(from, to), headers: members });
    }
    members = [];
    from = to;
  };
  let end = logEndOffset;
  for (const header of headers) {
    const isOver = activeIsOver && !beginsSegment && members.length === 0;
    if (isOver || !hasRoom(fill, header, limits)) {
      finish();
      beginsSegment = true;
      fill = emptyFill(hasRoom(emptyFill(end), header, limits) ? end : header.baseOffset);
    }
    members.push(header);
    to += header.sizeInBytes;
    fill = withBatch(fill, header);
    end = header.lastOffset + 1;
  }
  finish();
  return groups;
}

function refuse(name: string, problem: string): TributaryError {
  return new TributaryError(
    'INVALID_BATCH',
    `${name}: a replicated batch does not fit: ${problem}`,
  );
}
