/**
 * Reads the records of one batch, inflated. Never beyond its end: every length is checked before it is
 * believed, and whatever does not fit is INVALID_BATCH. `skipRecord` makes no objects: the broker walks
 * each produced batch with it. Called by validator, decoder and the filter of compaction.
 */
import { invalidBatch } from './batch-header';
import type { RecordHeader } from './record';

export class RecordReader {
  /** Of the record read last. */
  timestampDelta = 0;
  offsetDelta = 0;
  /** Of the record that `skipRecord` passed. */
  hasKey = false;
  /** Of the record that `readKey` read: is it no tombstone? */
  hasValue = false;
  /** Where its offset delta begins: what comes before it may be written anew. */
  offsetDeltaAt = 0;
  private at = 0;
  private end = 0;

  constructor(private readonly bytes: Buffer) {}

  get finished(): boolean {
    return this.at === this.bytes.length;
  }

  /** Where the next record begins. */
  get position(): number {
    return this.at;
  }

  /** Checks the whole shape of the next record, keeps nothing but its two deltas and whether it has a key. */
  skipRecord(): void {
    if (!this.skipPlainRecord()) this.skipAnyRecord();
  }

  /**
   * Nearly every record: no headers, and no number of more than two bytes. One loop-free pass over local variables, because
   * it is what the broker does most. False: it is another one, or not sound, and nothing has changed; then it is
   * walked again field by field, and that says what is wrong. What lies behind the end of the bytes reads as undefined,
   * with which no comparison holds.
   */
  private skipPlainRecord(): boolean {
    const { bytes } = this;
    let { at } = this;
    let number = bytes[at++]!;
    if (!(number < 0x80)) {
      const second = bytes[at++]!;
      if (!(second < 0x80)) return false;
      number = (number & 0x7f) | (second << 7);
    }
    if (number & 1) return false;
    const end = at + (number >>> 1);
    at += 1; // attributes
    let timestamp = bytes[at++]!;
    if (!(timestamp < 0x80)) {
      const second = bytes[at++]!;
      if (!(second < 0x80)) return false;
      timestamp = (timestamp & 0x7f) | (second << 7);
    }
    const offsetDeltaAt = at;
    let offset = bytes[at++]!;
    if (!(offset < 0x80)) {
      const second = bytes[at++]!;
      if (!(second < 0x80)) return false;
      offset = (offset & 0x7f) | (second << 7);
    }
    const key = bytes[at++]!;
    let keyLength = key;
    if (!(key < 0x80)) {
      const second = bytes[at++]!;
      if (!(second < 0x80)) return false;
      keyLength = (key & 0x7f) | (second << 7);
    }
    // 1 stands for -1: there is none.
    if (keyLength !== 1) {
      if (keyLength & 1) return false;
      at += keyLength >>> 1;
    }
    let valueLength = bytes[at++]!;
    if (!(valueLength < 0x80)) {
      const second = bytes[at++]!;
      if (!(second < 0x80)) return false;
      valueLength = (valueLength & 0x7f) | (second << 7);
    }
    if (valueLength !== 1) {
      if (valueLength & 1) return false;
      at += valueLength >>> 1;
    }
    // Positions only rise: when it ends where it says, nothing of it lay beyond. The last byte counts its headers.
    if (bytes[at] !== 0 || at + 1 !== end) return false;
    this.timestampDelta = (timestamp >>> 1) ^ -(timestamp & 1);
    this.offsetDelta = (offset >>> 1) ^ -(offset & 1);
    this.offsetDeltaAt = offsetDeltaAt;
    this.hasKey = keyLength !== 1;
    this.at = this.end = end;
    return true;
  }

  private skipAnyRecord(): void {
    this.start();
    this.hasKey = this.skipField('key') >= 0;
    this.skipField('value');
    this.skipHeaders();
    this.finish();
  }

  /** The next record's key as a view, and whether it has a value: all that compaction asks. */
  readKey(): Buffer | null {
    this.start();
    const key = this.field('key');
    this.hasValue = this.skipField('value') >= 0;
    this.skipHeaders();
    this.finish();
    return key;
  }

