/**
 * The LZ4 frame, as far as it must be understood to know what comes out of it and where it ends:
 *
 *   04 22 4d 18 | FLG | BD | content size u64? | header checksum | blocks | 00 00 00 00 | content checksum u32?
 *   block: size u32 (top bit: stored) | bytes | checksum u32?
 *
 * Checked here because the native decoder takes a frame without an end for a whole one and ignores what follows the
 * first. Blocks must be independent and no dictionary named: Kafka reads no other. Called by the lz4 codec.
 */
import { notOfCodec } from './codec';
import { lz4BlockSize } from './lz4-block';

const MAGIC = 0x184d2204;
const FLG = {
  versionMask: 0xc0,
  version: 0x40,
  independent: 0x20,
  blockChecksums: 0x10,
  contentSize: 0x08,
  contentChecksum: 0x04,
  reserved: 0x02,
  dictionary: 0x01,
} as const;
const STORED = 0x80000000;
/** Frames laid one after another; each costs a call into native code and its buffers. */
const MAX_FRAMES = 1_024;
/** A compressed byte stands for at most 255; what a block's first sequence has on top is less than this. */
const BLOCK_RATIO = 255;
const BLOCK_SLACK = 64;

interface Header {
  readonly blockBytesMax: number;
  readonly blocksAt: number;
  readonly checksumBytes: number;
  readonly trailerBytes: number;
}

export interface Lz4Frame {
  readonly bytes: Buffer;
  /** Certainly not more than this comes out. */
  readonly bound: number;
}

/** Throws INVALID_BATCH. */
export function lz4Frames(bytes: Buffer): Lz4Frame[] {
  const frames: Lz4Frame[] = [];
  let at = 0;
  do {
    if (frames.length >= MAX_FRAMES) throw notOfCodec('lz4', `more than ${MAX_FRAMES} frames`);
    const rest = bytes.subarray(at);
    const header = readHeader(rest);
    let bound = 0;
    const end = walkBlocks(rest, header, (from, to, stored) => {
      const length = to - from;
      bound += stored ? length : Math.min(header.blockBytesMax, length * BLOCK_RATIO + BLOCK_SLACK);
    });
    frames.push({ bytes: rest.subarray(0, end), bound });
    at += end;
  } while (at < bytes.length);
  return frames;
}

/** To the byte, by reading the sequences of each block; stops soon after `enough`. Throws INVALID_BATCH. */
export function lz4FrameSize({ bytes }: Lz4Frame, enough: number): number {
  const header = readHeader(bytes);
  let size = 0;
  walkBlocks(bytes, header, (from, to, stored) => {
    if (size > enough) return;
    const block = stored ? to - from : lz4BlockSize(bytes, from, to);
    if (block > header.blockBytesMax) throw notOfCodec('lz4', 'a block holds more than it may');
    size += block;
  });
  return size;
}

function readHeader(bytes: Buffer): Header {
  if (bytes.length < 7) throw notOfCodec('lz4', 'the header of a frame is cut off');
  if (bytes.readUInt32LE(0) !== MAGIC) throw notOfCodec('lz4', 'a frame has another magic');
  const flags = bytes.readUInt8(4);
  const sizeCode = bytes.readUInt8(5) >> 4;
  if ((flags & FLG.versionMask) !== FLG.version || flags & FLG.reserved) {
    throw notOfCodec('lz4', 'a frame of another version');
  }
  if (!(flags & FLG.independent)) throw notOfCodec('lz4', 'blocks that depend on each other');
  if (flags & FLG.dictionary) throw notOfCodec('lz4', 'a frame with a dictionary');
  if (sizeCode < 4 || sizeCode > 7 || bytes.readUInt8(5) & 0x0f) {
    throw notOfCodec('lz4', `no frame has block size ${bytes.readUInt8(5)}`);
  }
  return {
    blockBytesMax: 2 ** (8 + 2 * sizeCode),
    blocksAt: flags & FLG.contentSize ? 15 : 7,
    checksumBytes: flags & FLG.blockChecksums ? 4 : 0,
    trailerBytes: flags & FLG.contentChecksum ? 4 : 0,
  };
}

/** Returns where the frame ends. */
function walkBlocks(
  bytes: Buffer,
  { blockBytesMax, blocksAt, checksumBytes, trailerBytes }: Header,
  visit: (from: number, to: number, stored: boolean) => void,
): number {
  for (let at = blocksAt; ;) {
    if (bytes.length - at < 4) throw notOfCodec('lz4', 'a frame has no end');
    const field = bytes.readUInt32LE(at);
    at += 4;
    if (field === 0) {
      if (bytes.length - at < trailerBytes) throw notOfCodec('lz4', 'a checksum is cut off');
      return at + trailerBytes;
    }
    const stored = field >= STORED;
    const length = stored ? field - STORED : field;
    if (length > blockBytesMax || length > bytes.length - at - checksumBytes) {
      throw notOfCodec('lz4', `a block of ${length} bytes where ${bytes.length - at} are left`);
    }
    visit(at, at + length, stored);
    at += length + checksumBytes;
  }
}
