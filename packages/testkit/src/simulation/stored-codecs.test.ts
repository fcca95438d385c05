import { seededRandom } from '@tributary/common';
import { CODEC_NAMES, standardCodecs } from '@tributary/record';
import { storedCodecs } from './stored-codecs';

test.each(CODEC_NAMES)('what is stored as %s is read by any decoder', (name) => {
  const random = seededRandom(3);
  for (const size of [0, 1, 300, 32_768, 65_535, 65_536, 300_000]) {
    const bytes = random.bytes(size);
    const stored = storedCodecs.byName(name).compress(bytes);
    expect(standardCodecs.byName(name).decompress(stored, size).equals(bytes)).toBe(true);
    expect(storedCodecs.byName(name).decompress(stored, size).equals(bytes)).toBe(true);
  }
});
