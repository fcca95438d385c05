/** No compression: the bytes themselves, not copied. */
import { TributaryError } from '@tributary/common';
import type { Codec } from './codec';

export const noneCodec: Codec = {
  name: 'none',
  id: 0,
  load: () => undefined,
  compress: (bytes) => bytes,
  decompress(bytes, maxBytes) {
    if (bytes.length > maxBytes) {
      throw new TributaryError(
        'BATCH_TOO_LARGE',
        `the records of a batch have ${bytes.length} bytes, more than ${maxBytes}`,
      );
    }
    return bytes;
  },
};
