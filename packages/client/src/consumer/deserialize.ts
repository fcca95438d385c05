/** From the bytes of a record to what the user sees. Absent keys and tombstones never reach a serde. */
import { TributaryError } from '@tributary/common';
import type { ConsumerSettings, Deserializer } from './consumer-options';
import { ConsumerRecord, type CommitRecord } from './consumer-record';
import type { Taken } from './reader';

/** Throws DESERIALIZATION_FAILED with topic, partition and offset. */
export function toRecord<K, V>(
  taken: Taken,
  settings: Pick<ConsumerSettings<K, V>, 'key' | 'value'>,
  commit: CommitRecord,
): ConsumerRecord<K, V> {
  const { record, cursor } = taken;
  const key = field(taken, 'key', settings.key);
  const value = field(taken, 'value', settings.value);
  return new ConsumerRecord(cursor.partition, record, key, value, commit);
}

function field<T>(
  { cursor, record }: Taken,
  name: 'key' | 'value',
  serde: Deserializer<T>,
): T | null {
  const bytes = record[name];
  if (bytes === null) return null;
  const { topic, partition } = cursor.partition;
  try {
    return serde.deserialize(bytes, { topic, field: name });
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new TributaryError(
      'DESERIALIZATION_FAILED',
      `the ${name} of ${topic}-${partition} at offset ${record.offset} cannot be deserialized: ${why}`,
      {
        details: { topic, partition, offset: record.offset, field: name },
        hint: `Correct the deserializer, or skip the record: seek('${topic}', ${partition}, ${record.offset + 1}n).`,
        cause,
      },
    );
  }
}
