/**
 * One hot message as a table of its fields, and the codec that follows from it. Invariant: unknown fields, and
 * known ones with another wire type, are skipped, so that a newer peer is understood. Called by hot-messages.ts.
 */
import { TributaryError } from '@tributary/common';
import type { Codec } from '../method';
import type { Field, Kind } from './fields';
import { undecodable } from './undecodable';
import { WireReader, wireType } from './wire-reader';
import { varintSize, WireWriter, type WirePlan } from './wire-writer';

type Message = Record<string, unknown>;

interface PlacedField extends Field {
  readonly name: string;
  readonly tag: number;
  readonly tagSize: number;
}

export class MessageTable implements Kind<Message> {
  readonly wireType = wireType.delimited;
  readonly initial = null;
  private readonly fields: PlacedField[];
  private readonly byNumber: (PlacedField | undefined)[] = [];
  private readonly repeated: PlacedField[];
  /** What an empty message decodes to, without its lists: those are made anew each time. */
  private readonly template: Message = {};

  constructor(fields: Readonly<Record<string, Field>>) {
    this.fields = Object.entries(fields).map(([name, field]) => {
      const tag = (field.number << 3) | field.kind.wireType;
      return { ...field, name, tag, tagSize: varintSize(tag) };
    });
    this.repeated = this.fields.filter((field) => field.repeated);
    for (const field of this.fields) {
      this.byNumber[field.number] = field;
      if (!field.repeated && field.discriminator === undefined) {
        this.template[field.name] = field.kind.initial;
      }
    }
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
    const value: Message = { ...this.template };
    for (const field of this.repeated) value[field.name] = [];
    while (!reader.done) {
      const tag = reader.uint32();
      if (tag >>> 3 === 0) throw new RangeError('a field with the number 0');
      const field = this.byNumber[tag >>> 3];
      if (field && field.tag === tag) take(value, field, reader);
      else reader.skip(tag & 7);
    }
    return value;
  };
}

export function tableCodec<Input, Output>(
  messageName: string,
  table: MessageTable,
): Codec<Input, Output> {
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
        return table.readBody(new WireReader(bytes)) as Output;
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

function take(message: Message, field: PlacedField, reader: WireReader): void {
  const value = field.kind.read(reader);
  if (field.repeated) {
    (message[field.name] as unknown[]).push(value);
    return;
  }
  if (field.discriminator !== undefined) {
    // The last member of a oneof wins.
    const earlier = message[field.discriminator];
    if (typeof earlier === 'string' && earlier !== field.name) delete message[earlier];
    message[field.discriminator] = field.name;
  }
  message[field.name] = value;
}
