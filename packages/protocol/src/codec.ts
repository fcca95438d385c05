/**
 * Encoders and decoders by message name: proto-loader's for most, our own for the hot messages. Called by
 * the table of methods. Invariant: numbers in decoded messages are safe integers; a varint beyond that is
 * refused here, so that nothing inside needs to check offsets and epochs that came off the wire. And no message takes
 * much more memory than bytes (wire/element-limit.ts).
 */
import { TributaryError } from '@tributary/common';
import type { Codec } from './method';
import { countedFields, messageDefinition } from './proto-definitions';
import { countElements, maxElementsOf } from './wire/element-limit';
import { hotCodecs } from './wire/hot-messages';
import { undecodable } from './wire/undecodable';
import { WireReader } from './wire/wire-reader';

export function codecOf<Input, Output>(messageName: string): Codec<Input, Output> {
  const codec: Codec<never, unknown> | undefined = hot.get(messageName);
  return (codec as Codec<Input, Output> | undefined) ?? generalCodec(messageName);
}

const hot = hotCodecs(generalCodec);

/** proto-loader's codec; proto/ is loaded at the first call of either function. */
export function generalCodec<Input, Output>(messageName: string): Codec<Input, Output> {
  const maxElements = maxElementsOf(messageName);
  return {
    messageName,
    encode(message: Input): Buffer {
      try {
        return messageDefinition(messageName).serialize(message as object);
      } catch (thrown) {
        throw TributaryError.from(thrown, 'INVALID_ARGUMENT');
      }
    },
    decode(bytes: Buffer): Output {
      const { deserialize } = messageDefinition(messageName);
      let message: object;
      try {
        countElements(new WireReader(bytes, maxElements), messageName, countedFields);
        message = deserialize(bytes);
      } catch (thrown) {
        throw undecodable(messageName, thrown);
      }
      refuseUnsafeNumbers(message, messageName);
      return message as Output;
    },
  };
}

function refuseUnsafeNumbers(value: unknown, messageName: string): void {
  if (typeof value === 'number') {
    if (!Number.isSafeInteger(value)) {
      throw undecodable(messageName, new Error(`${value} is beyond the safe integers`));
    }
  } else if (typeof value === 'object' && value !== null && !Buffer.isBuffer(value)) {
    const nested: unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (const entry of nested) refuseUnsafeNumbers(entry, messageName);
  }
}
