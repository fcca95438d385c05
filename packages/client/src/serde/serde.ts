/**
 * How keys and values become bytes and come back. A producer and a consumer take one for the key and one for
 * the value; their record types follow from it. Absent keys and tombstones (null) never reach a serde.
 */
import { TributaryError } from '@tributary/common';

export interface SerdeContext {
  readonly topic: string;
  readonly field: 'key' | 'value';
}

export interface Serde<T> {
  /** May throw anything: the caller sees INVALID_ARGUMENT with it as the cause. */
  serialize(data: T, context: SerdeContext): Uint8Array;
  /** May throw anything: the caller sees DESERIALIZATION_FAILED with it as the cause. */
  deserialize(bytes: Buffer, context: SerdeContext): T;
}

/** The bytes as they are: the default. */
export function bytes(): Serde<Uint8Array> {
  return rawBytes;
}

/** UTF-8. Bytes that are not UTF-8 fail to deserialize instead of being replaced. */
export function string(): Serde<string> {
  return utf8;
}

/** JSON in UTF-8. `T` is what the caller believes; nothing checks it. */
export function json<T>(): Serde<T> {
  return {
    serialize: (data) => {
      const text = JSON.stringify(data) as string | undefined;
      if (text === undefined) throw new TypeError(`${typeof data} has no JSON form`);
      return Buffer.from(text, 'utf8');
    },
    deserialize: (encoded) => JSON.parse(decodeUtf8(encoded)) as T,
  };
}

const rawBytes: Serde<Uint8Array> = {
  serialize: (data, { field }) => {
    if (!(data instanceof Uint8Array)) {
      const serde = typeof data === 'string' ? 'string()' : 'json()';
      throw new TypeError(
        `${typeof data} is not bytes: pass a Uint8Array, or make the producer with { ${field}: ${serde} }`,
      );
    }
    return data;
  },
  deserialize: (encoded) => encoded,
};

const utf8: Serde<string> = {
  serialize: (data) => {
    if (typeof data !== 'string') throw new TypeError(`${typeof data} is not a string`);
    return Buffer.from(data, 'utf8');
  },
  deserialize: (encoded) => decodeUtf8(encoded),
};

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

function decodeUtf8(encoded: Buffer): string {
  return strictUtf8.decode(encoded);
}

/** Serializes a key or a value; null and undefined stay null. Throws INVALID_ARGUMENT, 'not written'. */
export function serializeField<T>(
  serde: Serde<T>,
  data: T | null | undefined,
  context: SerdeContext,
): Buffer | null {
  if (data === null || data === undefined) return null;
  try {
    return asBuffer(serde.serialize(data, context));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TributaryError(
      'INVALID_ARGUMENT',
      `the ${context.field} of a record for topic ${context.topic} cannot be serialized: ${why}`,
      { outcome: 'not written', cause },
    );
  }
}

/** The same bytes as a Buffer, without copying. */
export function asBuffer(data: Uint8Array): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
}
