/**
 * The bytes of each codec: batches that Kafka's Java client (3.9.1) built are read, and what we write is held against the
 * formats byte for byte.
 */
import { decodeBatch } from '../batch-decoder';
import { readBatchHeader } from '../batch-header';
import { validateBatch } from '../batch-validator';
import type { CodecName } from './codec';
import { standardCodecs } from './codec-set';

/** Three records of producer 4000, built by MemoryRecordsBuilder with the codec's default settings. */
const fromKafka: [CodecName, string][] = [
  [
    'gzip',
    '000000000000000000000072ffffffff02720390b60001000000020000018bcfe568000000018bcfe5692c0000000000000fa0000200000007000000031f8b08000000000000ff0b63606060c93674cb48cdc9c957c04b328830dc606162646462ca605401325958b28d844a8a32934a4b128b2a1900c29ebf9a4a000000',
  ],
  [
    'snappy',
    '000000000000000000000078ffffffff02d2ca3e720002000000020000018bcfe568000000018bcfe5692c0000000000000fa00002000000070000000382534e41505059000000000100000001000000334a3456000000046b314668656c6c6f2072060078001400d804020101020268012400d80404046b321274726962757461727900',
  ],
  [
    'lz4',
    '000000000000000000000073ffffffff02267adfa70003000000020000018bcfe568000000018bcfe5692c0000000000000fa00002000000070000000304224d1860408233000000ef56000000046b314668656c6c6f2006000af010001400d804020101020268012400d80404046b32127472696275746172790000000000',
  ],
  [
    'zstd',
    '000000000000000000000071ffffffff02ce12413c0004000000020000018bcfe568000000018bcfe5692c0000000000000fa00002000000070000000328b52ffd0058a40100d40256000000046b314668656c6c6f20001400d804020101020268012400d80404046b3212747269627574617279000100b98b12010000',
  ],
];

test.each(fromKafka)('a %s batch of Kafka’s Java client passes and is read', (codec, hex) => {
  const batch = Buffer.from(hex, 'hex');
  const limits = { maxBatchBytes: 1_000, maxRecordsPerBatch: 3, now: 1_700_000_000_300, maxFutureMs: 0 }; // prettier-ignore
  expect(validateBatch(batch, limits)).toMatchObject({ codec, producerId: 4000, recordsCount: 3 });
  expect(readBatchHeader(batch).codec).toBe(codec);
  const records = decodeBatch(batch).map(({ offset, timestamp, key, value, headers }) => [
    offset,
    timestamp - 1_700_000_000_000,
    key?.toString(),
    value?.toString(),
    headers,
  ]);
  expect(records).toEqual([
    [0, 0, 'k1', 'hello hello hello hello hello hello', []],
    [1, 300, undefined, undefined, [{ key: 'h', value: null }]],
    [2, 300, 'k2', 'tributary', []],
  ]);
});

test('snappy is written in a xerial frame of 32 KiB blocks', () => {
  const snappy = standardCodecs.byName('snappy');
  expect(snappy.compress(Buffer.from('aaa')).toString('hex')).toBe(
    '82534e4150505900' + // magic
      '00000001' + //          version
      '00000001' + //          lowest compatible version
      '00000005' + //          length of the block
      '0308616161', //         it holds 3 bytes: a literal of 3
  );
  const frame = snappy.compress(Buffer.alloc(70_000, 'abc'));
  const held: number[] = [];
  for (let at = 16; at < frame.length; at += 4 + frame.readInt32BE(at)) {
    const [a, b, c] = frame.subarray(at + 4) as unknown as [number, number, number];
    held.push(b < 128 ? (a & 127) + b * 128 : (a & 127) + (b & 127) * 128 + c * 16_384);
  }
  expect(held).toEqual([32_768, 32_768, 4_464]);
  expect(snappy.compress(Buffer.alloc(0))).toHaveLength(16);
});

