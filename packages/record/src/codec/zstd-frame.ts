/**
 * The zstd frame (RFC 8878), as far as it must be understood to know what may come out of it:
 *
 *   28 b5 2f fd | descriptor | window u8? | dictionary id? | content size? | blocks | checksum u32?
 *   block: u24 = last (1 bit), type (2 bits), size (21 bits) | bytes
 *
 * A raw or RLE block holds what its size says, a compressed one at most 128 KiB and at most the window. Skippable
 * frames hold nothing. Called by the zstd codec.
 */
import { notOfCodec } from './codec';

const MAGIC = 0xfd2fb528;
const SKIPPABLE_MAGIC = 0x184d2a5;
/** What zstd itself reads unless told otherwise (27 bits). */
const MAX_WINDOW_BYTES = 128 * 1024 * 1024;
export const MAX_BLOCK_BYTES = 128 * 1024;
/** Frames laid one after another; each costs a call into native code. */
const MAX_FRAMES = 1_024;
const BLOCK_HEADER_BYTES = 3;
const DICTIONARY_ID_BYTES = [0, 1, 2, 4] as const;
const BLOCK_TYPE = { raw: 0, rle: 1, compressed: 2 } as const;

export interface ZstdFrame {
  readonly bytes: Buffer;
  /** Where the first block's header stands. */
  readonly blocksAt: number;
  readonly windowBytes: number;
  /** undefined: not told. */
  readonly contentSize: number | undefined;
  /** What comes out is certainly between these two. */
  readonly least: number;
  readonly most: number;
}

/** Blocks of a frame from `at` on. */
export interface BlockSpan {
  readonly end: number;
  /** Where the header of its last block stands; -1: it has none. */
  readonly lastBlockAt: number;
  /** With them the frame is complete. */
  readonly finished: boolean;
  readonly least: number;
  readonly most: number;
}

type Header = Pick<ZstdFrame, 'blocksAt' | 'windowBytes' | 'contentSize'> & {
  readonly checksumBytes: number;
};

/** Those that hold something. Throws INVALID_BATCH. */
export function zstdFrames(bytes: Buffer): ZstdFrame[] {
  const frames: ZstdFrame[] = [];
  let count = 0;
  let at = 0;
  do {
    count += 1;
    if (count > MAX_FRAMES) throw notOfCodec('zstd', `more than ${MAX_FRAMES} frames`);
    const rest = bytes.subarray(at);
    const skipped = skippableBytes(rest);
    if (skipped === undefined) {
      const frame = readFrame(rest);
      frames.push(frame);
      at += frame.bytes.length;
    } else {
      at += skipped;
    }
  } while (at < bytes.length);
  return frames;
}

/** As many blocks as certainly hold no more than `budget` together. Throws INVALID_BATCH. */
export function blockSpan(
  bytes: Buffer,
  from: number,
  windowBytes: number,
  budget = Infinity,
): BlockSpan {
  const blockBytesMax = Math.min(windowBytes, MAX_BLOCK_BYTES);
  let end = from;
  let lastBlockAt = -1;
  let finished = false;
  let least = 0;
  let most = 0;
  while (!finished) {
    if (bytes.length - end < BLOCK_HEADER_BYTES) throw notOfCodec('zstd', 'a frame has no end');
    const header = bytes.readUIntLE(end, BLOCK_HEADER_BYTES);
    const type = (header >> 1) & 3;
    const size = header >> 3;
    const stored = type === BLOCK_TYPE.rle ? 1 : size;
    if (type > BLOCK_TYPE.compressed) throw notOfCodec('zstd', 'a block of no known type');
    if (size > blockBytesMax) throw notOfCodec('zstd', `a block has ${size} bytes`);
    const holds = type === BLOCK_TYPE.compressed ? blockBytesMax : size;
    if (most + holds > budget) break;
    if (stored > bytes.length - end - BLOCK_HEADER_BYTES) {
      throw notOfCodec('zstd', 'a block is cut off');
    }
    lastBlockAt = end;
    finished = (header & 1) === 1;
    end += BLOCK_HEADER_BYTES + stored;
    most += holds;
    if (type !== BLOCK_TYPE.compressed) least += holds;
  }
  return { end, lastBlockAt, finished, least, most };
}

