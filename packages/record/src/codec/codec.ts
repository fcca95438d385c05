/**
 * The Codec seam: how the records of a batch are compressed, as one block. Ids are those of the batch format.
 * Invariant: `decompress` knows what would come out, or a bound of it, before it asks anyone to inflate. Collected in
 * a CodecSet; called by builder, decoder and validator.
 */
import { TributaryError } from '@tributary/common';

export type CodecName = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

export interface Codec {
  readonly name: CodecName;
  /** Bits 0 to 2 of the attributes. */
  readonly id: number;
  /** Loads the package that it needs, if any. Throws UNSUPPORTED_CODEC naming the package. `compress` and `decompress` do it, too. */
  load(): void;
  compress(bytes: Buffer): Buffer;
  /** Throws BATCH_TOO_LARGE when more than `maxBytes` would come out, INVALID_BATCH when the input is not of this codec. */
  decompress(bytes: Buffer, maxBytes: number): Buffer;
}

/** In the order of their ids. */
export const CODEC_NAMES: readonly CodecName[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];

export function inflatesBeyond(
  codec: CodecName,
  maxBytes: number,
  cause?: unknown,
): TributaryError {
  const message = `a ${codec} batch inflates to more than ${maxBytes} bytes`;
  return new TributaryError('BATCH_TOO_LARGE', message, { details: { codec, maxBytes }, cause });
}

export function notOfCodec(codec: CodecName, why: string, cause?: unknown): TributaryError {
  return new TributaryError('INVALID_BATCH', `the records of the batch are not ${codec}: ${why}`, {
    details: { codec },
    cause,
  });
}

/** One frame, or several that were inflated one by one. */
export function joined(parts: readonly Buffer[]): Buffer {
  return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
}
