/**
 * A batch without records that stands for offsets whose records are lost: 61 bytes. So a log has no hole that could be
 * taken for a lost segment, does not give these offsets to other records, and replicates the loss like any batch;
 * Kafka's compaction leaves batches of that kind, too. Called by the repair of a log.
 */
import { BATCH_HEADER_BYTES, CRC_FROM, crc32c } from '@tributary/record';

/** Of one batch: its offsets are relative and have 31 bits. */
const OFFSETS_MAX = 2 ** 31 - 1;
const LENGTH_PREFIX_BYTES = 12;
const MAGIC = 2;
const NONE = -1;

export interface Gap {
  readonly fromOffset: number;
  /** Exclusive. */
  readonly toOffset: number;
}

/** One batch, or as many as it takes. */
export function gapBatches(gap: Gap, leaderEpoch: number): Buffer {
  const batches: Buffer[] = [];
  for (let from = gap.fromOffset; from < gap.toOffset;) {
    const to = Math.min(gap.toOffset, from + OFFSETS_MAX);
    batches.push(gapBatch(from, to - 1 - from, leaderEpoch));
    from = to;
  }
  return Buffer.concat(batches);
}

function gapBatch(baseOffset: number, lastOffsetDelta: number, leaderEpoch: number): Buffer {
  const batch = Buffer.alloc(BATCH_HEADER_BYTES);
  batch.writeBigInt64BE(BigInt(baseOffset), 0);
  batch.writeInt32BE(BATCH_HEADER_BYTES - LENGTH_PREFIX_BYTES, 8);
  batch.writeInt32BE(leaderEpoch, 12);
  batch.writeInt8(MAGIC, 16);
  batch.writeInt32BE(lastOffsetDelta, 23);
  batch.writeBigInt64BE(BigInt(NONE), 27); // base timestamp
  batch.writeBigInt64BE(BigInt(NONE), 35); // max timestamp
  batch.writeBigInt64BE(BigInt(NONE), 43); // producer id
  batch.writeInt16BE(NONE, 51); // producer epoch
  batch.writeInt32BE(NONE, 53); // base sequence
  batch.writeUInt32BE(crc32c(batch.subarray(CRC_FROM)), 17);
  return batch;
}
