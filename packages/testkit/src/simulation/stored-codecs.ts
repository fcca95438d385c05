/**
 * Codecs that compress nothing: valid gzip, snappy, lz4 and zstd whose blocks hold the bytes as they are. What they write
 * depends on no package, version or platform, so that a simulated run replays to the byte everywhere; any decoder
 * reads it, these ones leave that to the standard set.
 */
import { CodecSet, standardCodecs, type CodecName } from '@tributary/record';

type Compress = (bytes: Buffer) => Buffer;

const XERIAL_HEADER = Buffer.from('82534e41505059000000000100000001', 'hex');
const SNAPPY_BLOCK_BYTES = 32 * 1024;
/** Independent blocks of at most 4 MiB; the last byte is the header's checksum. */
const LZ4_HEADER = Buffer.from('04224d18607073', 'hex');
const LZ4_BLOCK_BYTES = 4 * 1024 * 1024;
const LZ4_STORED = 0x80000000;
/** A window of 2 MiB, nothing told of the content. */
const ZSTD_HEADER = Buffer.from('28b52ffd0058', 'hex');
const ZSTD_BLOCK_BYTES = 128 * 1024;
const GZIP_HEADER = Buffer.from('1f8b08000000000000ff', 'hex');
const GZIP_BLOCK_BYTES = 0xffff;
const CRC32_POLYNOMIAL = 0xedb88320; // reflected

const compress: Readonly<Record<CodecName, Compress>> = {
  none: (bytes) => bytes,
  gzip: (bytes) => {
    const trailer = Buffer.alloc(8);
    trailer.writeUInt32LE(crc32(bytes), 0);
    trailer.writeUInt32LE(bytes.length, 4);
    return Buffer.concat([
      GZIP_HEADER,
      ...inBlocks(bytes, GZIP_BLOCK_BYTES, 1, (length, last) => {
        const header = Buffer.alloc(5, last ? 1 : 0);
        header.writeUInt16LE(length, 1);
        header.writeUInt16LE(0xffff - length, 3);
        return header;
      }),
      trailer,
    ]);
  },
  snappy: (bytes) =>
    Buffer.concat([
      XERIAL_HEADER,
      ...inBlocks(bytes, SNAPPY_BLOCK_BYTES, 0, (length) => {
        // Three bytes of preamble (a varint may be longer than it must), then one literal with its length in two bytes.
        const header = Buffer.alloc(10);
        header.writeInt32BE(6 + length, 0);
        header.set([(length & 0x7f) | 0x80, ((length >> 7) & 0x7f) | 0x80, length >> 14], 4);
        header.writeUInt8(61 << 2, 7);
        header.writeUInt16LE(length - 1, 8);
        return header;
      }),
    ]),
  lz4: (bytes) =>
    Buffer.concat([
      LZ4_HEADER,
      ...inBlocks(bytes, LZ4_BLOCK_BYTES, 0, (length) => {
        const header = Buffer.alloc(4);
        header.writeUInt32LE(LZ4_STORED + length);
        return header;
      }),
      Buffer.alloc(4),
    ]),
  zstd: (bytes) =>
    Buffer.concat([
      ZSTD_HEADER,
      ...inBlocks(bytes, ZSTD_BLOCK_BYTES, 1, (length, last) => {
        const header = Buffer.alloc(3);
        header.writeUIntLE((length << 3) | (last ? 1 : 0), 0, 3);
        return header;
      }),
    ]),
};

export const storedCodecs = new CodecSet(
  standardCodecs.names.map((name) => ({
    ...standardCodecs.byName(name),
    load: () => undefined,
    compress: compress[name],
  })),
);

/** Header and bytes of each block, in turn; at least `min` blocks. */
function inBlocks(
  bytes: Buffer,
  blockBytes: number,
  min: number,
  headerOf: (length: number, last: boolean) => Buffer,
): Buffer[] {
  const count = Math.max(min, Math.ceil(bytes.length / blockBytes));
  return Array.from({ length: count }, (_, i) => {
    const block = bytes.subarray(i * blockBytes, (i + 1) * blockBytes);
    return [headerOf(block.length, i === count - 1), block];
  }).flat();
}

function crc32(bytes: Buffer): number {
  let crc = -1;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) {
      crc = crc & 1 ? (crc >>> 1) ^ CRC32_POLYNOMIAL : crc >>> 1;
    }
  }
  return ~crc >>> 0;
}
