/** The quick walk over records against the one field by field: the same records, the same errors, on any bytes. */
import * as fc from 'fast-check';
import { RecordReader } from './record-reader';
import { varintSize, varlongSize, writeVarint, writeVarlong } from './varint';

type Walk = (reader: RecordReader) => void;
const quick: Walk = (reader) => reader.skipRecord();
const slow: Walk = (reader) => reader['skipAnyRecord']();

/** What is seen of each record, and how it ends. */
function seen(bytes: Buffer, walk: Walk): unknown[] {
  const reader = new RecordReader(bytes);
  const told: unknown[] = [];
  try {
    while (!reader.finished && told.length < 100) {
      walk(reader);
      const { timestampDelta, offsetDelta, offsetDeltaAt, hasKey, position } = reader;
      told.push([timestampDelta, offsetDelta, offsetDeltaAt, hasKey, position]);
    }
    told.push('finished');
  } catch (error) {
    told.push((error as Error).message);
  }
  return told;
}

interface Fields {
  readonly timestampDelta: number;
  readonly offsetDelta: number;
  /** -1: none. */
  readonly key: number;
  readonly value: number;
  readonly headers: number;
  /** What its length says beside what it is. */
  readonly excess: number;
}

function recordOf(fields: Fields): Buffer {
  const { timestampDelta, offsetDelta, key, value, headers, excess } = fields;
  const body = Buffer.alloc(40 + Math.max(0, key) + Math.max(0, value) + headers * 2);
  let at = writeVarlong(body, 1, timestampDelta);
  at = writeVarint(body, at, offsetDelta);
  for (const length of [key, value]) at = writeVarint(body, at, length) + Math.max(0, length);
  at = writeVarint(body, at, headers);
  at += headers * 2; // each an empty key and an empty value
  const length = Buffer.alloc(10);
  const lengthBytes = writeVarint(length, 0, at + excess);
  return Buffer.concat([length.subarray(0, lengthBytes), body.subarray(0, at)]);
}

const aroundLimits = fc.constantFrom(-65, -64, -1, 0, 1, 63, 64, 127, 8_191, 8_192, 2 ** 20, 2 ** 31 - 1); // prettier-ignore
const lengths = fc.constantFrom(-1, 0, 1, 5, 63, 64, 100, 8_191, 8_192, 9_000);
const fields: fc.Arbitrary<Fields> = fc.record({
  timestampDelta: fc.oneof(aroundLimits, fc.integer(), fc.constant(2 ** 40)),
  offsetDelta: fc.oneof(aroundLimits, fc.nat(20_000)),
  key: lengths,
  value: lengths,
  headers: fc.constantFrom(0, 0, 0, 1, 3),
  excess: fc.constantFrom(0, 0, 0, 0, 0, 0, 0, -3, -1, 1, 2, 200),
});

test('sound records, and such as say a wrong length', () => {
  fc.assert(
    fc.property(fc.array(fields, { maxLength: 5 }), (records) => {
      const bytes = Buffer.concat(records.map(recordOf));
      expect(seen(bytes, quick)).toEqual(seen(bytes, slow));
    }),
    { numRuns: 500 },
  );
});

test('any byte changed, and the bytes cut short anywhere', () => {
  const records = [0, 1, 2].map((i) => recordOf({ timestampDelta: i * 100, offsetDelta: i, key: 3 - i, value: 70 * i, headers: 0, excess: 0 })); // prettier-ignore
  const whole = Buffer.concat(records);
  for (let at = 0; at < whole.length; at += 1) {
    const cut = whole.subarray(0, at);
    expect(seen(cut, quick)).toEqual(seen(cut, slow));
    for (const value of [0, 1, 2, 3, 0x7f, 0x80, 0x81, 0xff]) {
      const changed = Buffer.from(whole);
      changed[at] = value;
      expect(seen(changed, quick)).toEqual(seen(changed, slow));
    }
  }
});

test('noise', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 60 }), (noise) => {
      const bytes = Buffer.from(noise);
      expect(seen(bytes, quick)).toEqual(seen(bytes, slow));
    }),
    { numRuns: 3_000 },
  );
});

test('the quick walk is what plain records go through', () => {
  const plain = { timestampDelta: 8_191, offsetDelta: 8_191, key: 8, value: 8_000, headers: 0, excess: 0 }; // prettier-ignore
  expect(new RecordReader(recordOf(plain))['skipPlainRecord']()).toBe(true);
  const padded = recordOf({ ...plain, value: 9_000 });
  expect(new RecordReader(padded)['skipPlainRecord']()).toBe(false);
  expect([varintSize(8_191), varlongSize(8_192)]).toEqual([2, 3]);
});
