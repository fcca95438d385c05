/**
 * Bad input to Produce, Fetch and ListOffsets of three real brokers: a bad entry is refused with its reason and fails
 * itself alone, the stream that it came on goes on, nothing is written, nothing else is harmed.
 */
import { randomInteger, seededRandom } from '@tributary/common';
import { methods, type ProducePartitionInput } from '@tributary/protocol';
import { CODEC_NAMES, rewriteProducer } from '@tributary/record';
import { makeBatch } from '@tributary/testkit';
import { badBatches } from './bad-batches';
import { BadInputCluster, type Place } from './bad-input-cluster';
import { badOffsets, badPayloads, badPlaces } from './bad-requests';
import { expectRefusal, expectRefused } from './refusal';
import { openFetch, openProduce, type FetchSession, type ProduceSession } from './request-stream';

const timeoutMs = 10_000;

let house: BadInputCluster;
/** What the bad entries are about; its leader is not the first one. */
let target: Place;
/** Another partition with the same leader, for the good entries. */
let neighbour: Place;
let produceStream: ProduceSession;
let fetchStream: FetchSession;

beforeAll(async () => {
  house = await BadInputCluster.start();
  const [first] = await house.createTopic('target', 6);
  await house.moveLeader(first!);
  const places = await house.places('target');
  target = places[0]!;
  neighbour = places.find(({ partition, leader }) => partition > 0 && leader === target.leader)!;
  produceStream = openProduce(house.connection(target.leader));
  fetchStream = openFetch(house.connection(target.leader));
  const [written] = await produceStream.ask({ acks: -1, timeoutMs, partitions: [good(neighbour)] });
  expect(written).toMatchObject({ error: null });
}, 90_000);

afterAll(() => house?.stop());

afterEach(async () => {
  await house.expectUnharmed();
  expect(house.loggedErrors()).toEqual([]);
});

function good(place: Place): ProducePartitionInput {
  return { ...place, batch: makeBatch({ values: ['good'] }) };
}

describe('a bad entry of a Produce stream is refused alone, and nothing of it is written', () => {
  async function refusalOf(bad: ProducePartitionInput) {
    const before = await house.logEndOffset(target);
    const entries = [bad, good(neighbour)];
    const results = await produceStream.ask({ acks: -1, timeoutMs, partitions: entries });
    expect(results).toHaveLength(2);
    // Results come as they are known: the refusal first.
    const [refused, written] = results;
    expect(written).toMatchObject({ partition: neighbour.partition, error: null });
    expect(written!.baseOffset).toBeGreaterThanOrEqual(0);
    expect(refused).toMatchObject({ baseOffset: -1, error: { outcome: 'NOT_WRITTEN' } });
    expect(await house.logEndOffset(target)).toBe(before);
    return refused!.error;
  }

  test.each(badBatches)('batch: $what', async ({ batch, code, says }) => {
    expectRefusal(await refusalOf({ ...target, batch: batch() }), code, says);
  });

  test.each(badPlaces)('place: $what', async ({ entry, code, says }) => {
    expectRefusal(await refusalOf({ ...good(target), ...entry }), code, says);
  });

  test.each(badPayloads)('payload: $what', async ({ entry, code, says }) => {
    expectRefusal(await refusalOf({ ...target, ...entry }), code, says);
  });

  test('a topic without its id, where only the unary twin may do so', async () => {
    const refusal = await refusalOf({ ...good(target), topicId: '' });
    expectRefusal(refusal, 'INVALID_ARGUMENT', /topic target comes without its topic id/);
  });

  test('an old leader epoch is told who leads in which epoch, and where', async () => {
    const refusal = await refusalOf({ ...good(target), leaderEpoch: 0 });
    const { host, port } = house.cluster.broker(target.leader);
    const { leader: leaderId, leaderEpoch } = target;
    expect(refusal!.leader).toEqual({ leaderId, leaderEpoch, host, port });
  });

  test('a batch over the max.message.bytes of its own topic', async () => {
    const [narrow] = await house.createTopic('narrow', 1, { 'max.message.bytes': '1000' });
    const stream = openProduce(house.connection(narrow!.leader));
    const batches = [['x'.repeat(1000)], ['x'.repeat(600), 'y'.repeat(600)], ['fits']].map(
      (values) => ({ ...narrow!, batch: makeBatch({ values }) }),
    );
    const results = await stream.ask({ acks: -1, timeoutMs, partitions: batches });
    stream.close();
    expectRefusal(results[0]!.error, 'RECORD_TOO_LARGE', /narrow takes 1000/);
    expectRefusal(results[1]!.error, 'BATCH_TOO_LARGE', /narrow takes 1000/);
    expect(results[2]).toMatchObject({ baseOffset: 0, error: null });
  });
});

