/**
 * The Random port. Production uses `systemRandom`; the simulation a seeded one. Nothing else may call
 * Math.random or crypto's random functions (lint).
 */
import { randomBytes } from 'node:crypto';

export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** `length` random bytes. */
  bytes(length: number): Buffer;
}

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => randomBytes(length),
};

/** Deterministic generator (mulberry32) for tests and simulation; the same seed gives the same sequence. */
export function seededRandom(seed: number): Random {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  return {
    next,
    bytes: (length) => Buffer.from(Array.from({ length }, () => Math.floor(next() * 256))),
  };
}

/** A 128-bit id as 22 characters of base64url: topic ids and cluster ids, in Kafka's notation. */
export function randomUuid(random: Random): string {
  for (;;) {
    const id = random.bytes(16).toString('base64url');
    // Kafka's rule: an id never starts with a dash, so that it is not taken for an option.
    if (!id.startsWith('-')) return id;
  }
}

export function randomInteger(random: Random, below: number): number {
  return Math.floor(random.next() * below);
}
