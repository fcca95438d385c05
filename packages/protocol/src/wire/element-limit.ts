/**
 * How many elements a received message may hold. An empty message takes two bytes on the wire and a hundred or more in
 * memory, so that the limit of bytes alone lets one request of 64 MiB take the whole heap, and the broker with it.
 * Invariant: what is counted here is found before anything is made of it. Called by the codecs.
 */
import { wireType, type WireReader } from './wire-reader';

/** Elements of lists and nested messages in what a client or a follower sends; requests name 10,000 partitions at most. */
export const maxElementsAsked = 100_000;
/** In what brokers answer, and in what a controller tells: these name all partitions of a cluster. */
export const maxElementsTold = 2_000_000;
/** Numbers of a packed list lie in memory as they are. */
const packedBytesPerElement = 8;

export function maxElementsOf(messageName: string): number {
  return /(Response|Down)$/.test(messageName) ? maxElementsTold : maxElementsAsked;
}

/** What of a message's descriptor counts; `message` is absent for a type that has none of its own (entries of maps). */
export interface CountedField {
  readonly number: number;
  readonly isRepeated: boolean;
  readonly isNumber: boolean;
  readonly message?: string;
}

type FieldsOf = (messageName: string) => ReadonlyMap<number, CountedField>;

/** Throws a RangeError from the reader when there are more than it allows. */
export function countElements(reader: WireReader, messageName: string, fieldsOf: FieldsOf): void {
  const fields = fieldsOf(messageName);
  while (!reader.done) {
    const tag = reader.uint32();
    const field = fields.get(tag >>> 3);
    const { message } = field ?? {};
    if (field && (field.isRepeated || message !== undefined)) reader.countElements(1);
    if ((tag & 7) !== wireType.delimited || !field) reader.skip(tag & 7);
    else if (message !== undefined) {
      reader.nested((inner) => countElements(inner, message, fieldsOf));
    } else if (field.isNumber) reader.countElements(reader.bytes().length / packedBytesPerElement);
    else reader.skip(wireType.delimited);
  }
}
