import { BatchBuilder, rewriteProducer } from '@tributary/record';
import { methods, type ProduceResult } from '@tributary/protocol';
import { batchOf, TOPIC, TOPIC_ID, type ProduceOptions } from '../replication/data-cluster.fixture';
import type { DataLimits } from '../replication/data-limits';
import { dataWorld, type World as DataWorld } from '../replication/data-world.fixture';

interface World extends DataWorld {
  produce(values: string[], options?: ProduceOptions): Promise<ProduceResult>;
}

async function world(replicas: number[], limits: Partial<DataLimits> = {}): Promise<World> {
  const w = await dataWorld(replicas, limits);
  await w.cluster.createTopic([replicas]);
  await w.clock.advance(50);
  return {
    ...w,
    produce: (values, options) => w.within(w.cluster.produce(1, values, options)),
  };
}

const NOT_WRITTEN = 'NOT_WRITTEN';

describe('what produce refuses, and nothing is written then', () => {
  const refusals: Record<string, [ProduceOptions, string]> = {
    'acks that do not exist': [{ acks: 2 }, 'INVALID_ARGUMENT'],
    'an unknown topic': [{ topic: 'nope', topicId: 'nope' }, 'UNKNOWN_TOPIC'],
    'the id of an earlier topic': [{ topicId: 'earlier' }, 'TOPIC_ID_MISMATCH'],
    'a partition that does not exist': [{ partition: 7 }, 'UNKNOWN_PARTITION'],
    'a leader epoch above the own one': [{ leaderEpoch: 5 }, 'UNKNOWN_LEADER_EPOCH'],
    'no payload': [{ batch: undefined }, 'INVALID_ARGUMENT'],
    'an empty list of records': [
      { batch: undefined, records: { records: [] } },
      'INVALID_ARGUMENT',
    ],
    'bytes that are no batch': [{ batch: Buffer.from('hello') }, 'INVALID_BATCH'],
    'two batches in one field': [
      { batch: Buffer.concat([batchOf(['a']), batchOf(['b'])]) },
      'INVALID_BATCH',
    ],
    'an offset that is not the next one': [{ expectedOffset: 9 }, 'UNEXPECTED_OFFSET'],
    'a record above max.message.bytes': [
      { batch: batchOf(['x'.repeat(2_000_000)]) },
      'RECORD_TOO_LARGE',
    ],
    'a batch above max.message.bytes': [
      { batch: batchOf(['x'.repeat(900_000), 'y'.repeat(900_000)]) },
      'BATCH_TOO_LARGE',
    ],
    'structured records above their limit': [
      { batch: undefined, records: { records: [{ value: Buffer.alloc(1_100_000) }] } },
      'RECORD_TOO_LARGE',
    ],
  };

  let w: World;
  beforeAll(async () => {
    w = await world([1]);
  });
  afterAll(() => w.close());

  for (const [name, [options, code]] of Object.entries(refusals)) {
    it(name, async () => {
      const { error, baseOffset } = await w.produce(['a'], options);
      expect(error).toMatchObject({ code, outcome: NOT_WRITTEN });
      expect(baseOffset).toBe(-1);
      expect(w.log(1).logEndOffset).toBe(0);
    });
  }

  const sealed = { producerId: -1, producerEpoch: -1, baseSequence: -1 };
  const lies: Record<string, [(batch: Buffer) => void, string]> = {
    'a wrong CRC': [(batch) => (batch[batch.length - 1]! ^= 1), 'CORRUPT_BATCH'],
    'a header that lies about its count': [(batch) => batch.writeInt32BE(5, 57), 'INVALID_BATCH'],
    'a control bit': [(batch) => batch.writeInt16BE(0x20, 21), 'INVALID_BATCH'],
    'a timestamp far in the future': [
      (batch) => batch.writeBigInt64BE(9_000_000_000_000n, 35),
      'INVALID_TIMESTAMP',
    ],
  };
  for (const [name, [lie, code]] of Object.entries(lies)) {
    it(name, async () => {
      const batch = batchOf(['a', 'b']);
      lie(batch);
      if (code !== 'CORRUPT_BATCH') rewriteProducer(batch, sealed);
      const { error } = await w.produce(['unused'], { batch });
      expect(error).toMatchObject({ code, outcome: NOT_WRITTEN });
      expect(w.log(1).logEndOffset).toBe(0);
    });
  }
});

