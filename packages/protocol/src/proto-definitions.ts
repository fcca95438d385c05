/**
 * Finds and loads proto/, once, at first use. Invariant: the options here equal those of
 * scripts/generate-protocol.mjs, so that decoded objects have the shape of the generated types.
 * Called by codec.ts for encoders and by the reflection service for descriptors.
 */
import { resolve } from 'node:path';
import { loadSync, type MessageTypeDefinition, type PackageDefinition } from '@grpc/proto-loader';
import { TributaryError } from '@tributary/common';

export const protoFiles = ['hello', 'error', 'broker', 'replication', 'control', 'group', 'admin'];

/** Seen from src/ and from dist/ alike: the repository's own, else a copy beside the installed package. */
const candidates = [resolve(__dirname, '../../../proto'), resolve(__dirname, '../proto')];

let loaded: PackageDefinition | undefined;

/** proto-loader's encoder and decoder of a message, by its name without the package. */
export function messageDefinition(name: string): MessageTypeDefinition<object, object> {
  loaded ??= loadDefinitions({ keepCase: false });
  const definition = loaded[`tributary.v1.${name}`];
  if (!definition || !('serialize' in definition)) {
    throw new TributaryError('INTERNAL', `no message ${name} in proto/tributary/v1`);
  }
  return definition as MessageTypeDefinition<object, object>;
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
