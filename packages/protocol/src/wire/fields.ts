/**
 * The kinds of fields that a hot message may have: how each is planned, written and read. Invariant: bytes and
 * decoded shape are those of proto-loader with our options (a property test compares the two): implicit
 * fields are left out when they hold their default and come back as it, members of a oneof are absent unless sent.
 * Called by message-table.ts.
 */
import type { Codec } from '../method';
import { wireType, type WireReader } from './wire-reader';
import { varintSize, type WirePlan, type WireWriter } from './wire-writer';

/** How values of one protobuf type lie on the wire, without the tag. `plan` returns the bytes of the body. */
export interface Kind<T> {
  readonly wireType: number;
  /** What an absent field decodes to; undefined: the property is missing. */
  readonly initial: T | null | undefined;
  /** The value as its type, from whatever a sender may have put there. */
  normalize(value: unknown): T;
  plan(value: T, plan: WirePlan): number;
  write(value: T, writer: WireWriter): void;
  read(reader: WireReader): T;
}

export interface Field {
  readonly number: number;
  readonly kind: Kind<unknown>;
  /** The property that names the member that was sent: the oneof, or `_name` for an optional field. */
  readonly discriminator?: string;
  readonly repeated?: boolean;
}

function integer(
  read: (reader: WireReader) => number,
  wrap: (value: number) => number,
): Kind<number> {
  return {
    wireType: wireType.varint,
    initial: 0,
    normalize: (value) => wrap(typeof value === 'number' ? value : Number(String(value))),
    plan: varintSize,
    write: (value, writer) => writer.varint(value),
    read,
  };
}

const int32Kind = integer(
  (reader) => reader.int32(),
  (value) => value | 0,
);
const uint32Kind = integer(
  (reader) => reader.uint32(),
  (value) => value >>> 0,
);
const int64Kind = integer((reader) => reader.int64(), safe);
const uint64Kind = integer((reader) => reader.uint64(), safe);

const boolKind: Kind<boolean> = {
  wireType: wireType.varint,
  initial: false,
  normalize: Boolean,
  plan: () => 1,
  write: (value, writer) => writer.varint(value ? 1 : 0),
  read: (reader) => reader.bool(),
};

const stringKind: Kind<string> = {
  wireType: wireType.delimited,
  initial: '',
  normalize: String,
  plan(value, plan) {
    const byteLength = Buffer.byteLength(value);
    plan.push(byteLength);
    return varintSize(byteLength) + byteLength;
  },
  write: (value, writer) => writer.string(value),
  read: (reader) => reader.string(),
};

const bytesKind: Kind<Uint8Array> = {
  wireType: wireType.delimited,
  initial: Buffer.alloc(0),
  // A string is base64, as proto-loader takes it.
  normalize: (value) =>
    typeof value === 'string' ? Buffer.from(value, 'base64') : (value as Uint8Array),
  plan: (value) => varintSize(value.length) + value.length,
  write: (value, writer) => writer.bytes(value),
  read: (reader) => reader.bytes(),
};

/** A nested message that is rare: its bytes come from its own codec. */
function delegatedKind(codec: Codec<unknown, unknown>): Kind<unknown> {
  return {
    wireType: wireType.delimited,
    initial: null,
    normalize: (value) => value,
    plan(value, plan) {
      const bytes = codec.encode(value);
      plan.push(bytes);
      return varintSize(bytes.length) + bytes.length;
    },
    write: (_value, writer) => writer.plannedBytes(),
    read: (reader) => codec.decode(reader.bytes()),
  };
}

function safe(value: number): number {
  if (!Number.isSafeInteger(value)) throw new RangeError(`${value} is not a safe integer`);
  return value;
}

function field(kind: Kind<never>): (number: number, discriminator?: string) => Field {
  // A table pairs each kind only with values of its own type.
  const erased = kind as Kind<unknown>;
  return (number, discriminator) => ({ number, kind: erased, discriminator });
}

export const int32 = field(int32Kind as Kind<never>);
export const uint32 = field(uint32Kind as Kind<never>);
export const int64 = field(int64Kind as Kind<never>);
export const uint64 = field(uint64Kind as Kind<never>);
export const bool = field(boolKind as Kind<never>);
export const string = field(stringKind as Kind<never>);
export const bytes = field(bytesKind as Kind<never>);

/** @param discriminator the oneof that it belongs to, if any. */
export function message(number: number, kind: Kind<unknown>, discriminator?: string): Field {
  return { number, kind, discriminator };
}

export function delegated(
  number: number,
  codec: Codec<unknown, unknown>,
  discriminator?: string,
): Field {
  return { number, kind: delegatedKind(codec), discriminator };
}

export function repeated(element: Field): Field {
  return { ...element, repeated: true };
}
