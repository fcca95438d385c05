/** The bytes themselves: a batch checked by hand, field by field, and the checksum against known answers. */
import { BatchBuilder } from './batch-builder';
import { assignOffsetAndEpoch, readBatchHeader } from './batch-header';
import { decodeBatch } from './batch-decoder';
import { continueCrc32c, crc32c, crc32cByTables } from './crc32c';

const golden = [
  '0000000000000000', // base offset 0
  '0000004a', //         batch length: 86 - 12
  'ffffffff', //         leader epoch -1: none yet
  '02', //               magic
  '5fe61856', //         CRC-32C of all that follows, computed bit by bit elsewhere
  '0000', //             attributes: no compression, create time
  '00000001', //         last offset delta
  '0000018bcfe56800', // base timestamp 1700000000000
  '0000018bcfe5692c', // max timestamp  1700000000300
  '0000000000000fa0', // producer id 4000
  '0002', //             producer epoch 2
  '00000007', //         base sequence 7
  '00000002', //         two records
  '1a', //               13 bytes: attributes 0, time +0, offset +0, key "k1", value "hello", no headers
  '000000046b310a68656c6c6f00',
  '14', //               10 bytes: attributes 0, time +300, offset +1, no key, tombstone, header "h" = null
  '00d80402010102026801',
].join('');

test('a batch is built to the byte as the format says', () => {
  const builder = new BatchBuilder({ codec: 'none' });
  builder.append({
    key: Buffer.from('k1'),
    value: Buffer.from('hello'),
    headers: [],
    timestamp: 1_700_000_000_000,
  });
  builder.append({
    key: null,
    value: null,
    headers: [{ key: 'h', value: null }],
    timestamp: 1_700_000_000_300,
  });
  expect(builder.sizeInBytes).toBe(86);
  const batch = builder.build({ producerId: 4000, producerEpoch: 2, baseSequence: 7 });
  expect(batch.toString('hex')).toBe(golden);
});

test('the golden batch is read back', () => {
  const batch = Buffer.from(golden, 'hex');
  assignOffsetAndEpoch(batch, 9_000_000_000, 5);
  expect(readBatchHeader(batch)).toMatchObject({
    baseOffset: 9_000_000_000,
    lastOffset: 9_000_000_001,
    sizeInBytes: 86,
    leaderEpoch: 5,
    codec: 'none',
    producerId: 4000,
    producerEpoch: 2,
    baseSequence: 7,
    recordsCount: 2,
    maxTimestamp: 1_700_000_000_300,
    timestampType: 'CreateTime',
    isControl: false,
    isTransactional: false,
  });
  expect(decodeBatch(batch)).toEqual([
    {
      offset: 9_000_000_000,
      timestamp: 1_700_000_000_000,
      key: Buffer.from('k1'),
      value: Buffer.from('hello'),
      headers: [],
      leaderEpoch: 5,
    },
    {
      offset: 9_000_000_001,
      timestamp: 1_700_000_000_300,
      key: null,
      value: null,
      headers: [{ key: 'h', value: null }],
      leaderEpoch: 5,
    },
  ]);
});

test('crc32c gives the known answers, by tables and by native code alike', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283);
  expect(crc32c(Buffer.alloc(0))).toBe(0);
  expect(crc32c(Buffer.alloc(32))).toBe(0x8a9136aa); // RFC 3720, appendix B.4
  expect(crc32c(Buffer.alloc(32, 0xff))).toBe(0x62a8ab43);
  for (const length of [199, 200, 201, 1000, 4099]) {
    const bytes = Buffer.from(Array.from({ length }, (_, i) => (i * 31) & 0xff));
    expect(crc32c(bytes)).toBe(crc32cByTables(bytes));
  }
});

test('a CRC goes on where another one ended', () => {
  const bytes = Buffer.from('The quick brown fox jumps over the lazy dog');
  for (let cut = 0; cut <= bytes.length; cut += 1) {
    const first = continueCrc32c(0, bytes, 0, cut);
    expect(continueCrc32c(first, bytes, cut, bytes.length)).toBe(crc32c(bytes));
  }
});
