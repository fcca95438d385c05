/**
 * Zigzag varints as the record format has them. Writers return the next position and trust the caller for
 * room; sizes are exact. Reading is in record-reader.ts.
 */

/** Longest 64-bit varint. */
export const VARLONG_MAX_BYTES = 10;

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

export function varintSize(value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 7;
  let size = 1;
  while (rest !== 0) {
    rest >>>= 7;
    size += 1;
  }
  return size;
}

export function varlongSize(value: number): number {
  if (value >= INT32_MIN && value <= INT32_MAX) return varintSize(value);
  let rest = zigzag64(value) >> 7n;
  let size = 1;
  while (rest !== 0n) {
    rest >>= 7n;
    size += 1;
  }
  return size;
}

/** A 32-bit value. */
export function writeVarint(bytes: Buffer, at: number, value: number): number {
  let rest = ((value << 1) ^ (value >> 31)) >>> 0;
  while (rest > 0x7f) {
    bytes[at++] = (rest & 0x7f) | 0x80;
    rest >>>= 7;
  }
  bytes[at++] = rest;
  return at;
}

/** Any safe integer. Beyond 32 bits it goes the slow way: only timestamps decades apart do. */
export function writeVarlong(bytes: Buffer, at: number, value: number): number {
  if (value >= INT32_MIN && value <= INT32_MAX) return writeVarint(bytes, at, value);
  let rest = zigzag64(value);
  while (rest > 0x7fn) {
    bytes[at++] = Number(rest & 0x7fn) | 0x80;
    rest >>= 7n;
  }
  bytes[at++] = Number(rest);
  return at;
}

function zigzag64(value: number): bigint {
  const wide = BigInt(value);
  return BigInt.asUintN(64, (wide << 1n) ^ (wide >> 63n));
}
