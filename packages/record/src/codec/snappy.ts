/**
 * Snappy as Kafka's Java client writes it: blocks of 32 KiB in a xerial frame. Read framed or bare. A block's preamble
 * tells its size, so that the limit holds exactly and before anything is inflated.
 */
import { inflatesBeyond, joined, notOfCodec, type Codec } from './codec';
import { OptionalPackage, type Require } from './optional-package';
import { snappyBlocks, xerialFrame } from './xerial-frame';

/** The default of snappy-java. */
const BLOCK_BYTES = 32 * 1024;
/** The densest element of the format: 64 bytes out of 3. */
const MAX_RATIO = 64 / 3;

interface SnappyModule {
  compressSync(this: void, bytes: Buffer): Buffer;
  uncompressSync(this: void, bytes: Buffer, options: { asBuffer: true }): Buffer;
}

export function snappyCodec(require?: Require): Codec {
  const needed = { codec: 'snappy', name: 'snappy', version: '7.4.3' } as const;
  const snappy = new OptionalPackage<SnappyModule>(needed, require);
  return {
    name: 'snappy',
    id: 2,
    load: () => void snappy.load(),
    compress(bytes) {
      const { compressSync } = snappy.load();
      const blocks: Buffer[] = [];
      for (let at = 0; at < bytes.length; at += BLOCK_BYTES) {
        blocks.push(compressSync(bytes.subarray(at, at + BLOCK_BYTES)));
      }
      return xerialFrame(blocks);
    },
    decompress(bytes, maxBytes) {
      const { uncompressSync } = snappy.load();
      const blocks = snappyBlocks(bytes);
      const size = blocks.reduce((sum, block) => sum + sizeInPreamble(block), 0);
      if (size > maxBytes) throw inflatesBeyond('snappy', maxBytes);
      return joined(blocks.map((block) => inflate(block, uncompressSync)));
    },
  };
}

function inflate(block: Buffer, uncompressSync: SnappyModule['uncompressSync']): Buffer {
  try {
    return uncompressSync(block, { asBuffer: true });
  } catch (error) {
    throw notOfCodec('snappy', (error as Error).message, error);
  }
}

/** A varint of at most 32 bits before the elements. Throws INVALID_BATCH where the elements cannot make that much. */
function sizeInPreamble(block: Buffer): number {
  let size = 0;
  for (let i = 0; i < 5; i += 1) {
    const byte = block[i];
    if (byte === undefined) break;
    size += (byte & 0x7f) * 2 ** (7 * i);
    if (byte <= 0x7f) {
      if (size <= (block.length - i - 1) * MAX_RATIO) return size;
      throw notOfCodec('snappy', `a block of ${block.length} bytes says that it holds ${size}`);
    }
  }
  throw notOfCodec('snappy', 'a block does not say what it holds');
}
