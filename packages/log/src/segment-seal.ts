/**
 * The seal of a segment: `<base offset, 20 digits>.seal`, what the other files of the segment do not say about
 * themselves. A batch's CRC covers byte 21 to its end; the seal holds the sums of the 21 bytes before it, and
 * of both indexes, so that a flipped byte anywhere is found. Kafka's tools pass over files of this name.
 *
 *   head     0 magic u32 "TSEL"        4 version i16 = 1         6 unused i16 = 0
 *            8 base offset i64        16 next offset i64        24 bytes of the .log i64
 *           32 bytes of the .index u32                          36 CRC of the .index u32
 *           40 bytes of the .timeindex u32                      44 CRC of the .timeindex u32
 *           48 CRC of leader-epoch-checkpoint u32: of its text at a clean close, else 0
 *           52 sealed at i64          60 first append at i64    68 first timestamp i64 (base timestamp of batch 0)
 *           76 largest timestamp i64  84 its offset i64         (as the last entry of the time index)
 *           92 count of epochs u32    96 count of intervals u32
 *          100 epochs, each 8 bytes: epoch i32, its first offset here minus the base offset u32
 *              CRC-32C of the bytes before it u32
 *   body     intervals, each 12 bytes: base offset of its first batch minus the segment's u32, position u32, CRC-32C
 *              u32 of the first 21 bytes of each batch in it, one after another; the first interval at position 0,
 *              then one for each entry of the offset index
 *            CRC-32C of all bytes before it u32
 *
 * Big-endian; times in ms since the epoch. -1 stands for the times of an empty segment, and for the largest timestamp and its
 * offset also where compaction has left no record. Invariant: what `decodeSeal` gives was written by `encodeSeal`, byte for byte. Called by the segment.
 */
import { TributaryError } from '@tributary/common';
import { crc32c } from '@tributary/record';
import type { EpochEntry } from './leader-epoch-cache';
import type { TimestampedOffset } from './partition-log';

/** Offsets in a segment are relative to its base offset, in the indexes with 31 bits. */
export const SEGMENT_OFFSETS_MAX = 2 ** 31 - 1;

const MAGIC = 0x5453454c;
const VERSION = 1;
const EPOCHS_AT = 100;
const EPOCH_BYTES = 8;
export const INTERVAL_BYTES = 12;
const CRC_BYTES = 4;
const NONE = -1;

/** What stands in the head: enough to open a segment without reading the rest. */
export interface SealHead {
  readonly baseOffset: number;
  readonly nextOffset: number;
  readonly logBytes: number;
  readonly index: FileSum;
  readonly timeIndex: FileSum;
  /** Of leader-epoch-checkpoint at a clean close; 0: not told. */
  readonly epochsCrc: number;
  /** Wall time at which nothing was written to it any more. */
  readonly sealedAt: number;
  /** Wall time of the broker at its first append. undefined: empty. */
  readonly firstAppendAt: number | undefined;
  readonly firstTimestamp: number | undefined;
  readonly maxTimestamp: TimestampedOffset | undefined;
  /** Epochs of the batches, each with the first offset that it has in this segment. */
  readonly epochs: readonly EpochEntry[];
  readonly intervalCount: number;
}

export interface FileSum {
  readonly bytes: number;
  readonly crc: number;
}

export interface SegmentSeal extends SealHead {
  /** `intervalCount` entries as they are on disk. */
  readonly intervals: Buffer;
}

export interface SealInterval {
  readonly baseOffset: number;
  readonly position: number;
  readonly crc: number;
}

export function intervalsOf(seal: SegmentSeal): SealInterval[] {
  return Array.from({ length: seal.intervalCount }, (_, i) => {
    const at = i * INTERVAL_BYTES;
    return {
      baseOffset: seal.baseOffset + seal.intervals.readUInt32BE(at),
      position: seal.intervals.readUInt32BE(at + 4),
      crc: seal.intervals.readUInt32BE(at + 8),
    };
  });
}

export function encodeSeal(seal: SegmentSeal): Buffer {
  const bodyAt = headBytes(seal.epochs.length);
  const bytes = Buffer.alloc(bodyAt + seal.intervalCount * INTERVAL_BYTES + CRC_BYTES);
  writeHead(bytes, seal);
  seal.epochs.forEach(({ epoch, startOffset }, i) => {
    bytes.writeInt32BE(epoch, EPOCHS_AT + i * EPOCH_BYTES);
    bytes.writeUInt32BE(startOffset - seal.baseOffset, EPOCHS_AT + i * EPOCH_BYTES + 4);
  });
  writeCrc(bytes, bodyAt - CRC_BYTES);
  seal.intervals.copy(bytes, bodyAt, 0, seal.intervalCount * INTERVAL_BYTES);
  writeCrc(bytes, bytes.length - CRC_BYTES);
  return bytes;
}

