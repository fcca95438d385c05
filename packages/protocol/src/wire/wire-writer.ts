/**
 * Writes protobuf's wire format in two passes: the first plans (exact size, lengths of nested messages), the
 * second fills one buffer of exactly that size, so that a batch is copied once. Invariant: both passes visit
 * the same fields in the same order. Called by the message tables.
 */
import { assert } from '@tributary/common';

/** What the first pass found out for the second: lengths of nested messages, and bytes made elsewhere. */
export type WirePlan = (number | Uint8Array)[];

export class WireWriter {
  private position = 0;
  private planned = 0;
  private readonly buffer: Buffer;

  constructor(
    size: number,
    private readonly plan: WirePlan,
  ) {
    this.buffer = Buffer.allocUnsafe(size);
  }

  /** Any safe integer; negative ones as the ten bytes of their 64-bit two's complement. */
  varint(value: number): void {
    let rest = value;
    if (value < 0) {
      for (let group = 0; group < 9; group += 1) {
        this.buffer[this.position++] = (rest & 0x7f) | 0x80;
        rest = Math.floor(rest / 128);
      }
      this.buffer[this.position++] = 1;
      return;
    }
    while (rest >= 0x80) {
      this.buffer[this.position++] = (rest & 0x7f) | 0x80;
      rest = rest < 0x8000_0000 ? rest >>> 7 : Math.floor(rest / 128);
    }
    this.buffer[this.position++] = rest;
  }

  string(value: string): void {
    const byteLength = this.nextPlanned();
    this.varint(byteLength);
    this.position += this.buffer.write(value, this.position, byteLength, 'utf8');
  }

  bytes(value: Uint8Array): void {
    this.varint(value.length);
    this.buffer.set(value, this.position);
    this.position += value.length;
  }

  /** The next length of the plan. */
  nextPlanned(): number {
    const planned = this.plan[this.planned++];
    assert(typeof planned === 'number', 'the two passes of an encoder differ');
    return planned;
  }

  /** The next bytes of the plan, with their length before them. */
  plannedBytes(): void {
    const planned = this.plan[this.planned++];
    assert(planned instanceof Uint8Array, 'the two passes of an encoder differ');
    this.bytes(planned);
  }

  finish(): Buffer {
    assert(this.position === this.buffer.length, 'an encoder planned another size than it wrote');
    return this.buffer;
  }
}

export function varintSize(value: number): number {
  if (value < 0) return 10;
  if (value < 128) return 1;
  let size = 2;
  for (let limit = 16_384; value >= limit && size < 8; limit *= 128) size += 1;
  return size;
}
