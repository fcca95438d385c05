/** Offsets by time against the obvious answer: look at every record (C11). The seed stands in the name. */
import { defaultTopicConfig, randomInteger, seededRandom } from '@tributary/common';
import { BatchBuilder } from '@tributary/record';
import { openTestLog, SimulatedDisk } from '@tributary/testkit';
import type { Log } from './log';
import type { TimestampedOffset } from './partition-log';

const config = { ...defaultTopicConfig, segmentBytes: 4096 };

/** Up to 20 records with these timestamps. */
function batchOf(timestamps: readonly number[], codec: 'none' | 'gzip'): Buffer {
  const builder = new BatchBuilder({ codec, initialBytes: 256 });
  for (const timestamp of timestamps) {
    builder.append({ key: null, value: Buffer.alloc(60, 1), headers: [], timestamp });
  }
  return builder.build({ producerId: -1, producerEpoch: -1, baseSequence: -1 });
}

class Model {
  readonly records: TimestampedOffset[] = [];

  firstAtOrAfter(timestamp: number, from: number, below: number): TimestampedOffset | undefined {
    return this.records.find(
      (one) => one.timestamp >= timestamp && one.offset >= from && one.offset < below,
    );
  }

  latest(from: number, below: number): TimestampedOffset | undefined {
    const within = this.records.filter(({ offset }) => offset >= from && offset < below);
    const newest = Math.max(...within.map(({ timestamp }) => timestamp));
    return within.find(({ timestamp }) => timestamp === newest);
  }
}

test.each([1, 2, 3])('seed %i: any timestamps, codecs, log starts and limits', async (seed) => {
  const random = seededRandom(seed);
  const below = (n: number): number => randomInteger(random, n);
  const log: Log = await openTestLog(new SimulatedDisk(), '/data/orders-0', { config });
  const model = new Model();
  // Times that rise on the whole, with outliers to both sides, inside batches and across them.
  for (let i = 0; i < 40; i += 1) {
    const times = Array.from({ length: 1 + below(20) }, () =>
      Math.max(0, i * 100 + below(400) - 200 + (below(40) === 0 ? 3_000 : 0)),
    );
    const { baseOffset } = log.appendAsLeader(batchOf(times, below(2) === 0 ? 'gzip' : 'none'), {
      leaderEpoch: 0,
    });
    times.forEach((timestamp, n) => model.records.push({ offset: baseOffset + n, timestamp }));
  }
  log.noteHighWatermark(log.logEndOffset);
  let from = 0;
  for (let i = 0; i < 150; i += 1) {
    if (below(30) === 0) log.deleteRecordsBefore((from += below(60)));
    const limit = from + below(log.logEndOffset - from + 1);
    const timestamp = below(6_000);
    expect(log.offsetForTimestamp(timestamp, limit)).toEqual(
      model.firstAtOrAfter(timestamp, from, limit),
    );
    expect(log.maxTimestamp(limit)).toEqual(model.latest(from, limit));
  }
  expect(log.maxTimestamp(from)).toBeUndefined();
});

test('of several records with one time the first one is meant, across batches and segments', async () => {
  const log = await openTestLog(new SimulatedDisk(), '/data/orders-0', {
    config: { ...config, segmentBytes: 1024 },
  });
  for (const times of [[5, 9], [9, 9, 3], [9], [4]]) {
    for (let i = 0; i < 5; i += 1) {
      log.appendAsLeader(batchOf(times, 'none'), { leaderEpoch: 0 });
    }
  }
  expect(log.offsetForTimestamp(9, Infinity)).toEqual({ offset: 1, timestamp: 9 });
  expect(log.offsetForTimestamp(6, Infinity)).toEqual({ offset: 1, timestamp: 9 });
  expect(log.offsetForTimestamp(0, Infinity)).toEqual({ offset: 0, timestamp: 5 });
  expect(log.offsetForTimestamp(10, Infinity)).toBeUndefined();
  expect(log.maxTimestamp(Infinity)).toEqual({ offset: 1, timestamp: 9 });
  expect(log.maxTimestamp(1)).toEqual({ offset: 0, timestamp: 5 });
});
