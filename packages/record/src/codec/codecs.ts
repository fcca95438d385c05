/** The codecs that this version has. Called wherever records are compressed, inflated or checked. */
import { TributaryError } from '@tributary/common';
import type { Codec, CodecName } from './codec';
import { gzipCodec } from './gzip';
import { noneCodec } from './none';

const codecs: readonly Codec[] = [noneCodec, gzipCodec];

export const supportedCodecs: readonly CodecName[] = codecs.map((codec) => codec.name);

/** Throws UNSUPPORTED_CODEC. */
export function codecByName(name: CodecName): Codec {
  const found = codecs.find((codec) => codec.name === name);
  if (!found) throw unsupportedCodec(name, supportedCodecs);
  return found;
}

export function codecById(id: number): Codec | undefined {
  return codecs.find((codec) => codec.id === id);
}

export function unsupportedCodec(
  codec: string | number,
  allowed: readonly CodecName[],
): TributaryError {
  return new TributaryError(
    'UNSUPPORTED_CODEC',
    `codec ${codec} is not supported here; supported: ${allowed.join(', ')}`,
  );
}
