/** One log on a given disk, with everything that a test does not care about filled in. */
import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import { Log, type Disk, type LogOptions } from '@tributary/log';
import { decodeBatch, readBatchHeader, splitBatches } from '@tributary/record';
import { SimulatedClock } from './simulation/simulated-clock';

export const TEST_TOPIC_ID = 'AAAAAAAAAAAAAAAAAAAAAA';

/** `directory` is made when it does not exist. Segments of 1 KiB, so that a few records roll. */
export function openTestLog(
  disk: Disk,
  directory: string,
  options: Partial<LogOptions> = {},
): Promise<Log> {
  disk.makeDirectory(directory);
  return Log.open(disk, directory, {
    topic: 'orders',
    topicId: TEST_TOPIC_ID,
    partition: 0,
    config: { ...defaultTopicConfig, segmentBytes: 1024, maxMessageBytes: 10_000 },
    clock: new SimulatedClock(),
    random: seededRandom(1),
    logger: silentLogger,
    recover: false,
    ...options,
  });
}

/** "offset:value" of all records in these bytes. */
export function describeRecords(batches: Buffer): string[] {
  return splitBatches(batches).flatMap((batch) =>
    decodeBatch(batch).map((record) => `${record.offset}:${record.value?.toString()}`),
  );
}

/** All batches of a log, as they lie there. */
export function readWholeLog(log: Log): Buffer {
  const parts: Buffer[] = [];
  for (let offset = log.logStartOffset; offset < log.logEndOffset;) {
    const part = log.read(offset, 2 ** 30, Infinity);
    if (part.length === 0) break;
    parts.push(part);
    // Not the offset of the last record: compaction may have emptied the batch.
    offset = readBatchHeader(splitBatches(part).at(-1) as Buffer).lastOffset + 1;
  }
  return Buffer.concat(parts);
}
