/**
 * Batches that Kafka's own Java client built (test/interop/java/WriteBatches.java, `npm run interop -- kafka-vectors`) are
 * read here record for record, with every codec.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readBatchHeader, splitBatches } from '../batch-header';
import { decodeBatch } from '../batch-decoder';
import { validateBatch } from '../batch-validator';
import { CODEC_NAMES } from './codec';

const GOLDEN = join(__dirname, '../../golden/kafka');
const RECORDS = 200;
const BASE_OFFSET = 1000;
const BASE_TIMESTAMP = 1_700_000_000_000;

/** What the Java program wrote; `repeats` makes values so long that the codecs need several blocks. */
function written(i: number, repeats: number) {
  const value = `value ${i} of a log line that compresses `.repeat(repeats);
  return {
    offset: BASE_OFFSET + i,
    timestamp: BASE_TIMESTAMP + (i % 13),
    key: i % 5 === 0 ? null : `key-${i % 7}`,
    value: i % 11 === 0 ? null : value,
    headers: i % 3 === 0 ? [`n=${i}`, 'none=null'] : [],
  };
}

const files = CODEC_NAMES.flatMap((codec) => [
  { file: `${codec}.batch`, codec, repeats: 1 },
  ...(codec === 'none' ? [] : [{ file: `${codec}-blocks.batch`, codec, repeats: 50 }]),
]);

test.each(files)('$file of the Java client', ({ file, codec, repeats }) => {
  const bytes = readFileSync(join(GOLDEN, file));
  expect(splitBatches(bytes)).toHaveLength(1);
  expect(readBatchHeader(bytes)).toMatchObject({
    codec,
    leaderEpoch: 5,
    baseOffset: BASE_OFFSET,
    lastOffset: BASE_OFFSET + RECORDS - 1,
    recordsCount: RECORDS,
    producerId: 4711,
    producerEpoch: 3,
    baseSequence: 17,
    maxTimestamp: BASE_TIMESTAMP + 12,
  });
  const records = decodeBatch(bytes).map(({ offset, timestamp, key, value, headers }) => ({
    offset,
    timestamp,
    key: key && key.toString(),
    value: value && value.toString(),
    headers: headers.map((header) => `${header.key}=${String(header.value)}`),
  }));
  expect(records).toEqual(Array.from({ length: RECORDS }, (_, i) => written(i, repeats)));
  validateBatch(bytes, {
    maxBatchBytes: 2 ** 20,
    maxRecordsPerBatch: 1000,
    now: BASE_TIMESTAMP,
    maxFutureMs: 60_000,
  });
});
