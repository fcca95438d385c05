/**
 * The codecs by name and by id. A set knows a codec without loading its package: that happens on first use, so that
 * a process that never meets zstd needs none. The standard set is what everybody gets who names no other; the
 * simulation passes one whose bytes are the same with every version of every package.
 */
import { TributaryError } from '@tributary/common';
import type { Codec, CodecName } from './codec';
import { gzipCodec } from './gzip';
import { lz4Codec } from './lz4';
import { noneCodec } from './none';
import { snappyCodec } from './snappy';
import { zstdCodec } from './zstd';

export class CodecSet {
  /** Of all codecs in it, whether or not their packages are there. */
  readonly names: readonly CodecName[];

  constructor(private readonly codecs: readonly Codec[]) {
    this.names = codecs.map((codec) => codec.name);
  }

  /** Throws UNSUPPORTED_CODEC. */
  byName(name: CodecName): Codec {
    const found = this.codecs.find((codec) => codec.name === name);
    if (!found) throw unsupportedCodec(name, this.names);
    return found;
  }

  /** Throws UNSUPPORTED_CODEC. */
  byId(id: number): Codec {
    const found = this.codecs.find((codec) => codec.id === id);
    if (!found) throw unsupportedCodec(id, this.names);
    return found;
  }
}

export const standardCodecs = new CodecSet([
  noneCodec,
  gzipCodec,
  snappyCodec(),
  lz4Codec(),
  zstdCodec(),
]);

export function unsupportedCodec(
  codec: string | number,
  allowed: readonly CodecName[],
): TributaryError {
  return new TributaryError(
    'UNSUPPORTED_CODEC',
    `codec ${codec} is not supported here; supported: ${allowed.join(', ')}`,
  );
}
