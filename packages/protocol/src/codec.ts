/**
 * Encoders and decoders by message name: proto-loader's for most, our own for the hot messages. Called by
 * the table of methods.
 */
import type { Codec } from './method';

export function codecOf<Input, Output>(messageName: string): Codec<Input, Output> {
  throw new Error(`not built yet: ${messageName}`);
}
