/**
 * How many bytes an LZ4 block holds, from the lengths of its sequences alone:
 *
 *   token (literals 4 bits, match 4 bits) | more of the literals' length | literals | offset u16 | more of the match's
 *
 * A length field of 15 goes on in bytes of up to 255; the last sequence ends after its literals. Nothing is copied.
 * Called where the cheap bound of a frame exceeds the limit.
 */
import { notOfCodec } from './codec';

const MIN_MATCH = 4;

/** Of the block in [from, to). Throws INVALID_BATCH. */
export function lz4BlockSize(bytes: Buffer, from: number, to: number): number {
  let at = from;
  let size = 0;
  const length = (nibble: number): number => {
    if (nibble < 15) return nibble;
    let sum = nibble;
    for (;;) {
      if (at >= to) throw cutOff();
      const byte = bytes[at++] as number;
      sum += byte;
      if (byte < 255) return sum;
    }
  };
  while (at < to) {
    const token = bytes[at++] as number;
    const literals = length(token >> 4);
    if (literals > to - at) throw cutOff();
    at += literals;
    size += literals;
    if (at === to) return size;
    if (to - at < 2) throw cutOff();
    at += 2;
    size += length(token & 0x0f) + MIN_MATCH;
  }
  throw cutOff();
}

function cutOff(): Error {
  return notOfCodec('lz4', 'a block ends within a sequence');
}
