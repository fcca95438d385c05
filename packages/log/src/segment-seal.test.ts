/** The seal as bytes: what goes in comes out, and nothing else does. */
import {
  sealHeadBytes,
  decodeSeal,
  decodeSealHead,
  encodeSeal,
  intervalsOf,
  type SegmentSeal,
} from './segment-seal';

const seal: SegmentSeal = {
  baseOffset: 2 ** 33,
  nextOffset: 2 ** 33 + 1000,
  logBytes: 123_456,
  index: { bytes: 16, crc: 0xdeadbeef },
  timeIndex: { bytes: 24, crc: 1 },
  epochsCrc: 0xffffffff,
  sealedAt: 1_700_000_000_000,
  firstAppendAt: 1_600_000_000_000,
  firstTimestamp: -5,
  maxTimestamp: { timestamp: 9_000_000_000_000, offset: 2 ** 33 + 12 },
  epochs: [
    { epoch: 3, startOffset: 2 ** 33 },
    { epoch: 7, startOffset: 2 ** 33 + 17 },
  ],
  intervalCount: 2,
  intervals: Buffer.from('000000000000000011111111000000200000100022222222', 'hex'),
};

const empty: SegmentSeal = {
  ...seal,
  nextOffset: seal.baseOffset,
  logBytes: 0,
  firstAppendAt: undefined,
  firstTimestamp: undefined,
  maxTimestamp: undefined,
  epochs: [],
  intervalCount: 0,
  intervals: Buffer.alloc(0),
};

test('a seal is read as it was written', () => {
  expect(decodeSeal(encodeSeal(seal), 'x')).toEqual(seal);
  expect(decodeSeal(encodeSeal(empty), 'x')).toEqual(empty);
  expect(intervalsOf(seal)).toEqual([
    { baseOffset: 2 ** 33, position: 0, crc: 0x11111111 },
    { baseOffset: 2 ** 33 + 32, position: 4096, crc: 0x22222222 },
  ]);
});

test('the head is readable without the rest', () => {
  const { intervals: _intervals, ...head } = seal;
  const bytes = encodeSeal(seal);
  const needed = sealHeadBytes(bytes.subarray(0, 104));
  expect(needed).toBe(104 + 16);
  expect(decodeSealHead(bytes.subarray(0, needed), 'x')).toEqual(head);
});

test('every flipped bit and every cut is found, and the position is told', () => {
  const sound = encodeSeal(seal);
  for (let bit = 0; bit < sound.length * 8; bit += 1) {
    const bytes = Buffer.from(sound);
    bytes.writeUInt8(bytes.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
    expect(() => decodeSeal(bytes, '/d/x.seal')).toThrow('/d/x.seal');
  }
  for (let length = 0; length < sound.length; length += 1) {
    expect(() => decodeSeal(sound.subarray(0, length), '/d/x.seal')).toThrow('/d/x.seal');
  }
});