test('sound batches with random bytes changed, under a true CRC: what is accepted can be read', async () => {
  const [mutants] = await house.createTopic('mutants', 1);
  const random = seededRandom(5);
  const batches = Array.from({ length: 300 }, (_, i) => {
    const batch = makeBatch({ values: ['first', 'second'], codec: CODEC_NAMES[i % 15] ?? 'none' });
    const from = i % 2 === 0 ? 21 : 61; // what the CRC covers, or the records alone
    batch[from + randomInteger(random, batch.length - from)] = randomInteger(random, 256);
    rewriteProducer(batch, { producerId: -1, producerEpoch: -1, baseSequence: -1 });
    return batch;
  });
  const connection = house.connection(mutants!.leader);
  const entries = batches.map((batch) => ({ ...mutants!, batch }));
  const request = { acks: -1, timeoutMs, partitions: entries };
  const { results } = await connection.call(methods.broker.produceOnce, request, { timeoutMs });
  const refused = results.flatMap(({ error }) => (error ? [error] : []));
  for (const error of refused) {
    expect(['INVALID_BATCH', 'INVALID_TIMESTAMP', 'UNSUPPORTED_CODEC', 'BATCH_TOO_LARGE']).toContain(error.code); // prettier-ignore
  }
  const accepted = results.length - refused.length;
  expect(Math.min(accepted, refused.length)).toBeGreaterThan(50);
  const asked = { structured: true, partitions: [{ ...mutants!, offset: 0 }] };
  const read = await connection.call(methods.broker.fetchOnce, asked, { timeoutMs });
  expect(read.results[0]).toMatchObject({ error: null });
  expect(read.results[0]!.records).toHaveLength(2 * accepted);
});

describe('a bad Produce request is refused as a whole, and its stream goes on', () => {
  afterEach(async () => {
    const [written] = await produceStream.ask({ acks: -1, timeoutMs, partitions: [good(target)] });
    expect(written).toMatchObject({ error: null });
  });

  test.each([7, -2, 2 ** 31 - 1])('acks=%d', async (acks) => {
    const entries = [good(target), good(neighbour)];
    const results = await produceStream.ask({ acks, timeoutMs, partitions: entries });
    expect(results).toHaveLength(2);
    for (const { error } of results) {
      expectRefusal(error, 'INVALID_ARGUMENT', new RegExp(`acks ${acks} is not 0, 1 or -1`));
      expect(error).toMatchObject({ outcome: 'NOT_WRITTEN' });
    }
  });

  test('more partitions than a request may name', async () => {
    const entries = Array.from({ length: 10_001 }, () => ({ ...target, batch: Buffer.alloc(0) }));
    const results = await produceStream.ask({ acks: -1, timeoutMs, partitions: entries });
    expect(results).toHaveLength(10_001);
    expectRefusal(results[0]!.error, 'INVALID_ARGUMENT', /may name 10000 partitions, not 10001/);
  });

  test('no partition at all is answered with nothing', async () => {
    expect(await produceStream.ask({ acks: -1, timeoutMs, partitions: [] })).toEqual([]);
  });

  test('bad entries with acks=0 are dropped, without an answer and without harm', async () => {
    const before = await house.logEndOffset(target);
    void produceStream
      .ask({ acks: 0, partitions: [{ ...target, batch: Buffer.from('garbage') }] })
      .catch(() => undefined);
    const [next] = await produceStream.ask({ acks: -1, timeoutMs, partitions: [good(target)] });
    expect(next).toMatchObject({ baseOffset: before, error: null });
  });

  test('the unary twin: a request without partitions', () =>
    expectRefused(
      house.connection(target.leader).call(methods.broker.produceOnce, {}, { timeoutMs }),
      'INVALID_ARGUMENT',
      /names no partition/,
    ));

  test('a broker that does not lead names the one that does', async () => {
    const follower = [1, 2, 3].find((id) => id !== target.leader)!;
    const request = { acks: -1, partitions: [good(target)] };
    const { results } = await house
      .connection(follower)
      .call(methods.broker.produceOnce, request, { timeoutMs });
    const says = new RegExp(`broker ${follower} does not lead target-0`);
    expectRefusal(results[0]!.error, 'NOT_LEADER', says);
    expect(results[0]!.error!.leader).toMatchObject({ leaderId: target.leader });
  });
});

