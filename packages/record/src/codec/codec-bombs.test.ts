/** Small batches that would inflate to much: refused before anybody inflates them, and no honest batch with them. */
import { createRequire } from 'node:module';
import type { Codec } from './codec';
import { standardCodecs } from './codec-set';
import { lz4Codec } from './lz4';
import { snappyCodec } from './snappy';
import { zstdCodec } from './zstd';
import { zstdEngine } from './zstd-engine';
import { zstdFrames } from './zstd-frame';

const MIB = 1024 * 1024;
const BLOCK = 128 * 1024;
/** What the native code gave us since it was set to 0. */
let inflated = 0;

const watched = (name: string): unknown => {
  const module = createRequire(__filename)(name) as Record<string, (bytes: Buffer) => Buffer>;
  const watch = (call: string) => (bytes: Buffer) => noted(module[call]!(bytes));
  return {
    ...module,
    decompressFrameSync: watch('decompressFrameSync'),
    uncompressSync: watch('uncompressSync'),
  };
};
const engine = zstdEngine()();
const decompress = (frame: Buffer): Buffer => noted(engine.decompress(frame));
const snappy = snappyCodec(watched);
const lz4 = lz4Codec(watched);
const zstd = zstdCodec(undefined, () => ({ ...engine, decompress }));

function noted(bytes: Buffer): Buffer {
  inflated = Math.max(inflated, bytes.length);
  return bytes;
}

beforeEach(() => {
  inflated = 0;
});

test.each<[string, Codec]>([
  ['gzip', standardCodecs.byName('gzip')],
  ['snappy', snappy],
  ['lz4', lz4],
  ['zstd', zstd],
])('%s: 20 MiB of zeros are refused at 4 MiB, and nothing was inflated', (_name, codec) => {
  const bomb = codec.compress(Buffer.alloc(20 * MIB));
  expect(bomb.length).toBeLessThan(2 * MIB);
  expect(outcome(codec, bomb, 4 * MIB)).toBe('BATCH_TOO_LARGE');
  expect(inflated).toBeLessThanOrEqual(codec === zstd ? 4 * MIB + BLOCK : 0);
  expect(outcome(codec, bomb, 20 * MIB)).toBe(20 * MIB);
});

describe('snappy', () => {
  test('a block that lies about its size is refused unread', () => {
    const lies = ['ffffffff0f00', '8080800400', '8020', '80', '', 'ffffffffffff', '0300'];
    for (const hex of lies) {
      expect(outcome(snappy, Buffer.from(hex, 'hex'), 64 * MIB)).toBe('INVALID_BATCH');
    }
    expect(inflated).toBe(0);
  });

  test('a block of the greatest density passes', () => {
    // One literal, then copies of 64 bytes out of 3 each.
    const copies = Buffer.alloc(3_000, Buffer.from([0xfe, 0x01, 0x00]));
    const size = 1 + 64_000;
    const preamble = Buffer.from([(size & 0x7f) | 0x80, ((size >> 7) & 0x7f) | 0x80, size >> 14]);
    const block = Buffer.concat([preamble, Buffer.from([0x00, 0x61]), copies]);
    expect(outcome(snappy, block, size)).toBe(size);
    expect(outcome(snappy, block, size - 1)).toBe('BATCH_TOO_LARGE');
  });

  test('no more blocks than a frame of 2 GiB has', () => {
    const header = snappy.compress(Buffer.alloc(0));
    const empty = Buffer.from('0000000100', 'hex');
    const blocks = (count: number): Buffer =>
      Buffer.concat([header, Buffer.alloc(count * empty.length, empty)]);
    expect(outcome(snappy, blocks(1_000), 0)).toBe(0);
    expect(outcome(snappy, blocks(65_537), 0)).toBe('INVALID_BATCH');
  });
});

describe('lz4', () => {
  const header = Buffer.from('04224d18607073', 'hex'); // blocks of at most 4 MiB
  const end = Buffer.alloc(4);
  const literal = Buffer.from('020000001061', 'hex'); // a compressed block: one literal
  const run = Buffer.concat([
    Buffer.from('00010000', 'hex'), // 256 bytes
    Buffer.from('1f610100', 'hex'), // a literal, then a match one byte back of 15 + ...
    Buffer.alloc(249, 0xff),
    Buffer.from('00', 'hex'),
    Buffer.from('1061', 'hex'), // the last literal
  ]);

  test('many small blocks: read to the byte where the cheap bound is above the limit', () => {
    const frame = Buffer.concat([header, Buffer.alloc(6 * 1_000, literal), end]);
    expect(outcome(lz4, frame, 1_000)).toBe(1_000);
    inflated = 0;
    expect(outcome(lz4, frame, 999)).toBe('BATCH_TOO_LARGE');
    expect(inflated).toBe(0);
  });

  test('long matches are counted to the byte', () => {
    const size = 1 + 4 + 15 + 249 * 255 + 1;
    expect(run).toHaveLength(4 + 256);
    const frame = Buffer.concat([header, run, run, end]);
    expect(outcome(lz4, frame, 2 * size)).toBe(2 * size);
    expect(outcome(lz4, frame, 2 * size - 1)).toBe('BATCH_TOO_LARGE');
  });

  test('sequences that end nowhere are refused, read by us or by the package', () => {
    for (const hex of ['10', '1f6101', 'f0ff', '1f610100ff']) {
      const block = Buffer.from(hex, 'hex');
      const length = Buffer.alloc(4);
      length.writeUInt32LE(block.length);
      const frame = Buffer.concat([header, length, block, end]);
      expect(outcome(lz4, frame, 1)).toBe('INVALID_BATCH');
      expect(outcome(lz4, frame, MIB)).toBe('INVALID_BATCH');
    }
  });

  test('frames are counted, and a content size is not believed', () => {
    const empty = Buffer.concat([header, end]);
    expect(outcome(lz4, Buffer.alloc(1_024 * empty.length, empty), 0)).toBe(0);
    expect(outcome(lz4, Buffer.alloc(1_025 * empty.length, empty), 0)).toBe('INVALID_BATCH');
    const huge = Buffer.from('04224d186840ffffffffffffff7f0001000080610000000000', 'hex');
    expect(outcome(lz4, huge, MIB)).toBe('INVALID_BATCH');
  });
});

