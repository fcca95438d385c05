/**
 * Records as a client without a batch encoder sends them, encoded here. The only place where the broker looks at single
 * records on the way in, so it is bounded by `maxStructuredBytes`. Called by the produce path.
 */
import { TributaryError } from '@tributary/common';
import type { StructuredRecords } from '@tributary/protocol';
import { BatchBuilder, recordSizeBound, type RecordInput } from '@tributary/record';
import type { DataHost } from './data-host';

const MAX_PRODUCER_EPOCH = 32_767;

export function encodeStructured(host: DataHost, records: StructuredRecords): Buffer {
  const { maxStructuredBytes } = host.limits;
  if (records.records.length === 0) {
    throw new TributaryError('INVALID_ARGUMENT', 'a list of records is empty');
  }
  const now = host.clock.wallTime();
  checkProducerEpoch(records);
  const inputs = records.records.map((record): RecordInput => ({
    key: record.key ?? null,
    value: record.value ?? null,
    headers: record.headers.map(({ key, value }) => ({ key, value: value ?? null })),
    timestamp: record.timestamp ?? now,
  }));
  const bytes = inputs.reduce(
    (sum, { key, value, headers }) => sum + recordSizeBound(key, value, headers),
    0,
  );
  if (bytes > maxStructuredBytes) {
    throw new TributaryError(
      inputs.length === 1 ? 'RECORD_TOO_LARGE' : 'BATCH_TOO_LARGE',
      `the records have about ${bytes} bytes, ${maxStructuredBytes} may be sent unencoded`,
      { hint: 'Send fewer records at once, or send a batch.' },
    );
  }
  const builder = new BatchBuilder({ codec: 'none', initialBytes: bytes + 64 });
  for (const input of inputs) builder.append(input);
  const { producerId, producerEpoch, baseSequence } = records;
  return builder.build(producerId === undefined ? {} : { producerId, producerEpoch, baseSequence });
}

/** The field has 16 bits in a batch; all else that can be wrong is found in the finished batch. */
function checkProducerEpoch({ producerId, producerEpoch }: StructuredRecords): void {
  if (producerId === undefined || (producerEpoch >= 0 && producerEpoch <= MAX_PRODUCER_EPOCH))
    return;
  const message = `producer epoch ${producerEpoch} is not from 0 to ${MAX_PRODUCER_EPOCH}`;
  throw new TributaryError('INVALID_ARGUMENT', message);
}
