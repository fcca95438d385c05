/**
 * gzip at level 1: on text nearly the ratio of level 6 for a third of the time. Synchronous: a batch of the
 * usual size takes less than a thread-pool hop is worth, and order is kept for free. zlib stops by itself at the
 * limit, one chunk beyond it at most.
 */
import { constants, gunzipSync, gzipSync } from 'node:zlib';
import { inflatesBeyond, notOfCodec, type Codec } from './codec';

const LEVEL = constants.Z_BEST_SPEED;
const CHUNK_BYTES = 64 * 1024;

export const gzipCodec: Codec = {
  name: 'gzip',
  id: 1,
  load: () => undefined,
  compress: (bytes) => gzipSync(bytes, { level: LEVEL, chunkSize: CHUNK_BYTES }),
  decompress(bytes, maxBytes) {
    try {
      const maxOutputLength = Math.max(1, maxBytes);
      return gunzipSync(bytes, { maxOutputLength, chunkSize: CHUNK_BYTES });
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === 'ERR_BUFFER_TOO_LARGE') throw inflatesBeyond('gzip', maxBytes, error);
      throw notOfCodec('gzip', message, error);
    }
  },
};
