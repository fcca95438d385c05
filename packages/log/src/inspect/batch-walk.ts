/**
 * Walks a segment file that may be damaged, batch by batch, whole batches in hand, a bounded window at a time. Goes on
 * behind a batch that does not check when the next one begins where it should, or else at the next position
 * where the indexes say that one begins. Called by the inspection.
 */
import { BATCH_HEADER_BYTES, checkCrc, readBatchHeader, type BatchHeader } from '@tributary/record';
import { hasCode } from '@tributary/common';
import type { DiskFile } from '../disk';

const WINDOW_BYTES = 2 ** 20;
/** Beyond the largest that a topic may allow: no length of ours. */
const BATCH_BYTES_MAX = 2 ** 26 + 2 ** 20;
const LENGTH_AT = 8;
const MAGIC_AT = 16;
const MAGIC = 2;

export interface WalkedBatch {
  readonly kind: 'batch';
  readonly position: number;
  readonly bytes: Buffer;
  readonly header: BatchHeader;
  readonly crcMatches: boolean;
}

export interface BrokenBatch {
  readonly kind: 'broken';
  /** Where it begins. */
  readonly position: number;
  /** Where in it the fault is. */
  readonly faultAt: number;
  readonly problem: string;
  /** Where the walk goes on; undefined: nothing behind it can be read. */
  readonly goesOnAt: number | undefined;
}

/** The file ends before the batch does. */
export interface TornBatch {
  readonly kind: 'torn';
  readonly position: number;
  readonly bytesLeft: number;
  /** As its header says, if there is one. */
  readonly bytesNeeded: number;
  readonly goesOnAt: number | undefined;
}

export type WalkStep = WalkedBatch | BrokenBatch | TornBatch;

/** @param anchors rising positions at which batches begin, as far as is known. */
export async function* walkBatches(
  file: DiskFile,
  from = 0,
  anchors: readonly number[] = [],
): AsyncGenerator<WalkStep> {
  const window = new FileWindow(file);
  let position: number | undefined = from;
  while (position !== undefined && position < file.size) {
    const step: WalkStep = await stepAt(window, file.size, position, anchors);
    yield step;
    position = step.kind === 'batch' ? position + step.bytes.length : step.goesOnAt;
  }
}

async function stepAt(
  window: FileWindow,
  end: number,
  position: number,
  anchors: readonly number[],
): Promise<WalkStep> {
  const anchor = anchors.find((one) => one > position && one < end);
  const broken = (faultAt: number, problem: string, goesOnAt = anchor): BrokenBatch => {
    return { kind: 'broken', position, faultAt: position + faultAt, problem, goesOnAt };
  };
  const bytesLeft = end - position;
  const head = await window.view(position, BATCH_HEADER_BYTES);
  if (head.length < BATCH_HEADER_BYTES) {
    const bytesNeeded = BATCH_HEADER_BYTES;
    return { kind: 'torn', position, bytesLeft, bytesNeeded, goesOnAt: undefined };
  }
  const size = 12 + head.readInt32BE(LENGTH_AT);
  if (size < BATCH_HEADER_BYTES || size > BATCH_BYTES_MAX) {
    return broken(LENGTH_AT, `a batch cannot have ${size} bytes`);
  }
  if (size > bytesLeft) {
    return { kind: 'torn', position, bytesLeft, bytesNeeded: size, goesOnAt: anchor };
  }
  const bytes = await window.view(position, size);
  const crcMatches = checkCrc(bytes);
  if (!crcMatches && !(await beginsAt(window, end, position + size))) {
    return broken(
      LENGTH_AT,
      `no batch follows ${size} bytes further on, and the CRC does not match`,
    );
  }
  const magic = bytes.readInt8(MAGIC_AT);
  if (magic !== MAGIC) return broken(MAGIC_AT, `magic ${magic} is not 2`, position + size);
  const header = headerOf(bytes);
  if (typeof header === 'string') return broken(0, header, position + size);
  return { kind: 'batch', position, bytes, header, crcMatches };
}

/** Does a batch seem to begin there, or the file end? */
async function beginsAt(window: FileWindow, end: number, position: number): Promise<boolean> {
  if (end - position < BATCH_HEADER_BYTES) return end === position;
  const head = await window.view(position, BATCH_HEADER_BYTES);
  return (
    head.readInt8(MAGIC_AT) === MAGIC && 12 + head.readInt32BE(LENGTH_AT) >= BATCH_HEADER_BYTES
  );
}

function headerOf(bytes: Buffer): BatchHeader | string {
  try {
    return readBatchHeader(bytes);
  } catch (error) {
    if (hasCode(error, 'INVALID_BATCH')) return error.message;
    throw error;
  }
}

/** The part of a file that is in memory. Views of it stay as they are. */
class FileWindow {
  private bytes: Buffer = Buffer.alloc(0);
  private at = 0;

  constructor(private readonly file: DiskFile) {}

  /** Shorter only at the end of the file. */
  async view(position: number, length: number): Promise<Buffer> {
    const from = position - this.at;
    if (from >= 0 && from + length <= this.bytes.length) {
      return this.bytes.subarray(from, from + length);
    }
    this.bytes = await this.file.readAsync(position, Math.max(length, WINDOW_BYTES));
    this.at = position;
    return this.bytes.subarray(0, length);
  }
}
