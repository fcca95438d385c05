/**
 * Key -> its last offset, in a fixed amount of memory: an open-addressing table of 24 bytes a slot, 16 of a
 * digest of the key and 8 of the offset, whatever the keys' lengths. Invariant: `lastOffset` gives the largest offset
 * that was put for the key. Two keys with one digest would be one key: with 128 bits of SHA-256 nobody finds
 * such a pair. Made for one compaction pass.
 */
import { createHash } from 'node:crypto';
import { assert } from '@tributary/common';

const SLOT_BYTES = 24;
const DIGEST_WORDS = 4;
/** Share of the slots that are used: beyond it probes become long. */
const LOAD_MAX = 0.75;
const SLOTS_MIN = 4;

export class KeyMap {
  private readonly slots: number;
  private readonly keysMax: number;
  private readonly digests: Uint32Array;
  /** Offset + 1; 0: free. */
  private readonly offsets: Float64Array;
  private used = 0;

  /**
   * @param maxBytes never more than that, but for a table of 4 slots
   * @param keysExpected never room for more than that
   */
  constructor(maxBytes: number, keysExpected: number) {
    const wanted = Math.ceil(keysExpected / LOAD_MAX) + 1;
    this.slots = Math.max(SLOTS_MIN, Math.min(Math.floor(maxBytes / SLOT_BYTES), wanted));
    this.keysMax = Math.floor(this.slots * LOAD_MAX);
    this.digests = new Uint32Array(this.slots * DIGEST_WORDS);
    this.offsets = new Float64Array(this.slots);
  }

  get size(): number {
    return this.used;
  }

  /** False, and nothing happens: it is a new key, and there is no room. Offsets rise. */
  put(key: Buffer, offset: number): boolean {
    const digest = digestOf(key);
    const slot = this.find(digest);
    const known = this.offsets[slot] as number;
    assert(offset >= known - 1, 'offsets rise');
    if (known === 0) {
      if (this.used >= this.keysMax) return false;
      this.used += 1;
      for (let word = 0; word < DIGEST_WORDS; word += 1) {
        this.digests[slot * DIGEST_WORDS + word] = digest.readUInt32LE(word * 4);
      }
    }
    this.offsets[slot] = offset + 1;
    return true;
  }

  /** -1: the key was not put. */
  lastOffset(key: Buffer): number {
    return (this.offsets[this.find(digestOf(key))] as number) - 1;
  }

  /** The slot that has this digest, or the free one where it would go. */
  private find(digest: Buffer): number {
    let slot = digest.readUInt32LE(0) % this.slots;
    while (this.offsets[slot] !== 0 && !this.isAt(slot, digest)) {
      slot = slot + 1 === this.slots ? 0 : slot + 1;
    }
    return slot;
  }

  private isAt(slot: number, digest: Buffer): boolean {
    const at = slot * DIGEST_WORDS;
    for (let word = 0; word < DIGEST_WORDS; word += 1) {
      if (this.digests[at + word] !== digest.readUInt32LE(word * 4)) return false;
    }
    return true;
  }
}

/** Its first 16 bytes are used. */
function digestOf(key: Buffer): Buffer {
  return createHash('sha256').update(key).digest();
}
