/**
 * The check of what a leader sent before a follower appends it: whole batches, true CRCs, offsets at or above
 * the log end (compaction leaves gaps), epochs that do not fall. All of it, before the first byte is written.
 * Divides the batches into groups that fit a segment each. Called by the log.
 */
import { TributaryError } from '@tributary/common';
import { checkCrc, readBatchHeader, splitBatches, type BatchHeader } from '@tributary/record';

export interface FollowerPosition {
  readonly name: string;
  readonly logEndOffset: number;
  /** -1: the log is empty. A later epoch in which nothing was written does not count. */
  readonly lastBatchEpoch: number;
  readonly segmentBytes: number;
  /** In the active segment. */
  readonly activeBytes: number;
}

export interface BatchGroup {
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
  { segmentBytes, activeBytes }: FollowerPosition,
): BatchGroup[] {
  const groups: BatchGroup[] = [];
  let inSegment = activeBytes;
  let from = 0;
  let to = 0;
  let members: BatchHeader[] = [];
  const finish = (): void => {
    if (members.length > 0) groups.push({ bytes: batches.subarray(from, to), headers: members });
    members = [];
    from = to;
  };
  for (const header of headers) {
    if (inSegment > 0 && inSegment + header.sizeInBytes > segmentBytes) {
      finish();
      inSegment = 0;
    }
    members.push(header);
    to += header.sizeInBytes;
    inSegment += header.sizeInBytes;
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