  /** The next record's key, value and headers as views. */
  readRecord(): { key: Buffer | null; value: Buffer | null; headers: RecordHeader[] } {
    this.start();
    const key = this.field('key');
    const value = this.field('value');
    const count = this.headersCount();
    const headers: RecordHeader[] = [];
    for (let i = 0; i < count; i += 1) {
      const name = this.field('header key');
      if (name === null) throw invalidBatch('a header has no key');
      headers.push({ key: name.toString('utf8'), value: this.field('header value') });
    }
    this.finish();
    return { key, value, headers };
  }

  private start(): void {
    this.end = this.bytes.length;
    const length = this.varint();
    if (length < 0 || length > this.bytes.length - this.at) {
      throw invalidBatch(`a record of ${length} bytes reaches beyond its batch`);
    }
    this.end = this.at + length;
    this.take(1); // attributes of a record: none is defined
    this.timestampDelta = this.varlong();
    this.offsetDeltaAt = this.at;
    this.offsetDelta = this.varint();
  }

  private finish(): void {
    if (this.at !== this.end) {
      throw invalidBatch(`a record is ${this.end - this.at} bytes longer than its fields`);
    }
  }

  private skipHeaders(): void {
    const headers = this.headersCount();
    for (let i = 0; i < headers; i += 1) {
      if (this.skipField('header key') < 0) throw invalidBatch('a header has no key');
      this.skipField('header value');
    }
  }

  private headersCount(): number {
    const count = this.varint();
    // A header has at least two bytes, so a count that lies cannot make us loop for long.
    if (count < 0 || count > (this.end - this.at) / 2) {
      throw invalidBatch(`a record cannot have ${count} headers`);
    }
    return count;
  }

  private skipField(what: string): number {
    const length = this.varint();
    if (length < -1) throw invalidBatch(`a ${what} cannot have ${length} bytes`);
    if (length > 0) this.take(length);
    return length;
  }

  private field(what: string): Buffer | null {
    const length = this.skipField(what);
    return length < 0 ? null : this.bytes.subarray(this.at - length, this.at);
  }

  private take(length: number): void {
    this.at += length;
    if (this.at > this.end) throw invalidBatch('a record ends before its fields do');
  }

  private byte(): number {
    if (this.at >= this.end) throw invalidBatch('a record ends within a number');
    return this.bytes[this.at++] as number;
  }

  /** Nearly all numbers have one byte: small enough to be inlined where it is called. */
  private varint(): number {
    const first = this.at < this.end ? (this.bytes[this.at] as number) : 0x80;
    if (first > 0x7f) return this.longVarint();
    this.at += 1;
    return (first >>> 1) ^ -(first & 1);
  }

  private longVarint(): number {
    let value = 0;
    for (let shift = 0; shift <= 28; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte <= 0x7f) return (value >>> 1) ^ -(value & 1);
    }
    throw invalidBatch('a number has more than five bytes');
  }

  private varlong(): number {
    const first = this.at < this.end ? (this.bytes[this.at] as number) : 0x80;
    if (first > 0x7f) return this.longVarlong();
    this.at += 1;
    return (first >>> 1) ^ -(first & 1);
  }

  private longVarlong(): number {
    const from = this.at;
    let value = 0;
    for (let shift = 0; shift < 28; shift += 7) {
      const byte = this.byte();
      value |= (byte & 0x7f) << shift;
      if (byte <= 0x7f) return (value >>> 1) ^ -(value & 1);
    }
    this.at = from;
    return this.wideVarlong();
  }

  /** More than four bytes: timestamps days apart, rare enough for bigint. */
  private wideVarlong(): number {
    let value = 0n;
    for (let shift = 0n; ; shift += 7n) {
      if (shift > 63n) throw invalidBatch('a number has more than ten bytes');
      const byte = this.byte();
      value |= BigInt(byte & 0x7f) << shift;
      if (byte <= 0x7f) break;
    }
    const decoded = Number(BigInt.asIntN(64, (value >> 1n) ^ -(value & 1n)));
    if (!Number.isSafeInteger(decoded)) throw invalidBatch('a timestamp is beyond 2^53');
    return decoded;
  }
}
