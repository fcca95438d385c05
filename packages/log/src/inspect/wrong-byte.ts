/**
 * Which byte is it? A CRC does not only tell that bytes changed: a CRC is linear, so if a single byte is wrong, the
 * difference between the two sums tells which one and by what. One pass from the end to the front, undoing one
 * step of the CRC for each byte. When several bytes changed nothing fits, or (once in 16 million bytes or so)
 * something by chance: therefore one answer or none. Called for everything that a CRC covers.
 */
import { crc32c } from '@tributary/record';

const POLYNOMIAL = 0x82f63b78; // CRC-32C, reflected

export interface WrongByte {
  readonly position: number;
  readonly is: number;
  readonly was: number;
}

/** Entry b: the difference that a difference b in the last byte makes. */
const steps = new Uint32Array(256);
/** By its highest byte, which no two entries share: the entry's index. */
const byHighByte = new Uint8Array(256);

for (let byte = 0; byte < 256; byte += 1) {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ POLYNOMIAL : crc >>> 1;
  steps[byte] = crc;
  byHighByte[(crc >>> 24) & 0xff] = byte;
}

/** undefined: not one byte, or it cannot be told which. `expected` is the CRC that the bytes had. */
export function findWrongByte(bytes: Buffer, expected: number): WrongByte | undefined {
  let difference = (crc32c(bytes) ^ expected) >>> 0;
  let found: WrongByte | undefined;
  for (let position = bytes.length - 1; position >= 0; position -= 1) {
    const byte = byHighByte[difference >>> 24] as number;
    const step = steps[byte] as number;
    if (difference === step && byte !== 0) {
      if (found) return undefined;
      const is = bytes[position] as number;
      found = { position, is, was: is ^ byte };
    }
    difference = ((((difference ^ step) << 8) >>> 0) | byte) >>> 0;
  }
  return found;
}

/** Is it the stored sum in which one byte changed? */
export function isWrongSum(bytes: Buffer, stored: number): boolean {
  const difference = (crc32c(bytes) ^ stored) >>> 0;
  return [0, 8, 16, 24].some((shift) => ((difference >>> shift) << shift) >>> 0 === difference && difference >>> shift <= 0xff); // prettier-ignore
}
