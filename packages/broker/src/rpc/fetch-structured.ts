/**
 * Batches as records, for clients without a batch decoder. Invariant: an answer holds a bounded amount of decoded
 * records, however well its batches are compressed; what does not fit is left to the next fetch. Called by fetches that
 * ask for it.
 */
import { hasCode } from '@tributary/common';
import type { StructuredRecordInput } from '@tributary/protocol';
import { decodeBatch, recordSizeBound, splitBatches, type DecodedRecord } from '@tributary/record';

/** Decoded, in one answer: it must fit into a message. */
const MAX_DECODED_BYTES = 16 * 1024 * 1024;

/** What is left of one answer, shared by its partitions. */
export class DecodedRoom {
  private left = MAX_DECODED_BYTES;
  private used = false;

  /** undefined: it does not fit any more. Throws BATCH_TOO_LARGE for the first one only, which never will. */
  decode(batch: Buffer): DecodedRecord[] | undefined {
    try {
      const records = decodeBatch(batch, { maxInflatedBytes: this.left });
      this.used = true;
      for (const { key, value, headers } of records) {
        this.left = Math.max(0, this.left - recordSizeBound(key, value, headers));
      }
      return records;
    } catch (error) {
      if (this.used && hasCode(error, 'BATCH_TOO_LARGE')) return undefined;
      throw error;
    }
  }
}

/** @param from the first batch may begin before the offset that was asked for. */
export function decodeFetched(
  batches: Buffer,
  from: number,
  room: DecodedRoom,
): StructuredRecordInput[] {
  const fetched: StructuredRecordInput[] = [];
  for (const batch of splitBatches(batches)) {
    const records = room.decode(batch);
    if (!records) break;
    for (const record of records) if (record.offset >= from) fetched.push(structured(record));
  }
  return fetched;
}

function structured(record: DecodedRecord): StructuredRecordInput {
  const { offset, timestamp, key, value, headers } = record;
  return {
    offset,
    timestamp,
    key: key ?? undefined,
    value: value ?? undefined,
    headers: headers.map((header) => ({ key: header.key, value: header.value ?? undefined })),
  };
}
