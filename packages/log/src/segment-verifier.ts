/**
 * Reads a segment batch by batch after a crash: whole, CRC, magic, offsets rising, epochs not falling. Rebuilds
 * the indexes on the way. Reads through the thread pool, so that a process that recovers many gigabytes
 * still answers its health checks. Called by the loader.
 */
import { BATCH_HEADER_BYTES, batchSizeAt, checkCrc, type BatchHeader } from '@tributary/record';
import { hasCode } from '@tributary/common';
import { headerAt } from './batch-scan';
import type { EpochEntry } from './leader-epoch-cache';
import type { Segment } from './segment';

const WINDOW_BYTES = 1024 * 1024;

export interface VerifyProgress {
  /** Where the sound part of the segment ends. */
  readonly validBytes: number;
  readonly nextOffset: number;
  readonly latestEpoch: number;
}

/** @param changes gets the epoch changes that are found. */
export async function verifySegment(
  segment: Segment,
  before: VerifyProgress | undefined,
  changes: EpochEntry[],
): Promise<VerifyProgress> {
  segment.reset();
  const { file } = segment;
  let latestEpoch = before?.latestEpoch ?? -1;
  let validBytes = 0;
  let window: Buffer = Buffer.alloc(0);
  let windowAt = 0;
  while (validBytes < file.size) {
    const at = validBytes - windowAt;
    const wanted = wantedBytes(window, at);
    if (wanted === undefined || validBytes + wanted > file.size) break;
    if (at + wanted > window.length) {
      window = await file.readAsync(validBytes, Math.max(WINDOW_BYTES, wanted));
      windowAt = validBytes;
      if (window.length < wanted) break;
      continue;
    }
    const header = soundBatch(window.subarray(at, at + wanted));
    if (!header || header.baseOffset < segment.nextOffset || header.leaderEpoch < latestEpoch) {
      break;
    }
    if (header.leaderEpoch > latestEpoch) {
      latestEpoch = header.leaderEpoch;
      changes.push({ epoch: latestEpoch, startOffset: header.baseOffset });
    }
    segment.note(validBytes, header);
    validBytes += wanted;
  }
  segment.seal();
  return { validBytes, nextOffset: segment.nextOffset, latestEpoch };
}

/** Bytes of the batch at `at`, or of a header while that is not there yet. undefined: a length that no batch has. */
function wantedBytes(window: Buffer, at: number): number | undefined {
  if (window.length - at < BATCH_HEADER_BYTES) return BATCH_HEADER_BYTES;
  try {
    return batchSizeAt(window, at);
  } catch (error) {
    if (hasCode(error, 'INVALID_BATCH')) return undefined;
    throw error;
  }
}

function soundBatch(batch: Buffer): BatchHeader | undefined {
  return checkCrc(batch) ? headerAt(batch, 0) : undefined;
}
