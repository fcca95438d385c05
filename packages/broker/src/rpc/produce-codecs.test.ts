/**
 * Compressed batches through a leader, a follower and their logs on disk: checked by inflating them, stored as they were
 * sent, given back as bytes or as records.
 */
import { defaultTopicConfig, seededRandom, silentLogger } from '@tributary/common';
import { LogDirectory } from '@tributary/log';
import { methods, type FetchResult } from '@tributary/protocol';
import { assignOffsetAndEpoch, CODEC_NAMES, rewriteProducer } from '@tributary/record';
import { makeBatch, SimulatedClock, SimulatedDisk, SimulatedNetwork } from '@tributary/testkit';
import { DataCluster, TOPIC, TOPIC_ID } from '../replication/data-cluster.fixture';

const IDS = [1, 2];
const entry = { topic: TOPIC, topicId: TOPIC_ID, partition: 0, leaderEpoch: -1 };
const values = ['first', 'x'.repeat(5_000), 'third'];

let clock: SimulatedClock;
let cluster: DataCluster;
let stores: Map<number, LogDirectory>;

beforeEach(async () => {
  clock = new SimulatedClock();
  const random = seededRandom(3);
  const network = new SimulatedNetwork({ clock, random });
  stores = new Map();
  for (const id of IDS) {
    const opened = LogDirectory.open({
      disk: new SimulatedDisk().mount(),
      directory: '/data',
      brokerId: id,
      clusterId: 'cluster',
      clock,
      random,
      logger: silentLogger,
      configFor: () => defaultTopicConfig,
    });
    stores.set(id, await within(opened));
  }
  cluster = new DataCluster({
    clock,
    random,
    logger: silentLogger,
    transport: (machine) => network.transport(machine),
    crash: (machine) => network.crash(machine),
    store: (id) => stores.get(id)!,
  });
  for (const id of IDS) await cluster.startBroker(id);
  await within(cluster.createTopic([IDS]));
});

afterEach(() => within(cluster.close()));

test('the logs hold the bytes that were sent, with offset and epoch set; records come back', async () => {
  const sent = CODEC_NAMES.map((codec) => makeBatch({ values, codec }));
  for (const batch of sent) expect(await produce(batch)).toBe('written');
  await clock.advance(1_000);

  const stamped = sent.map((batch, i) => {
    const expected = Buffer.from(batch);
    const leaderEpoch = stored(1).readInt32BE(12);
    assignOffsetAndEpoch(expected, i * values.length, leaderEpoch);
    return expected;
  });
  for (const id of IDS) expect(stored(id).equals(Buffer.concat(stamped))).toBe(true);

  expect((await fetch(0, false))?.batches?.equals(stored(1))).toBe(true);
  const { records } = (await fetch(0, true))!;
  expect(records.map(({ offset, value }) => `${offset} ${value!.toString()}`)).toEqual(
    CODEC_NAMES.flatMap(() => values).map((value, offset) => `${offset} ${value}`),
  );
});

test.each(CODEC_NAMES.filter((codec) => codec !== 'none'))(
  'a %s batch whose records are not %s, or not those that its header counts, is not written',
  async (codec) => {
    const lie = (change: (batch: Buffer) => void): Buffer => {
      const batch = makeBatch({ values, codec });
      change(batch);
      rewriteProducer(batch, { producerId: -1, producerEpoch: -1, baseSequence: -1 });
      return batch;
    };
    expect(await produce(lie((batch) => batch.fill(0xa5, 61)))).toBe('INVALID_BATCH');
    const counting = (batch: Buffer): void => {
      batch.writeInt32BE(4, 57);
      batch.writeInt32BE(3, 23);
    };
    expect(await produce(lie(counting))).toBe('INVALID_BATCH');
    expect(stored(1)).toHaveLength(0);
  },
);

test('an answer of records is bounded, however well its batches are compressed', async () => {
  for (const mib of [9, 9, 1, 17, 1]) {
    const value = '\0'.repeat(mib * 1024 * 1024);
    expect(await produce(makeBatch({ values: [value], codec: 'zstd' }))).toBe('written');
  }
  const answers: string[] = [];
  for (const offset of [0, 1, 3, 4]) {
    const { records, error } = (await fetch(offset, true))!;
    answers.push(error?.code ?? records.map((record) => record.offset).join());
  }
  expect(answers).toEqual(['0', '1,2', 'BATCH_TOO_LARGE', '4']);
});

function fetch(offset: number, structured: boolean): Promise<FetchResult | undefined> {
  const request = { structured, partitions: [{ ...entry, offset }] };
  const answer = cluster
    .connection(1)
    .call(methods.broker.fetchOnce, request, { timeoutMs: 5_000 });
  return within(answer.then(({ results }) => results[0]));
}

async function produce(batch: Buffer): Promise<string> {
  const request = { acks: -1, timeoutMs: 5_000, partitions: [{ ...entry, batch }] };
  const { results } = await within(
    cluster.connection(1).call(methods.broker.produceOnce, request, { timeoutMs: 60_000 }),
  );
  return results[0]?.error?.code ?? 'written';
}

function stored(id: number): Buffer {
  const log = stores.get(id)!.get(TOPIC_ID, 0)!;
  return log.read(log.logStartOffset, 1e9, log.logEndOffset);
}

function within<T>(work: Promise<T>): Promise<T> {
  return clock.settleWithin(work, 20_000);
}
