/**
 * One record as the user sees it. Offsets are bigint here and only here. Keys, values and header values are
 * views of the batch that was fetched: a user that keeps many small ones for long should copy them.
 */
import type { DecodedRecord, RecordHeader } from '@tributary/record';
import type { CallOptions } from '../call-options';

export type HeaderEntry = readonly [key: string, value: Buffer | null];

/** In the order in which they were produced, duplicates kept. */
export class RecordHeaders implements Iterable<HeaderEntry> {
  constructor(private readonly entries: readonly RecordHeader[]) {}

  get length(): number {
    return this.entries.length;
  }

  /** Of the last header with this key; undefined: there is none. */
  get(key: string): Buffer | null | undefined {
    return this.entries.findLast((entry) => entry.key === key)?.value;
  }

  getAll(key: string): (Buffer | null)[] {
    return this.entries.filter((entry) => entry.key === key).map(({ value }) => value);
  }

  *[Symbol.iterator](): Generator<HeaderEntry> {
    for (const { key, value } of this.entries) yield [key, value];
  }
}

export interface RecordOrigin {
  readonly topic: string;
  readonly partition: number;
}

/** Commits everything of the record's partition up to and with this record. */
export type CommitRecord = (record: DecodedRecord, options?: CallOptions) => Promise<void>;

export class ConsumerRecord<K = Uint8Array, V = Uint8Array> {
  constructor(
    private readonly origin: RecordOrigin,
    private readonly decoded: DecodedRecord,
    /** null: the record has no key. */
    readonly key: K | null,
    /** null: a tombstone. */
    readonly value: V | null,
    private readonly commitRecord: CommitRecord,
  ) {}

  get topic(): string {
    return this.origin.topic;
  }

  get partition(): number {
    return this.origin.partition;
  }

  get offset(): bigint {
    return BigInt(this.decoded.offset);
  }

  /** Milliseconds since the epoch. */
  get timestamp(): number {
    return this.decoded.timestamp;
  }

  get leaderEpoch(): number {
    return this.decoded.leaderEpoch;
  }

  get headers(): RecordHeaders {
    return new RecordHeaders(this.decoded.headers);
  }

  /** Throws FENCED_OWNER when the partition has gone to another member. Needs a group. */
  commit(options?: CallOptions): Promise<void> {
    return this.commitRecord(this.decoded, options);
  }

  toJSON(): Record<string, unknown> {
    const { topic, partition, timestamp, key, value, leaderEpoch } = this;
    const headers = this.decoded.headers.map((header) => [
      header.key,
      header.value?.toString('base64') ?? null,
    ]);
    const shown = (data: unknown): unknown =>
      data instanceof Uint8Array ? Buffer.from(data).toString('base64') : data;
    return {
      topic,
      partition,
      offset: String(this.offset),
      timestamp,
      leaderEpoch,
      key: shown(key),
      value: shown(value),
      headers,
    };
  }
}