describe('a bad entry of a Fetch stream is refused alone', () => {
  test.each([...badPlaces, ...badOffsets])('$what', async ({ entry, code, says }) => {
    const bad = { ...target, offset: 0, ...entry };
    const partitions = [bad, { ...neighbour, offset: 0 }];
    const [refused, read] = await fetchStream.ask({
      maxWaitMs: timeoutMs,
      minBytes: 1,
      partitions,
    });
    expectRefusal(refused!.error, code, says);
    expect(read).toMatchObject({ partition: neighbour.partition, error: null });
    expect(read!.batches.length).toBeGreaterThan(0);
  });

  test('limits that make no sense: the first batch comes whole, and no wait is endless', async () => {
    const most = 2 ** 32 - 1;
    const asked = { ...neighbour, offset: 0 };
    const narrow = { maxWaitMs: most, minBytes: most, maxBytes: 1 };
    const [one] = await fetchStream.ask({ ...narrow, partitions: [{ ...asked, maxBytes: 1 }] });
    expect(one!.batches.length).toBeGreaterThan(60);
    const wide = { maxWaitMs: 1, minBytes: most, maxBytes: most };
    const [all] = await fetchStream.ask({ ...wide, partitions: [{ ...asked, maxBytes: most }] });
    expect(all!.batches.length).toBeGreaterThanOrEqual(one!.batches.length);
  });

  test('the unary twin: a request without partitions', () =>
    expectRefused(
      house.connection(target.leader).call(methods.broker.fetchOnce, {}, { timeoutMs }),
      'INVALID_ARGUMENT',
      /names no partition/,
    ));
});

describe('a bad entry of ListOffsets is refused alone', () => {
  const latest = { spec: 'LATEST' as const };

  async function listed(bad: object) {
    const partitions = [
      { ...target, ...latest, ...bad },
      { ...neighbour, ...latest },
    ];
    const { results } = await house
      .connection(target.leader)
      .call(methods.broker.listOffsets, { partitions }, { timeoutMs });
    expect(results[1]).toMatchObject({ partition: neighbour.partition, error: null });
    expect(results[1]!.offset).toBeGreaterThan(0);
    return results[0]!;
  }

  test.each(badPlaces)('$what', async ({ entry, code, says }) => {
    expectRefusal((await listed(entry)).error, code, says);
  });

  test.each(['OFFSET_SPEC_UNSPECIFIED', 99])('an offset spec of %s', async (spec) => {
    const { error } = await listed({ spec });
    expectRefusal(error, 'INVALID_ARGUMENT', new RegExp(`offset spec ${spec} does not exist`));
  });

  test.each([-(2 ** 53 - 1), -1, 2 ** 53 - 1])(
    'a timestamp of %d finds what it can',
    async (timestamp) => {
      const found = await listed({ spec: 'TIMESTAMP', timestamp });
      expect(found).toMatchObject({ error: null, offset: timestamp < 0 ? 0 : -1 });
    },
  );

  test('more partitions than a request may name', () => {
    const partitions = Array.from({ length: 10_001 }, () => ({ ...target, ...latest }));
    const { listOffsets } = methods.broker;
    const call = house.connection(target.leader).call(listOffsets, { partitions }, { timeoutMs });
    return expectRefused(call, 'INVALID_ARGUMENT', /may name 10000 partitions, not 10001/);
  });
});