/** How many bytes at the start of a seal `decodeSealHead` needs, as far as these first ones tell; at least 104. */
export function sealHeadBytes(start: Buffer): number {
  return start.length < EPOCHS_AT ? headBytes(0) : headBytes(start.readUInt32BE(92));
}

/** @param bytes may be more than the head. Throws CORRUPT_LOG, with the position, or UNKNOWN_FORMAT. */
export function decodeSealHead(bytes: Buffer, path: string): SealHead {
  if (bytes.length < headBytes(0)) throw corrupt(path, bytes.length, 'its head is cut off');
  if (bytes.readUInt32BE(0) !== MAGIC) throw corrupt(path, 0, 'it does not begin as a seal');
  const crcAt = headBytes(bytes.readUInt32BE(92)) - CRC_BYTES;
  if (crcAt + CRC_BYTES > bytes.length) throw corrupt(path, bytes.length, 'its head is cut off');
  checkCrcAt(bytes, crcAt, path, 'its head fails its CRC');
  const version = bytes.readInt16BE(4);
  if (version !== VERSION) {
    const message = `${path} has version ${version}, this program knows ${VERSION}`;
    throw new TributaryError('UNKNOWN_FORMAT', message, { details: { path, version } });
  }
  const long = (at: number): number => Number(bytes.readBigInt64BE(at));
  const isEmpty = long(24) === 0;
  const baseOffset = long(8);
  return {
    baseOffset,
    nextOffset: long(16),
    logBytes: long(24),
    index: { bytes: bytes.readUInt32BE(32), crc: bytes.readUInt32BE(36) },
    timeIndex: { bytes: bytes.readUInt32BE(40), crc: bytes.readUInt32BE(44) },
    epochsCrc: bytes.readUInt32BE(48),
    sealedAt: long(52),
    firstAppendAt: isEmpty ? undefined : long(60),
    firstTimestamp: isEmpty ? undefined : long(68),
    maxTimestamp: long(84) === NONE ? undefined : { timestamp: long(76), offset: long(84) },
    epochs: Array.from({ length: bytes.readUInt32BE(92) }, (_, i) => {
      const at = EPOCHS_AT + i * EPOCH_BYTES;
      return { epoch: bytes.readInt32BE(at), startOffset: baseOffset + bytes.readUInt32BE(at + 4) };
    }),
    intervalCount: bytes.readUInt32BE(96),
  };
}

/** Throws CORRUPT_LOG, with the position, or UNKNOWN_FORMAT. */
export function decodeSeal(bytes: Buffer, path: string): SegmentSeal {
  const head = decodeSealHead(bytes, path);
  const bodyAt = headBytes(head.epochs.length);
  const crcAt = bodyAt + head.intervalCount * INTERVAL_BYTES;
  if (bytes.length !== crcAt + CRC_BYTES) {
    const position = Math.min(bytes.length, crcAt + CRC_BYTES);
    const message = `it has ${bytes.length} bytes instead of ${crcAt + CRC_BYTES}`;
    throw corrupt(path, position, message);
  }
  checkCrcAt(bytes, crcAt, path, 'it fails its CRC');
  return { ...head, intervals: bytes.subarray(bodyAt, crcAt) };
}

function headBytes(epochs: number): number {
  return EPOCHS_AT + epochs * EPOCH_BYTES + CRC_BYTES;
}

function writeHead(bytes: Buffer, seal: SegmentSeal): void {
  const long = (value: number | undefined, at: number): void => {
    bytes.writeBigInt64BE(BigInt(value ?? NONE), at);
  };
  bytes.writeUInt32BE(MAGIC, 0);
  bytes.writeInt16BE(VERSION, 4);
  long(seal.baseOffset, 8);
  long(seal.nextOffset, 16);
  long(seal.logBytes, 24);
  bytes.writeUInt32BE(seal.index.bytes, 32);
  bytes.writeUInt32BE(seal.index.crc, 36);
  bytes.writeUInt32BE(seal.timeIndex.bytes, 40);
  bytes.writeUInt32BE(seal.timeIndex.crc, 44);
  bytes.writeUInt32BE(seal.epochsCrc, 48);
  long(seal.sealedAt, 52);
  long(seal.firstAppendAt, 60);
  long(seal.firstTimestamp, 68);
  long(seal.maxTimestamp?.timestamp, 76);
  long(seal.maxTimestamp?.offset, 84);
  bytes.writeUInt32BE(seal.epochs.length, 92);
  bytes.writeUInt32BE(seal.intervalCount, 96);
}

function writeCrc(bytes: Buffer, at: number): void {
  bytes.writeUInt32BE(crc32c(bytes.subarray(0, at)), at);
}

function checkCrcAt(bytes: Buffer, at: number, path: string, problem: string): void {
  if (crc32c(bytes.subarray(0, at)) !== bytes.readUInt32BE(at)) throw corrupt(path, at, problem);
}

function corrupt(path: string, position: number, problem: string): TributaryError {
  return new TributaryError('CORRUPT_LOG', `${path}: ${problem}`, { details: { path, position } });
}
