/**
 * One hot message as a table of its fields, and the codec that follows from it. Invariant: unknown fields, and
 * known ones with another wire type, are skipped, so that a newer peer is understood. Called by hot-messages.ts.
 */
import { TributaryError } from '@tributary/common';
import type { Codec } from '../method';
import { maxElementsOf } from './element-limit';
import type { Field, Kind } from './fields';
import { undecodable } from './undecodable';
import { WireReader, wireType } from './wire-reader';
import { varintSize, WireWriter, type WirePlan } from './wire-writer';

type Message = Record<string, unknown>;

interface PlacedField extends Field {
  readonly name: string;
  readonly tag: number;
  readonly tagSize: number;
  /** For a member of a oneof: an empty message with it. V8 is slow at adding properties one by one. */
  readonly withMember: Message;
}

export class MessageTable implements Kind<Message> {
  readonly wireType = wireType.delimited;
  readonly initial = null;
  private readonly fields: PlacedField[];
  private readonly byNumber: (PlacedField | undefined)[] = [];
  private readonly repeated: PlacedField[];
  /** What an empty message decodes to; its lists are made anew each time. */
  private readonly template: Message = {};

  constructor(fields: Readonly<Record<string, Field>>) {
    for (const [name, field] of Object.entries(fields)) {
      if (field.repeated) this.template[name] = [];
      else if (field.discriminator === undefined) this.template[name] = field.kind.initial;
    }
    this.fields = Object.entries(fields).map(([name, field]) => {
      const tag = (field.number << 3) | field.kind.wireType;
      const member = field.discriminator === undefined ? {} : { [field.discriminator]: name };
      const withMember = { ...this.template, [name]: null, ...member };
      return { ...field, name, tag, tagSize: varintSize(tag), withMember };
    });
    this.repeated = this.fields.filter((field) => field.repeated);
    for (const field of this.fields) this.byNumber[field.number] = field;
  }

  normalize(value: unknown): Message {
    return value as Message;
  }

  /** Bytes of the message with the varint of its length before it. */
  plan(value: Message, plan: WirePlan): number {
    const slot = plan.length;
    plan.push(0);
    const size = this.planBody(value, plan);
    plan[slot] = size;
    return varintSize(size) + size;
  }

  write(value: Message, writer: WireWriter): void {
    writer.varint(writer.nextPlanned());
    this.writeBody(value, writer);
  }

  read(reader: WireReader): Message {
    return reader.nested(this.readBody);
  }

  planBody(value: Message, plan: WirePlan): number {
    let size = 0;
    for (const field of this.fields) {
      const raw = value[field.name];
      if (raw === undefined || raw === null) continue;
      if (field.repeated) {
        for (const element of raw as unknown[]) {
          size += field.tagSize + field.kind.plan(element, plan);
        }
      } else {
        const single = field.kind.normalize(raw);
        if (isSent(field, single)) size += field.tagSize + field.kind.plan(single, plan);
      }
    }
    return size;
  }

  writeBody(value: Message, writer: WireWriter): void {
    for (const field of this.fields) {
      const raw = value[field.name];
      if (raw === undefined || raw === null) continue;
      if (field.repeated) {
        for (const element of raw as unknown[]) {
          writer.varint(field.tag);
          field.kind.write(element, writer);
        }
      } else {
        const single = field.kind.normalize(raw);
        if (!isSent(field, single)) continue;
        writer.varint(field.tag);
        field.kind.write(single, writer);
      }
    }
  }

  readonly readBody = (reader: WireReader): Message => {
    let value: Message = { ...this.template };
    for (const field of this.repeated) value[field.name] = [];
    while (!reader.done) {
      const tag = reader.uint32();
      if (tag >>> 3 === 0) throw new RangeError('a field with the number 0');
      const field = this.byNumber[tag >>> 3];
      if (field && field.tag === tag) value = taken(value, field, reader);
      else reader.skip(tag & 7);
    }
    return value;
  };
}

export function tableCodec<Input, Output>(
  messageName: string,
  table: MessageTable,
): Codec<Input, Output> {
  const maxElements = maxElementsOf(messageName);
  return {
    messageName,
    encode(input: Input): Buffer {
      const plan: WirePlan = [];
      const writer = new WireWriter(planned(input as Message, table, plan), plan);
      table.writeBody(input as Message, writer);
      return writer.finish();
    },
    decode(bytes: Buffer): Output {
      try {
        return table.readBody(new WireReader(bytes, maxElements)) as Output;
      } catch (thrown) {
        throw thrown instanceof TributaryError ? thrown : undecodable(messageName, thrown);
      }
    },
  };
}

/** Only planning meets what the sender put in; after it, a failure is a defect of the encoder. */
function planned(input: Message, table: MessageTable, plan: WirePlan): number {
  try {
    return table.planBody(input, plan);
  } catch (thrown) {
    throw TributaryError.from(thrown, 'INVALID_ARGUMENT');
  }
}

/** A field without presence is left out when it holds its default. */
function isSent(field: PlacedField, value: unknown): boolean {
  if (field.discriminator !== undefined) return true;
  return value !== 0 && value !== '' && value !== false;
}

/** The message with what comes next: the same object, or for a member of a oneof a new one. */
function taken(message: Message, field: PlacedField, reader: WireReader): Message {
  // A member of a oneof may be sent again and again, too: the last one wins.
  if (field.repeated || field.discriminator !== undefined) reader.countElements(1);
  const value = field.kind.read(reader);
  if (field.repeated) {
    (message[field.name] as unknown[]).push(value);
    return message;
  }
  if (field.discriminator === undefined) {
    message[field.name] = value;
    return message;
  }
  const earlier = message[field.discriminator];
  if (typeof earlier === 'string') delete message[earlier];
  const next = { ...field.withMember, ...message };
  next[field.discriminator] = field.name;
  next[field.name] = value;
  return next;
}