/** A frame that holds only the blocks up to the end of `span`, without what was said about the whole. */
export function framePrefix(frame: ZstdFrame, span: BlockSpan): Buffer {
  const { bytes, blocksAt, windowBytes } = frame;
  const windowLog = Math.ceil(Math.log2(Math.max(windowBytes, MAX_BLOCK_BYTES)));
  const prefix = Buffer.allocUnsafeSlow(6 + span.end - blocksAt);
  prefix.writeUInt32LE(MAGIC, 0);
  prefix.writeUInt8(0, 4);
  prefix.writeUInt8((windowLog - 10) << 3, 5);
  bytes.copy(prefix, 6, blocksAt, span.end);
  const lastBlockAt = 6 + span.lastBlockAt - blocksAt;
  prefix.writeUInt8(prefix.readUInt8(lastBlockAt) | 1, lastBlockAt);
  return prefix;
}

function skippableBytes(bytes: Buffer): number | undefined {
  if (bytes.length < 4 || bytes.readUInt32LE(0) >>> 4 !== SKIPPABLE_MAGIC) return undefined;
  const size = bytes.length < 8 ? Infinity : 8 + bytes.readUInt32LE(4);
  if (size > bytes.length) throw notOfCodec('zstd', 'a skippable frame is cut off');
  return size;
}

function readFrame(bytes: Buffer): ZstdFrame {
  const { blocksAt, windowBytes, contentSize, checksumBytes } = readHeader(bytes);
  const { end, least, most } = blockSpan(bytes, blocksAt, windowBytes);
  if (bytes.length - end < checksumBytes) throw notOfCodec('zstd', 'a checksum is cut off');
  return {
    bytes: bytes.subarray(0, end + checksumBytes),
    blocksAt,
    windowBytes,
    contentSize,
    least,
    most,
  };
}

function readHeader(bytes: Buffer): Header {
  if (bytes.length < 6) throw notOfCodec('zstd', 'the header of a frame is cut off');
  if (bytes.readUInt32LE(0) !== MAGIC) throw notOfCodec('zstd', 'a frame has another magic');
  const descriptor = bytes.readUInt8(4);
  const singleSegment = (descriptor & 0x20) !== 0;
  if (descriptor & 0x08) throw notOfCodec('zstd', 'a frame of another version');
  const windowBytesField = singleSegment ? 0 : 1;
  const idBytes = DICTIONARY_ID_BYTES[(descriptor & 3) as 0 | 1 | 2 | 3];
  const sizeCode = descriptor >> 6;
  const sizeBytes = sizeCode === 0 ? (singleSegment ? 1 : 0) : 2 ** sizeCode;
  const sizeAt = 5 + windowBytesField + idBytes;
  const blocksAt = sizeAt + sizeBytes;
  if (bytes.length < blocksAt) throw notOfCodec('zstd', 'the header of a frame is cut off');
  for (let i = 0; i < idBytes; i += 1) {
    if (bytes[sizeAt - 1 - i] !== 0) throw notOfCodec('zstd', 'a frame with a dictionary');
  }
  const contentSize = sizeBytes === 0 ? undefined : readSize(bytes, sizeAt, sizeBytes);
  const windowBytes = singleSegment ? (contentSize as number) : windowOf(bytes.readUInt8(5));
  if (windowBytes > MAX_WINDOW_BYTES) {
    throw notOfCodec('zstd', `a window of ${windowBytes} bytes, the limit is ${MAX_WINDOW_BYTES}`);
  }
  return { blocksAt, windowBytes, contentSize, checksumBytes: descriptor & 0x04 ? 4 : 0 };
}

function windowOf(descriptor: number): number {
  const base = 2 ** (10 + (descriptor >> 3));
  return base + (base / 8) * (descriptor & 7);
}

function readSize(bytes: Buffer, at: number, length: number): number {
  if (length === 2) return bytes.readUInt16LE(at) + 256;
  if (length === 8) return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
  return bytes.readUIntLE(at, length);
}
