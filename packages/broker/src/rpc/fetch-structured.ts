/** Batches as records, for clients without a batch decoder. Called by fetches that ask for it. */
import type { StructuredRecordInput } from '@tributary/protocol';
import { decodeBatch, splitBatches } from '@tributary/record';

/** What one batch may inflate to here: the decoded records must fit into a message. */
const MAX_INFLATED_BYTES = 16 * 1024 * 1024;

/** @param from the first batch may begin before the offset that was asked for. */
export function decodeFetched(batches: Buffer, from: number): StructuredRecordInput[] {
  const options = { maxInflatedBytes: MAX_INFLATED_BYTES };
  return splitBatches(batches)
    .flatMap((batch) => decodeBatch(batch, options))
    .filter(({ offset }) => offset >= from)
    .map(({ offset, timestamp, key, value, headers }) => ({
      offset,
      timestamp,
      key: key ?? undefined,
      value: value ?? undefined,
      headers: headers.map((header) => ({ key: header.key, value: header.value ?? undefined })),
    }));
}
