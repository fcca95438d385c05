/**
 * Finds and loads proto/, once, at first use. Invariant: the options here equal those of
 * scripts/generate-protocol.mjs, so that decoded objects have the shape of the generated types.
 * Called by codec.ts for encoders and by the reflection service for descriptors.
 */
import { resolve } from 'node:path';
import { loadSync, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader';
import { TributaryError } from '@tributary/common';
import type { CountedField } from './wire/element-limit';

export const protoFiles = ['hello', 'error', 'broker', 'replication', 'control', 'group', 'admin'];

/** Seen from src/ and from dist/ alike: the repository's own, else a copy beside the installed package. */
const candidates = [resolve(__dirname, '../../../proto'), resolve(__dirname, '../proto')];

let loaded: PackageDefinition | undefined;

/** proto-loader's encoder and decoder of a message, by its name without the package. */
export function messageDefinition(name: string): MessageTypeDefinition<object, object> {
  const definition = definitions()[`tributary.v1.${name}`];
  if (!definition || !('serialize' in definition)) {
    throw new TributaryError('INTERNAL', `no message ${name} in proto/tributary/v1`);
  }
  return definition as MessageTypeDefinition<object, object>;
}

const counted = new Map<string, ReadonlyMap<number, CountedField>>();

/** What counts of the fields of a message, by their numbers. */
export function countedFields(messageName: string): ReadonlyMap<number, CountedField> {
  const known = counted.get(messageName);
  if (known) return known;
  const { type } = messageDefinition(messageName);
  const fields = new Map(
    (type as unknown as MessageDescriptor).field.map((field) => [
      field.number,
      countedField(field),
    ]),
  );
  counted.set(messageName, fields);
  return fields;
}

/** What we read of a DescriptorProto, which proto-loader leaves without a type. */
interface MessageDescriptor {
  readonly field: readonly FieldDescriptor[];
}

interface FieldDescriptor {
  readonly number: number;
  readonly label: string;
  readonly type: string;
  readonly typeName: string;
}

function countedField({ number, label, type, typeName }: FieldDescriptor): CountedField {
  const isRepeated = label === 'LABEL_REPEATED';
  const isNumber = !['TYPE_MESSAGE', 'TYPE_STRING', 'TYPE_BYTES'].includes(type);
  const name = typeName.slice(typeName.lastIndexOf('.') + 1);
  const isOurs = type === 'TYPE_MESSAGE' && `tributary.v1.${name}` in definitions();
  return { number, isRepeated, isNumber, ...(isOurs ? { message: name } : {}) };
}

function definitions(): PackageDefinition {
  loaded ??= loadDefinitions({ keepCase: false });
  return loaded;
}

/** @param options keepCase: field names as in the files; reflection shows them so. */
export function loadDefinitions(options: { readonly keepCase: boolean }): PackageDefinition {
  const files = protoFiles.map((name) => `tributary/v1/${name}.proto`);
  const failures: string[] = [];
  for (const directory of candidates) {
    try {
      return loadSync(
        files.map((file) => resolve(directory, file)),
        {
          keepCase: options.keepCase,
          longs: Number,
          enums: String,
          defaults: true,
          oneofs: true,
          includeDirs: [directory],
        },
      );
    } catch (thrown) {
      failures.push(`${directory}: ${TributaryError.from(thrown).message}`);
    }
  }
  throw new TributaryError('INVALID_CONFIG', `cannot load proto/: ${failures.join('; ')}`, {
    hint: 'Keep the folder proto/ where the package expects it, or reinstall.',
  });
}