describe('zstd', () => {
  const plain = Buffer.from('28b52ffd0058', 'hex'); // a window of 2 MiB
  const rle = (size: number, last = false): Buffer => {
    const block = Buffer.alloc(4, 0x61);
    block.writeUIntLE((size << 3) | 2 | (last ? 1 : 0), 0, 3);
    return block;
  };
  /** `count` compressed blocks of `size` bytes each: the first block of a frame of its own, over and over. */
  const blocks = (count: number, size: number): Buffer => {
    const frame = engine.compress(Buffer.alloc(size, 'abcdefghij'));
    const last = frame.subarray(zstdFrames(frame)[0]!.blocksAt);
    const inner = Buffer.from(last);
    inner[0]! &= 0xfe;
    return Buffer.concat([plain, Buffer.alloc((count - 1) * inner.length, inner), last]);
  };

  test('RLE blocks tell what they hold: refused before the engine sees them', () => {
    const bomb = Buffer.concat([plain, Buffer.alloc(4 * 800, rle(BLOCK)), rle(1, true)]);
    expect(outcome(zstd, bomb, 64 * MIB)).toBe('BATCH_TOO_LARGE');
    expect(inflated).toBe(0);
    expect(outcome(zstd, bomb, 800 * BLOCK + 1)).toBe(800 * BLOCK + 1);
  });

  test('a content size that the blocks belie is refused before the engine sees it', () => {
    const tenBytes = Buffer.from('28b52ffd80580a000000', 'hex');
    const more = Buffer.concat([tenBytes, Buffer.alloc(4 * 100, rle(BLOCK)), rle(1, true)]);
    expect(outcome(zstd, more, 64 * MIB)).toBe('INVALID_BATCH');
    expect(outcome(zstd, Buffer.concat([tenBytes, rle(9, true)]), 64)).toBe('INVALID_BATCH');
    expect(inflated).toBe(0);
    expect(outcome(zstd, Buffer.concat([tenBytes, rle(10, true)]), 64)).toBe(10);
  });

  test('a window that is too large, a block larger than its window', () => {
    const window = (field: number): Buffer =>
      Buffer.concat([Buffer.from('28b52ffd00', 'hex'), Buffer.from([field]), rle(1, true)]);
    expect(outcome(zstd, window(17 << 3), 1)).toBe(1); // 128 MiB
    expect(outcome(zstd, window((17 << 3) | 1), 1)).toBe('INVALID_BATCH');
    expect(outcome(zstd, window(0xff), 1)).toBe('INVALID_BATCH');
    const small = Buffer.concat([Buffer.from('28b52ffd0000', 'hex'), rle(1025, true)]);
    expect(outcome(zstd, small, MIB)).toBe('INVALID_BATCH');
  });

  test('many small blocks within the limit are no bomb, although their bound is above it', () => {
    const honest = blocks(1_000, 1_000); // bound: 125 MiB
    expect(outcome(zstd, honest, 16 * MIB)).toBe(1_000_000);
    expect(inflated).toBe(1_000_000);
  });

  test('a bomb of small blocks is found by its prefixes, none of which exceeds the limit by more than a block', () => {
    const bomb = blocks(200, 100_000);
    expect(bomb.length).toBeLessThan(10_000);
    expect(outcome(zstd, bomb, 8 * MIB)).toBe('BATCH_TOO_LARGE');
    expect(inflated).toBeLessThanOrEqual(8 * MIB + BLOCK);
    expect(outcome(zstd, bomb, 20_000_000)).toBe(20_000_000);
    expect(outcome(zstd, bomb, 19_999_999)).toBe('BATCH_TOO_LARGE');
  });

  test('frames are counted', () => {
    const empty = Buffer.concat([plain, Buffer.from('010000', 'hex')]);
    expect(outcome(zstd, Buffer.alloc(1_024 * empty.length, empty), 0)).toBe(0);
    expect(outcome(zstd, Buffer.alloc(1_025 * empty.length, empty), 0)).toBe('INVALID_BATCH');
  });
});

/** The bytes that came out, or the code of the error. */
function outcome(codec: Codec, bytes: Buffer, maxBytes: number): number | string {
  try {
    return codec.decompress(bytes, maxBytes).length;
  } catch (error) {
    return (error as { code: string }).code;
  }
}
