/** Whatever goes in comes out, and noise gives a named error: never a crash, never more than the limit. */
import { randomFillSync } from 'node:crypto';
import * as zlib from 'node:zlib';
import * as fc from 'fast-check';
import { hasCode } from '@tributary/common';
import { CODEC_NAMES, type CodecName } from './codec';
import { standardCodecs } from './codec-set';
import { zstdCodec } from './zstd';
import { zstdEngine } from './zstd-engine';

const KIB = 1024;
const LIMIT = 2 * KIB * KIB;
const compressing = CODEC_NAMES.filter((name) => name !== 'none');
const sizes = [0, 1, 100, 64 * KIB - 1, 64 * KIB, 64 * KIB + 1, 300 * KIB, KIB * KIB];

const inflate = (name: CodecName, bytes: Buffer, limit = LIMIT): Buffer =>
  standardCodecs.byName(name).decompress(bytes, limit);
const compress = (name: CodecName, bytes: Buffer): Buffer =>
  standardCodecs.byName(name).compress(bytes);

const contents: [string, (size: number) => Buffer][] = [
  ['zeros', (size) => Buffer.alloc(size)],
  ['text', (size) => Buffer.alloc(size, '{"user":"u17","action":"click","at":1700000000300}\n')],
  ['random bytes', (size) => randomFillSync(Buffer.alloc(size))],
];

describe.each(CODEC_NAMES)('%s', (name) => {
  test.each(contents)('%s of many sizes come back', (_what, make) => {
    for (const size of sizes) {
      const bytes = make(size);
      const back = inflate(name, compress(name, bytes), size);
      expect(back.equals(bytes)).toBe(true);
    }
  });

  test('the limit is exact', () => {
    for (const [, make] of contents) {
      for (const size of sizes.filter((each) => each > 1)) {
        const compressed = compress(name, make(size));
        expect(refusal(() => inflate(name, compressed, size))).toBe('none');
        expect(refusal(() => inflate(name, compressed, size - 1))).toBe('BATCH_TOO_LARGE');
        expect(refusal(() => inflate(name, compressed, 0))).toBe('BATCH_TOO_LARGE');
      }
    }
  });

  test('any bytes come back', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 300 }), { maxLength: 20 }), (parts) => {
        const bytes = Buffer.concat([...parts, ...parts]);
        expect(inflate(name, compress(name, bytes)).equals(bytes)).toBe(true);
      }),
    );
  });
});

const noisy = [
  Buffer.alloc(0),
  Buffer.from('x'),
  Buffer.alloc(3_000, 'tributary of a river, '),
  Buffer.alloc(200 * KIB, 'a log, partitioned and replicated; '),
  randomFillSync(Buffer.alloc(500)),
];

describe.each(compressing)('%s under noise', (name) => {
  // zlib is slow at saying no, and no stranger to noise.
  const share = name === 'gzip' ? 0.1 : 1;
  const good = noisy.map((bytes) => compress(name, bytes));
  const starts = good.map((bytes) => bytes.subarray(0, 20));

  test('random bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => survives(name, Buffer.from(bytes))),
      { numRuns: 2_000 * share },
    );
  });

  test('random bytes after a good beginning', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...starts),
        fc.nat(20),
        fc.uint8Array({ maxLength: 200 }),
        (start, length, rest) =>
          survives(name, Buffer.concat([start.subarray(0, length), Buffer.from(rest)])),
      ),
      { numRuns: 3_000 * share },
    );
  });

  test('flipped bits', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...good),
        fc.array(fc.nat(), { minLength: 1, maxLength: 4 }),
        (bytes, bits) => {
          const changed = Buffer.from(bytes);
          for (const bit of bits) {
            // Near the beginning half of the time: headers and lengths are there.
            const at = (bit % 2 === 0 ? bit % 40 : bit) % changed.length;
            changed[at]! ^= 1 << ((bit >> 1) % 8);
          }
          survives(name, changed);
        },
      ),
      { numRuns: 3_000 * share },
    );
  });

  test('cut off at any byte: INVALID_BATCH', () => {
    for (const bytes of good) {
      const step = Math.max(1, Math.floor(bytes.length / (500 * share)));
      // A xerial frame may end after its header: it is empty then, and after any block.
      const ends = name === 'snappy' ? snappyEnds(bytes) : new Set<number>();
      for (let length = 0; length < bytes.length; length += step) {
        if (ends.has(length)) continue;
        expect(refusal(() => inflate(name, bytes.subarray(0, length)))).toBe('INVALID_BATCH');
      }
    }
  });

  if (name !== 'gzip') {
    test('something after the end: INVALID_BATCH', () => {
      for (const bytes of good) {
        const longer = Buffer.concat([bytes, Buffer.from('and more')]);
        expect(refusal(() => inflate(name, longer))).toBe('INVALID_BATCH');
      }
    });
  }
});

test.each(['gzip', 'lz4', 'zstd', 'snappy'] as const)(
  '%s: frames laid one after another are read and counted together',
  (name) => {
    const parts = ['first ', 'second ', 'third'].map((text) => compress(name, Buffer.from(text)));
    const all = Buffer.concat(parts);
    expect(inflate(name, all, 18).toString()).toBe('first second third');
    expect(refusal(() => inflate(name, all, 17))).toBe('BATCH_TOO_LARGE');
  },
);

// Where Node has no zstd of its own the package is held against itself.
const hasBoth = 'zstdCompressSync' in zlib;
test('zstd of the package is read by Node’s own and the other way round', () => {
  const fromPackage = zstdCodec(undefined, zstdEngine(undefined, {}));
  for (const [, make] of contents) {
    for (const size of sizes) {
      const bytes = make(size);
      const [own, other] = hasBoth ? [standardCodecs.byName('zstd'), fromPackage] : [fromPackage];
      expect(own.decompress((other ?? own).compress(bytes), size).equals(bytes)).toBe(true);
      expect((other ?? own).decompress(own.compress(bytes), size).equals(bytes)).toBe(true);
    }
  }
});

/** Either records or a named error; never more than the limit. */
function survives(name: CodecName, bytes: Buffer): void {
  try {
    expect(inflate(name, bytes, LIMIT).length).toBeLessThanOrEqual(LIMIT);
  } catch (error) {
    if (!hasCode(error, 'INVALID_BATCH', 'BATCH_TOO_LARGE')) throw error;
  }
}

function refusal(work: () => unknown): string {
  try {
    work();
    return 'none';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

function snappyEnds(bytes: Buffer): Set<number> {
  const ends = new Set<number>([16]);
  for (let at = 16; at < bytes.length; at += 4 + bytes.readInt32BE(at)) ends.add(at);
  return ends;
}
