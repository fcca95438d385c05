/** Properties: whatever goes in comes out; whatever changes on the way is noticed. */
import * as fc from 'fast-check';
import { BatchBuilder } from './batch-builder';
import { decodeBatch } from './batch-decoder';
import { readBatchHeader, rewriteProducer, splitBatches } from './batch-header';
import { validateBatch } from './batch-validator';
import { CODEC_NAMES, type CodecName } from './codec/codec';
import { MAX_TIMESTAMP, recordSizeBound, type RecordInput } from './record';

const bytes = fc.uint8Array({ maxLength: 300 }).map((array) => Buffer.from(array));
const field = fc.oneof(fc.constant(null), fc.constant(Buffer.alloc(0)), bytes);
const record: fc.Arbitrary<RecordInput> = fc.record({
  key: field,
  value: field,
  // Few names, so that duplicates are common.
  headers: fc.array(
    fc.record({ key: fc.oneof(fc.constantFrom('', 'a', 'é'), fc.string()), value: field }),
    { maxLength: 4 },
  ),
  timestamp: fc.oneof(
    fc.integer({ min: -1, max: MAX_TIMESTAMP }),
    fc.integer({ min: 1_700_000_000_000, max: 1_700_000_100_000 }),
  ),
});
const records = fc.array(record, { minLength: 1, maxLength: 20 });
const codec = fc.constantFrom(...CODEC_NAMES);

const limits = {
  maxBatchBytes: 1_000_000,
  maxRecordsPerBatch: 1000,
  now: MAX_TIMESTAMP,
  maxFutureMs: 0,
};

function build(inputs: readonly RecordInput[], name: CodecName): Buffer {
  const builder = new BatchBuilder({ codec: name, initialBytes: 1 });
  for (const input of inputs) {
    const before = builder.sizeInBytes;
    builder.append(input);
    const bound = recordSizeBound(input.key, input.value, input.headers);
    expect(builder.sizeInBytes - before).toBeLessThanOrEqual(bound);
  }
  return builder.build();
}

test('any records round-trip: null, empty, duplicate headers, all codecs', () => {
  fc.assert(
    fc.property(records, codec, (inputs, name) => {
      const batch = build(inputs, name);
      expect(validateBatch(batch, limits).recordsCount).toBe(inputs.length);
      const decoded = decodeBatch(batch);
      expect(decoded.map(({ offset: _, leaderEpoch: __, ...rest }) => rest)).toEqual(inputs);
      expect(decoded.map(({ offset }) => offset)).toEqual(inputs.map((_, i) => i));
    }),
  );
});

test('any flipped bit from byte 21 on is CORRUPT_BATCH', () => {
  fc.assert(
    fc.property(records, codec, fc.nat(), (inputs, name, seed) => {
      const batch = build(inputs, name);
      const bit = 21 * 8 + (seed % ((batch.length - 21) * 8));
      batch[bit >> 3]! ^= 1 << (bit & 7);
      expect(codeOf(() => decodeBatch(batch))).toBe('CORRUPT_BATCH');
      expect(codeOf(() => validateBatch(batch, limits))).toBe('CORRUPT_BATCH');
    }),
  );
});

test('noise never decodes to anything but a named error', () => {
  fc.assert(
    fc.property(
      records,
      fc.array(fc.tuple(fc.nat(), fc.nat(255)), { minLength: 1 }),
      (inputs, changes) => {
        const batch = build(inputs, 'none');
        for (const [at, value] of changes) batch[at % batch.length] = value;
        try {
          expect(decodeBatch(batch, { checkCrc: false }).length).toBeGreaterThanOrEqual(0);
        } catch (error) {
          expect(['INVALID_BATCH', 'UNSUPPORTED_CODEC']).toContain(
            (error as { code: string }).code,
          );
        }
      },
    ),
  );
});

test('batches laid one after another split again; a torn tail is refused', () => {
  const one = { key: null, value: Buffer.from('x'), headers: [], timestamp: 1 };
  const all = [build([one], 'none'), build([one, one], 'gzip'), build([one], 'none')];
  const joined = Buffer.concat(all);
  expect(splitBatches(joined)).toEqual(all);
  expect(splitBatches(Buffer.alloc(0))).toEqual([]);
  for (const cut of [1, 11, 12, 60]) {
    const torn = joined.subarray(0, joined.length - cut);
    expect(codeOf(() => splitBatches(torn))).toBe('INVALID_BATCH');
  }
});

test('after an epoch bump a batch carries the new stamp and a true CRC', () => {
  const batch = build([{ key: null, value: null, headers: [], timestamp: 1 }], 'none');
  rewriteProducer(batch, { producerId: 2 ** 40, producerEpoch: 3, baseSequence: 0 });
  expect(validateBatch(batch, limits)).toMatchObject({
    producerId: 2 ** 40,
    producerEpoch: 3,
    baseSequence: 0,
  });
  expect(readBatchHeader(batch).recordsCount).toBe(1);
});

test('tryAppend keeps the batch within its limit, but takes the first record whatever its size', () => {
  const large = { key: null, value: Buffer.alloc(500), headers: [], timestamp: 1 };
  const builder = new BatchBuilder({ codec: 'none', maxBytes: 300 });
  expect(builder.tryAppend(large)).toBe(true);
  expect(builder.tryAppend({ ...large, value: null })).toBe(false);
  expect(builder.recordsCount).toBe(1);
});

function codeOf(work: () => unknown): string {
  try {
    work();
    return 'no error';
  } catch (error) {
    return (error as { code: string }).code;
  }
}
