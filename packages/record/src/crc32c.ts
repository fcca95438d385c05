/**
 * CRC-32C (Castagnoli), the checksum of a batch. The native module when it loads, else tables (slicing by
 * eight); the tables also serve short inputs, where crossing into native code costs more than it saves.
 */
import { createRequire } from 'node:module';

/** Below this the tables win. */
const NATIVE_FROM_BYTES = 200;
const POLYNOMIAL = 0x82f63b78; // reflected

/** Table k, entry b: the CRC of byte b followed by k zero bytes. */
const tables: readonly Int32Array[] = makeTables();

function makeTables(): Int32Array[] {
  const first = new Int32Array(256);
  for (let byte = 0; byte < 256; byte += 1) {
    let crc = byte;
    for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
    first[byte] = crc;
  }
  const all = [first];
  for (let k = 1; k < 8; k += 1) {
    const previous = all[k - 1] as Int32Array;
    all.push(previous.map((crc) => (crc >>> 8) ^ (first[crc & 0xff] as number)));
  }
  return all;
}

export function crc32cByTables(bytes: Buffer): number {
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
    Int32Array,
  ];
  const end = bytes.length;
  let crc = -1;
  let at = 0;
  for (; at + 8 <= end; at += 8) {
    crc ^= bytes[at]! | (bytes[at + 1]! << 8) | (bytes[at + 2]! << 16) | (bytes[at + 3]! << 24);
    crc =
      t7[crc & 0xff]! ^
      t6[(crc >>> 8) & 0xff]! ^
      t5[(crc >>> 16) & 0xff]! ^
      t4[crc >>> 24]! ^
      t3[bytes[at + 4]!]! ^
      t2[bytes[at + 5]!]! ^
      t1[bytes[at + 6]!]! ^
      t0[bytes[at + 7]!]!;
  }
  for (; at < end; at += 1) crc = (crc >>> 8) ^ t0[(crc ^ bytes[at]!) & 0xff]!;
  return ~crc >>> 0;
}

/** The CRC of what `crc` is the CRC of, followed by bytes `from` to `to`: for sums over short pieces. 0: of nothing. */
export function continueCrc32c(crc: number, bytes: Buffer, from: number, to: number): number {
  const table = tables[0] as Int32Array;
  let state = ~crc;
  for (let at = from; at < to; at += 1) {
    state = (state >>> 8) ^ table[(state ^ bytes[at]!) & 0xff]!;
  }
  return ~state >>> 0;
}

const native = loadNative();

function loadNative(): ((bytes: Buffer) => number) | undefined {
  try {
    const module = createRequire(__filename)('@node-rs/crc32') as {
      crc32c: (this: void, bytes: Buffer) => number;
    };
    return module.crc32c(Buffer.from('123456789')) === 0xe3069283 ? module.crc32c : undefined;
  } catch {
    return undefined; // no prebuilt binary for this platform: the tables do the same, slower
  }
}

/** Unsigned. */
export function crc32c(bytes: Buffer): number {
  if (native === undefined || bytes.length < NATIVE_FROM_BYTES) return crc32cByTables(bytes);
  return native(bytes);
}