test('snappy: a bare block, as librdkafka sends it, is read', () => {
  const snappy = standardCodecs.byName('snappy');
  const bare = snappy.compress(Buffer.from('without a frame')).subarray(20);
  expect(snappy.decompress(bare, 100).toString()).toBe('without a frame');
});

test('snappy: a frame for newer readers only is refused', () => {
  const snappy = standardCodecs.byName('snappy');
  const frame = snappy.compress(Buffer.from('x'));
  frame.writeInt32BE(2, 8);
  expect(snappy.decompress(frame, 1).toString()).toBe('x');
  frame.writeInt32BE(2, 12);
  expect(() => snappy.decompress(frame, 1)).toThrow(/frame version 2/);
});

test('lz4 is written as Kafka expects it: independent blocks, no dictionary, an end mark', () => {
  const lz4 = standardCodecs.byName('lz4');
  expect(lz4.compress(Buffer.from('a')).toString('hex')).toBe(
    '04224d18' + //   magic
      '60' + //       version 1, independent blocks, no checksum, no content size
      '40' + //       blocks of at most 64 KiB
      '82' + //       checksum of the header
      '01000080' + // a stored block of one byte
      '61' +
      '00000000', //  end
  );
  for (const size of [0, 100_000, 1_000_000, 5_000_000]) {
    const frame = lz4.compress(Buffer.alloc(size, 'abcdefg'));
    expect(frame[4]).toBe(0x60);
    expect([4, 5, 6, 7]).toContain(frame[5]! >> 4);
    expect(frame.readUInt32LE(frame.length - 4)).toBe(0);
  }
});

test('lz4: checksums are honoured, linked blocks and dictionaries refused', () => {
  const lz4 = standardCodecs.byName('lz4');
  // Flags: content checksum and block checksums. By the lz4 command, of 'tributary'.
  const checked = Buffer.from(
    '04224d187440bd09000080747269627574617279bda5f01000000000bda5f010',
    'hex',
  );
  expect(lz4.decompress(checked, 9).toString()).toBe('tributary');
  for (let at = 0; at < checked.length; at += 1) {
    const changed = Buffer.from(checked);
    changed[at]! ^= 0x01;
    expect(() => lz4.decompress(changed, 9)).toThrow();
  }
  for (const [flags, why] of [
    [0x40, /depend on each other/],
    [0x61, /dictionary/],
    [0x62, /version/],
    [0xa0, /version/],
  ] as const) {
    const frame = lz4.compress(Buffer.from('tributary'));
    frame[4] = flags;
    expect(() => lz4.decompress(frame, 9)).toThrow(why);
  }
});

test('zstd is written as a plain frame without dictionary', () => {
  const zstd = standardCodecs.byName('zstd');
  for (const size of [1, 100, 100_000]) {
    const frame = zstd.compress(Buffer.alloc(size, 'abcdefg'));
    expect(frame.readUInt32LE(0)).toBe(0xfd2fb528);
    expect(frame[4]! & 0x0b).toBe(0); // reserved bit and dictionary
  }
});

test('zstd: content size, checksum, skippable frames are read; a dictionary is not', () => {
  const zstd = standardCodecs.byName('zstd');
  // By the zstd command, of 'tributary', with content size and checksum.
  const checked = Buffer.from('28b52ffd240949000074726962757461727912125482', 'hex');
  const skippable = Buffer.from('502a4d1803000000aabbcc', 'hex');
  const all = Buffer.concat([skippable, checked, skippable, checked]);
  expect(zstd.decompress(all, 18).toString()).toBe('tributarytributary');
  expect(zstd.decompress(skippable, 18)).toHaveLength(0);
  const damaged = Buffer.from(checked);
  damaged[damaged.length - 1]! ^= 1;
  expect(() => zstd.decompress(damaged, 9)).toThrow();
  const named = Buffer.concat([
    Buffer.from('28b52ffd', 'hex'),
    Buffer.from([0x01, 0x58, 0x07]), // a window, dictionary 7
    Buffer.from('01000061', 'hex'),
  ]);
  expect(() => zstd.decompress(named, 9)).toThrow(/dictionary/);
});