describe('produce', () => {
  it('one bad entry fails itself alone', async () => {
    const w = await world([1]);
    const entry = { topic: TOPIC, topicId: TOPIC_ID, leaderEpoch: -1 };
    const call = w.cluster.connection(1).call(
      methods.broker.produceOnce,
      {
        acks: -1,
        partitions: [
          { ...entry, partition: 0, batch: batchOf(['a']) },
          { ...entry, partition: 9, batch: batchOf(['b']) },
          { ...entry, partition: 0, batch: Buffer.from('?') },
          { ...entry, partition: 0, batch: batchOf(['c']) },
        ],
      },
      { timeoutMs: 1_000 },
    );
    const { results } = await w.clock.settleWithin(call, 2_000);
    expect(results.map(({ baseOffset }) => baseOffset).sort()).toEqual([-1, -1, 0, 1]);
    await w.close();
  });

  it('max.inflated.batch.bytes: a batch that would inflate to more is refused', async () => {
    const w = await world([1], { maxInflatedBatchBytes: 1_000 });
    const builder = new BatchBuilder({ codec: 'gzip', initialBytes: 256 });
    const value = Buffer.alloc(1_001, 'x');
    builder.append({ key: null, value, headers: [], timestamp: w.clock.wallTime() });
    const batch = builder.build();
    expect(batch.length).toBeLessThan(1_000);
    const { error } = await w.produce(['unused'], { batch });
    expect(error).toMatchObject({ code: 'BATCH_TOO_LARGE', outcome: NOT_WRITTEN });
    expect(w.log(1).logEndOffset).toBe(0);
    await w.close();
  });

  it('a record without a key is refused by a topic that is compacted, as soon as it is', async () => {
    const w = await world([1]);
    expect((await w.produce(['a'])).error).toBeNull();
    await w.cluster.configure({ 'cleanup.policy': 'compact,delete' });
    await w.clock.advance(50);
    const { error } = await w.produce(['b']);
    expect(error).toMatchObject({ code: 'KEY_REQUIRED', outcome: NOT_WRITTEN });
    expect(error?.message).toBe('orders-0: record 0 of the batch has no key');
    const structured = { batch: undefined, records: { records: [{ value: Buffer.from('c') }] } };
    expect((await w.produce(['unused'], structured)).error?.code).toBe('KEY_REQUIRED');
    expect(w.log(1).logEndOffset).toBe(1);
    const keyed = { records: [{ key: Buffer.from('k'), value: Buffer.from('d') }] };
    expect((await w.produce(['unused'], { batch: undefined, records: keyed })).baseOffset).toBe(1);
    await w.close();
  });

  it('a leader epoch below the own one is fenced, and told who is right', async () => {
    const w = await world([1, 2]);
    await w.cluster.elect(1);
    const { error } = await w.produce(['a'], { leaderEpoch: 0 });
    expect(error).toMatchObject({
      code: 'FENCED_LEADER_EPOCH',
      outcome: NOT_WRITTEN,
      leader: { leaderId: 1, leaderEpoch: 1 },
    });
    await w.close();
  });

  it('a leader that a client shows a higher epoch asks the controller, and resigns if that is true', async () => {
    const w = await world([1, 2, 3]);
    w.cluster.cutOffFromController(1);
    const claim = await w.produce(['a'], { leaderEpoch: 9 });
    expect(claim.error?.code).toBe('UNKNOWN_LEADER_EPOCH');
    expect(w.cluster.partition(1).state.role).toBe('leader');
    await w.cluster.elect(2);
    w.cluster.letAsk(1);
    await w.clock.advance(1_000);
    await w.produce(['a'], { leaderEpoch: 1 });
    await w.clock.advance(10);
    expect(w.cluster.partition(1).state.role).toBe('offline');
    await w.close();
  });

  it('a follower says who leads, on the listener that the client used', async () => {
    const w = await world([1, 2]);
    const { error } = await w.clock.settleWithin(w.cluster.produce(2, ['a']), 1_000);
    expect(error).toMatchObject({
      code: 'NOT_LEADER',
      outcome: NOT_WRITTEN,
      leader: { leaderId: 1, leaderEpoch: 0, host: 'b1', port: 9292 },
    });
    await w.close();
  });

  it('a duplicate is answered with its first offset, and still waits for the HW', async () => {
    const w = await world([1, 2]);
    const producer = { producerId: 7, producerEpoch: 0, baseSequence: 0 };
    expect((await w.produce(['a'], { producer })).baseOffset).toBe(0);
    w.network.partition('b1', 'b2');
    const next = { ...producer, baseSequence: 1 };
    expect((await w.produce(['b'], { producer: next, timeoutMs: 100 })).error?.code).toBe(
      'TIMEOUT',
    );
    const retry = await w.produce(['b'], { producer: next, timeoutMs: 100 });
    expect(retry.error).toMatchObject({ code: 'TIMEOUT', outcome: 'MAYBE_WRITTEN' });
    w.network.heal();
    const last = await w.produce(['b'], { producer: next });
    expect(last).toMatchObject({ baseOffset: 1, duplicate: true, error: null });
    expect(w.log(1).logEndOffset).toBe(2);
    await w.close();
  });

  it('expectedOffset: one winner', async () => {
    const w = await world([1]);
    expect((await w.produce(['a'], { expectedOffset: 0 })).error).toBeNull();
    expect((await w.produce(['b'], { expectedOffset: 0 })).error?.code).toBe('UNEXPECTED_OFFSET');
    await w.close();
  });

  it('structured records are encoded here, with the clock of the broker where they have no time', async () => {
    const w = await world([1]);
    const records = {
      records: [
        {
          key: Buffer.from('k'),
          value: Buffer.from('v'),
          headers: [{ key: 'h', value: Buffer.from('x') }],
        },
        { key: Buffer.from('k') },
      ],
    };
    expect((await w.produce(['unused'], { batch: undefined, records })).error).toBeNull();
    const call = w.cluster
      .connection(1)
      .call(
        methods.broker.fetchOnce,
        { structured: true, partitions: [{ topic: TOPIC, topicId: TOPIC_ID, leaderEpoch: -1 }] },
        { timeoutMs: 1_000 },
      );
    const { results } = await w.clock.settleWithin(call, 2_000);
    expect(results[0]?.records).toMatchObject([
      { offset: 0, key: Buffer.from('k'), value: Buffer.from('v'), headers: [{ key: 'h' }] },
      { offset: 1, key: Buffer.from('k') },
    ]);
    expect(results[0]?.records[1]?.value).toBeUndefined();
    expect(results[0]?.records[0]?.timestamp).toBeGreaterThan(1_704_067_200_000 - 1);
    await w.close();
  });

  it('the unary twin takes a topic by its name alone', async () => {
    const w = await world([1]);
    const { error, topicId } = await w.produce(['a'], { topicId: '', leaderEpoch: 0 });
    expect(error).toBeNull();
    expect(topicId).toBe(TOPIC_ID);
    await w.close();
  });

  it('while isolated, acks 0 and 1 are refused and acks=all goes on', async () => {
    const w = await world([1, 2]);
    w.cluster.manager(1).setIsolated(true);
    const { error } = await w.produce(['a'], { acks: 1 });
    expect(error).toMatchObject({ code: 'UNAVAILABLE', outcome: NOT_WRITTEN });
    await w.clock.settleWithin(w.cluster.produceWithoutAnswer(1, ['a']), 1_000);
    expect(w.log(1).logEndOffset).toBe(0);
    expect((await w.produce(['b'])).error).toBeNull();
    w.cluster.manager(1).setIsolated(false);
    expect((await w.produce(['c'], { acks: 1 })).error).toBeNull();
    await w.close();
  });

  it('more waiters than the broker may have are refused before anything is appended', async () => {
    const w = await world([1, 2], { maxWaiters: 2 });
    w.network.partition('b1', 'b2');
    const writes = ['a', 'b', 'c'].map((value) =>
      w.cluster.produce(1, [value], { timeoutMs: 1_000 }),
    );
    const results = await w.clock.settleWithin(Promise.all(writes), 60_000);
    const codes = results.map(({ error }) => error?.code).sort();
    expect(codes).toEqual(['OVERLOADED', 'TIMEOUT', 'TIMEOUT']);
    expect(w.log(1).logEndOffset).toBe(2);
    await w.close();
  });
});
