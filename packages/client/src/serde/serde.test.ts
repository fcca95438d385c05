import { bytes, json, string } from '.';
import { serializeField } from './serde';

const context = { topic: 't', field: 'value' } as const;

describe('serdes', () => {
  test('string: UTF-8 there and back, also what looks like a byte order mark', () => {
    for (const text of ['', 'a', '\u00e4\u{1f600}', '\ufeffx']) {
      const encoded = string().serialize(text, context);
      expect(string().deserialize(Buffer.from(encoded), context)).toBe(text);
    }
  });

  test('string: bytes that are not UTF-8 are not replaced in silence', () => {
    expect(() => string().deserialize(Buffer.from([0xff]), context)).toThrow();
  });

  test('json', () => {
    const serde = json<{ n: number }>();
    const encoded = Buffer.from(serde.serialize({ n: 1 }, context));
    expect(encoded.toString()).toBe('{"n":1}');
    expect(serde.deserialize(encoded, context)).toEqual({ n: 1 });
    expect(() => json<unknown>().serialize(undefined, context)).toThrow('no JSON form');
  });

  test('bytes: the very same', () => {
    const data = Buffer.from([1, 2]);
    expect(bytes().serialize(data, context)).toBe(data);
  });

  test('a view of a larger buffer keeps its bounds', () => {
    const view = new Uint8Array(Uint8Array.from([1, 2, 3, 4]).buffer, 1, 2);
    expect(serializeField(bytes(), view, context)).toEqual(Buffer.from([2, 3]));
  });

  test('null and undefined never reach a serde', () => {
    expect(serializeField(string(), null, context)).toBeNull();
    expect(serializeField(string(), undefined, context)).toBeNull();
  });

  test('what is not bytes needs a serde, and the error names one', () => {
    const text = 'u1' as unknown as Uint8Array;
    expect(() => serializeField(bytes(), text, { topic: 't', field: 'key' })).toThrow(
      'string is not bytes: pass a Uint8Array, or make the producer with { key: string() }',
    );
  });

  test('a serde that throws: INVALID_ARGUMENT, not written, its error as cause', () => {
    const cause = new RangeError('no');
    const failing = {
      serialize: () => {
        throw cause;
      },
      deserialize: () => undefined,
    };
    try {
      serializeField<unknown>(failing, 1, context);
      throw new Error('not refused');
    } catch (thrown) {
      expect(thrown).toMatchObject({ code: 'INVALID_ARGUMENT', outcome: 'not written', cause });
    }
  });
});
