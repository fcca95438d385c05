/** What a record is, before it is encoded and after it is decoded. */
export interface RecordHeader {
  readonly key: string;
  readonly value: Buffer | null;
}

export interface RecordInput {
  readonly key: Buffer | null;
  /** null: a tombstone. */
  readonly value: Buffer | null;
  readonly headers: readonly RecordHeader[];
  /** Milliseconds since the epoch, from -1 (none) to MAX_TIMESTAMP. */
  readonly timestamp: number;
}

export interface DecodedRecord {
  readonly offset: number;
  readonly timestamp: number;
  readonly key: Buffer | null;
  readonly value: Buffer | null;
  readonly headers: RecordHeader[];
  readonly leaderEpoch: number;
}

/** The last instant that a Date can hold. */
export const MAX_TIMESTAMP = 8_640_000_000_000_000;

/** The smallest record: six one-byte fields after its length. */
export const RECORD_BYTES_MIN = 7;

/** Length, attributes, two deltas, key and value length, count of headers at their longest. */
const RECORD_OVERHEAD_MAX = 5 + 1 + 10 + 5 + 5 + 5 + 5;

/** An upper bound of the encoded size, without encoding: for limits and room. */
export function recordSizeBound(
  key: Buffer | null,
  value: Buffer | null,
  headers: readonly RecordHeader[],
): number {
  let bytes = RECORD_OVERHEAD_MAX + (key?.length ?? 0) + (value?.length ?? 0);
  for (const header of headers) {
    bytes += 10 + Buffer.byteLength(header.key) + (header.value?.length ?? 0);
  }
  return bytes;
}
