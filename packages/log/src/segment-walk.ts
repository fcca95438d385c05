/**
 * Reads a segment from its beginning by what its batches say alone, checks that each follows the one before, and makes
 * the indexes and sums of the segment on the way. For segments to which no seal belongs: after a crash, and where
 * the seal or an index is damaged. Called by recovery and by the rebuild.
 */
import { BATCH_HEADER_BYTES, batchSizeAt, type BatchHeader } from '@tributary/record';
import { hasCode } from '@tributary/common';
import type { BatchChain } from './batch-chain';

/** As the largest max.message.bytes. More is no length but a damaged field, for which no memory is taken. */
export const BATCH_BYTES_MAX = 64 * 1024 * 1024;

/** The part of a segment that learns of its batches. */
export interface BatchNotes {
  note(position: number, header: BatchHeader, bytes: Buffer, at: number): void;
}

export interface Flaw {
  readonly position: number;
  readonly problem: string;
  /** There is a whole batch, with a true CRC, that does not belong there. */
  readonly isWhole: boolean;
}

/** Takes the whole batches of `window`, which lies at `position`. Returns what is wrong with the first that is not sound. */
export function takeBatches(
  segment: BatchNotes,
  chain: BatchChain,
  window: { readonly bytes: Buffer; readonly position: number },
  onBatch: (header: BatchHeader) => void = () => undefined,
): Flaw | undefined {
  const { bytes } = window;
  for (let at = 0; at < bytes.length;) {
    const position = window.position + at;
    const size = wholeBatchAt(bytes, at);
    if (size === undefined) return { position, problem: 'not a whole batch', isWhole: false };
    const link = chain.link(bytes.subarray(at, at + size));
    if (link.problem !== undefined) return { position, ...link };
    segment.note(position, link.header, bytes, at);
    onBatch(link.header);
    at += size;
  }
  return undefined;
}

/** Where the last batch ends that lies in these bytes as a whole. */
export function wholeBatchesEnd(bytes: Buffer): number {
  let at = 0;
  for (let size = wholeBatchAt(bytes, at); size !== undefined; size = wholeBatchAt(bytes, at)) {
    at += size;
  }
  return at;
}

/** How many bytes the batch has that begins here; undefined: none does, or the header is not there. */
export function sizeOfBatch(bytes: Buffer, at = 0): number | undefined {
  if (bytes.length - at < BATCH_HEADER_BYTES) return undefined;
  try {
    const size = batchSizeAt(bytes, at);
    return size !== undefined && size <= BATCH_BYTES_MAX ? size : undefined;
  } catch (error) {
    if (hasCode(error, 'INVALID_BATCH')) return undefined;
    throw error;
  }
}

function wholeBatchAt(bytes: Buffer, at: number): number | undefined {
  const size = sizeOfBatch(bytes, at);
  return size !== undefined && at + size <= bytes.length ? size : undefined;
}
