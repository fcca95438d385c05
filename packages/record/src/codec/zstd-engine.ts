/**
 * Who does the work of zstd: Node's own zlib where it has it (22.15 and later), else an npm package. Both write
 * frames that the other reads; neither is trusted with a frame whose size is not known or bounded before.
 */
import * as zlib from 'node:zlib';
import { OptionalPackage, type Require } from './optional-package';

export interface ZstdEngine {
  compress(bytes: Buffer): Buffer;
  /** Of exactly one frame. Throws whatever the implementation throws for what is no zstd. */
  decompress(frame: Buffer): Buffer;
}

const LEVEL = 3; // the default of zstd and of Kafka
/** Number of ZSTD_c_compressionLevel, which the types of older Nodes do not name. */
const LEVEL_PARAMETER = 100;

export interface ZlibWithZstd {
  zstdCompressSync(bytes: Buffer, options: { params: Record<number, number> }): Buffer;
  zstdDecompressSync(bytes: Buffer): Buffer;
}

interface ZstdModule {
  readonly Encoder: new (level: number) => { encodeSync(bytes: Buffer): Buffer };
  readonly Decoder: new () => { decodeSync(bytes: Buffer): Buffer };
}

/** Called when a codec is first needed. */
export type EngineLoader = () => ZstdEngine;

export function zstdEngine(
  require?: Require,
  builtIn: Partial<ZlibWithZstd> = zlib as Partial<ZlibWithZstd>,
): EngineLoader {
  if (builtIn.zstdCompressSync && builtIn.zstdDecompressSync) {
    const engine = zlibEngine(builtIn as ZlibWithZstd);
    return () => engine;
  }
  const zstd = new OptionalPackage<ZstdModule>(
    {
      codec: 'zstd',
      name: '@toondepauw/node-zstd',
      version: '2.0.0',
      alternative: 'use Node 22.15 or later, which needs none',
    },
    require,
  );
  let engine: ZstdEngine | undefined;
  return () => (engine ??= packageEngine(zstd.load()));
}

function zlibEngine(builtIn: ZlibWithZstd): ZstdEngine {
  return {
    compress: (bytes) => builtIn.zstdCompressSync(bytes, { params: { [LEVEL_PARAMETER]: LEVEL } }),
    decompress: (frame) => builtIn.zstdDecompressSync(frame),
  };
}

function packageEngine({ Encoder, Decoder }: ZstdModule): ZstdEngine {
  const encoder = new Encoder(LEVEL);
  const decoder = new Decoder();
  return {
    compress: (bytes) => encoder.encodeSync(bytes),
    decompress: (frame) => decoder.decodeSync(frame),
  };
}
