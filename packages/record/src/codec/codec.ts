/**
 * The Codec seam: how the records of a batch are compressed, as one block. Ids are those of the batch format.
 * `snappy`, `lz4` and `zstd` have their ids, no implementation yet.
 */
export type CodecName = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd';

export interface Codec {
  readonly name: CodecName;
  /** Bits 0 to 2 of the attributes. */
  readonly id: number;
  compress(bytes: Buffer): Buffer;
  /** Throws BATCH_TOO_LARGE when more than `maxBytes` would come out, INVALID_BATCH when the input is not of this codec. */
  decompress(bytes: Buffer, maxBytes: number): Buffer;
}

/** In the order of their ids. */
export const CODEC_NAMES: readonly CodecName[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd'];
