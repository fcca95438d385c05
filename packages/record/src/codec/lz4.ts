/**
 * LZ4 frames, as Kafka writes and reads them: independent blocks, no checksums of the content. The limit holds before
 * anything is inflated: by a cheap bound for nearly every batch, to the byte by reading the sequences for the
 * few whose bound is above it.
 */
import { inflatesBeyond, joined, notOfCodec, type Codec } from './codec';
import { lz4Frames, lz4FrameSize, type Lz4Frame } from './lz4-frame';
import { OptionalPackage, type Require } from './optional-package';

interface Lz4Module {
  compressFrameSync(this: void, bytes: Buffer): Buffer;
  decompressFrameSync(this: void, bytes: Buffer): Buffer;
}

export function lz4Codec(require?: Require): Codec {
  const needed = { codec: 'lz4', name: 'lz4-napi', version: '2.10.0' } as const;
  const lz4 = new OptionalPackage<Lz4Module>(needed, require);
  return {
    name: 'lz4',
    id: 3,
    load: () => void lz4.load(),
    compress: (bytes) => lz4.load().compressFrameSync(bytes),
    decompress(bytes, maxBytes) {
      const { decompressFrameSync } = lz4.load();
      const frames = lz4Frames(bytes);
      if (!fit(frames, maxBytes)) throw inflatesBeyond('lz4', maxBytes);
      try {
        return joined(frames.map((frame) => decompressFrameSync(frame.bytes)));
      } catch (error) {
        throw notOfCodec('lz4', (error as Error).message, error);
      }
    },
  };
}

function fit(frames: readonly Lz4Frame[], maxBytes: number): boolean {
  if (frames.reduce((sum, { bound }) => sum + bound, 0) <= maxBytes) return true;
  let size = 0;
  for (const frame of frames) {
    size += lz4FrameSize(frame, maxBytes - size);
    if (size > maxBytes) return false;
  }
  return true;
}
