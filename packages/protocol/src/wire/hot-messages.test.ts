/** Our codecs against proto-loader's, on messages made up from the descriptors in proto/. */
import fc from 'fast-check';
import type { Field } from 'protobufjs';
import { codecOf, generalCodec } from '../codec';
import { protoRoot } from '../proto-definitions.fixture';
import { hotTables } from './hot-messages';

const hotNames = Object.keys(hotTables(generalCodec));
const safeLong = fc.oneof(
  fc.constantFrom(0, 1, -1, 127, 128, 2 ** 31, 2 ** 32),
  fc.maxSafeInteger(),
);
const safeUnsigned = fc.oneof(fc.constantFrom(0, 127, 128, 2 ** 31), fc.maxSafeNat());
const scalars: Record<string, fc.Arbitrary<unknown>> = {
  string: fc.string({ unit: 'grapheme', maxLength: 30 }),
  bytes: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  bool: fc.boolean(),
  int32: fc.integer(),
  uint32: fc.nat({ max: 2 ** 32 - 1 }),
  int64: safeLong,
  uint64: safeUnsigned,
};

const enums: Record<string, string[]> = {
  ErrorCode: ['NONE', 'NOT_LEADER', 'DESERIALIZATION_FAILED'],
  Outcome: ['OUTCOME_UNSPECIFIED', 'MAYBE_WRITTEN'],
};

function valueOf(field: Field): fc.Arbitrary<unknown> {
  const scalar = scalars[field.type];
  if (scalar) return scalar;
  const names = enums[field.type];
  return names ? fc.constantFrom(...names) : messageOf(field.type);
}

/** What a sender may hand in: any field may be missing, and at most one member of a oneof is there. */
function messageOf(messageName: string): fc.Arbitrary<object> {
  const plain: Record<string, fc.Arbitrary<unknown>> = {};
  const oneofs = new Map<string, fc.Arbitrary<object>[]>();
  for (const field of protoRoot.lookupType(messageName).fieldsArray) {
    const value = valueOf(field);
    if (field.repeated) {
      plain[field.name] = fc.array(value, { maxLength: 3 });
    } else if (!field.partOf || field.partOf.name.startsWith('_')) {
      plain[field.name] = value;
    } else {
      const members = oneofs.get(field.partOf.name) ?? [];
      members.push(value.map((inner) => ({ [field.name]: inner })));
      oneofs.set(field.partOf.name, members);
    }
  }
  const parts = [...oneofs.values()].map((members) => fc.oneof(fc.constant({}), ...members));
  return fc
    .tuple(fc.record(plain, { requiredKeys: [] }), ...parts)
    .map(([record, ...branches]) => Object.assign({}, record, ...branches) as object);
}

describe.each(hotNames)('our codec of %s', (name) => {
  const ours = codecOf<object, object>(name);
  const theirs = generalCodec<object, object>(name);

  it('and proto-loader understand each other, with one decoded shape', () => {
    fc.assert(
      fc.property(messageOf(name), (message) => {
        const expected = theirs.decode(theirs.encode(message));
        expect(ours.decode(theirs.encode(message))).toStrictEqual(expected);
        expect(theirs.decode(ours.encode(message))).toStrictEqual(expected);
        expect(ours.decode(ours.encode(message))).toStrictEqual(expected);
      }),
      { numRuns: 150 },
    );
  });

  it('refuses garbage with INVALID_ARGUMENT, and never reads past the end', () => {
    fc.assert(
      fc.property(
        messageOf(name),
        fc.nat(),
        fc.uint8Array({ maxLength: 20 }),
        (message, at, junk) => {
          const whole = ours.encode(message);
          for (const bytes of [whole.subarray(0, at % (whole.length + 1)), Buffer.from(junk)]) {
            try {
              ours.decode(bytes);
            } catch (thrown) {
              expect(thrown).toMatchObject({ code: 'INVALID_ARGUMENT' });
            }
          }
        },
      ),
      { numRuns: 150 },
    );
  });

  it('passes over fields that it does not know', () => {
    const message = theirs.encode({});
    // Field 1000 as varint, as bytes, as fixed32 and as fixed64.
    const unknown = Buffer.from('c03e05c23e03616263c53e01020304c13e0102030405060708', 'hex');
    expect(ours.decode(Buffer.concat([message, unknown]))).toStrictEqual(theirs.decode(message));
  });
});

describe('a batch in our codecs', () => {
  it('is a view of what was received', () => {
    const codec = codecOf<object, { request: { partitions: { batch: Buffer }[] } }>('ProduceUp');
    const bytes = codec.encode({ request: { partitions: [{ batch: Buffer.alloc(70_000, 7) }] } });
    const batch = codec.decode(bytes).request.partitions[0]!.batch;
    expect(batch).toHaveLength(70_000);
    expect(batch.buffer).toBe(bytes.buffer);
  });

  it('is copied once, into one buffer of the exact size', () => {
    const codec = codecOf<object, unknown>('FollowDown');
    const bytes = codec.encode({ push: { batches: Buffer.alloc(100_000) } });
    expect(bytes.length).toBeLessThan(100_020);
    expect(bytes.buffer.byteLength).toBe(bytes.length);
  });
});

describe('numbers beyond the safe integers', () => {
  const offset = Buffer.from('28ffffffffffffffff7f', 'hex'); // field 5: 2^63 - 1

  it('are refused by our codecs and by the general ones', () => {
    const acknowledge = Buffer.concat([Buffer.from([0x1a, offset.length]), offset]);
    expect(() => codecOf('FollowUp').decode(acknowledge)).toThrow(/not a FollowUp/);
    expect(() => generalCodec('FollowUp').decode(acknowledge)).toThrow(/not a FollowUp/);
  });

  it('are not sent', () => {
    expect(() => codecOf('FollowUp').encode({ acknowledge: { logEndOffset: 2 ** 53 } })).toThrow(
      /safe integer/,
    );
  });
});
