/**
 * The framing of snappy as Java producers write it (snappy-java, "xerial"):
 *
 *   82 'SNAPPY' 00 | version i32 | lowest compatible version i32 | (length i32, snappy block)*
 *
 * The header may come again where the next length is due: streams laid one after another. Others (librdkafka) send
 * one bare block; no bare block begins like the header, because its first element would be a copy from nowhere.
 * Called by the snappy codec.
 */
import { notOfCodec } from './codec';

const MAGIC = Buffer.from([0x82, 0x53, 0x4e, 0x41, 0x50, 0x50, 0x59, 0x00]);
const VERSION = 1;
const HEADER_BYTES = 16;
/** A call into native code each: far more than 32 KiB blocks of the largest batch. */
const MAX_BLOCKS = 65_536;

export function xerialFrame(blocks: readonly Buffer[]): Buffer {
  const size = blocks.reduce((sum, block) => sum + 4 + block.length, HEADER_BYTES);
  const frame = Buffer.allocUnsafeSlow(size);
  let at = MAGIC.copy(frame);
  at = frame.writeInt32BE(VERSION, at);
  at = frame.writeInt32BE(VERSION, at);
  for (const block of blocks) {
    at = frame.writeInt32BE(block.length, at);
    at += block.copy(frame, at);
  }
  return frame;
}

/** Views of the blocks; the bytes themselves where there is no frame. Throws INVALID_BATCH. */
export function snappyBlocks(bytes: Buffer): Buffer[] {
  if (!startsFrame(bytes, 0)) return [bytes];
  const blocks: Buffer[] = [];
  for (let at = 0; at < bytes.length;) {
    if (startsFrame(bytes, at)) {
      at = afterHeader(bytes, at);
      continue;
    }
    if (bytes.length - at < 4) throw notOfCodec('snappy', 'the length of a block is cut off');
    const length = bytes.readInt32BE(at);
    at += 4;
    if (length < 1 || length > bytes.length - at) {
      throw notOfCodec('snappy', `a block of ${length} bytes where ${bytes.length - at} are left`);
    }
    if (blocks.length >= MAX_BLOCKS) throw notOfCodec('snappy', `more than ${MAX_BLOCKS} blocks`);
    blocks.push(bytes.subarray(at, at + length));
    at += length;
  }
  return blocks;
}

function startsFrame(bytes: Buffer, at: number): boolean {
  const end = at + MAGIC.length;
  return bytes.length >= end && bytes.compare(MAGIC, 0, MAGIC.length, at, end) === 0;
}

function afterHeader(bytes: Buffer, at: number): number {
  if (bytes.length - at < HEADER_BYTES) throw notOfCodec('snappy', 'its header is cut off');
  const compatible = bytes.readInt32BE(at + 12);
  if (compatible > VERSION) {
    throw notOfCodec('snappy', `it needs a reader of frame version ${compatible}`);
  }
  return at + HEADER_BYTES;
}
