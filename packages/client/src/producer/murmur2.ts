/**
 * Austin Appleby's MurmurHash2, 32 bits, with the seed that Kafka's Java client uses: the same key goes to the
 * same partition whoever writes it. Called by the partitioner.
 */
const SEED = 0x9747b28c;
const M = 0x5bd1e995;
const R = 24;

/** As a signed 32-bit integer. */
export function murmur2(bytes: Uint8Array): number {
  const length = bytes.length;
  let hash = SEED ^ length;
  const wholeWords = length & ~3;
  for (let at = 0; at < wholeWords; at += 4) {
    let word = byteAt(bytes, at);
    word |= byteAt(bytes, at + 1) << 8;
    word |= byteAt(bytes, at + 2) << 16;
    word |= byteAt(bytes, at + 3) << 24;
    word = Math.imul(word, M);
    word ^= word >>> R;
    hash = Math.imul(hash, M) ^ Math.imul(word, M);
  }
  const rest = length - wholeWords;
  if (rest === 3) hash ^= byteAt(bytes, wholeWords + 2) << 16;
  if (rest >= 2) hash ^= byteAt(bytes, wholeWords + 1) << 8;
  if (rest >= 1) hash = Math.imul(hash ^ byteAt(bytes, wholeWords), M);
  hash ^= hash >>> 13;
  hash = Math.imul(hash, M);
  return (hash ^ (hash >>> 15)) | 0;
}

function byteAt(bytes: Uint8Array, at: number): number {
  return bytes[at] ?? 0;
}
