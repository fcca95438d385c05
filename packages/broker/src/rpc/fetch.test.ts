import {
  methods,
  type FetchDown,
  type FetchPartitionInput,
  type FetchRequestInput,
  type FetchResult,
  type ListOffsetsPartitionInput,
  type ListOffsetsResult,
} from '@tributary/protocol';
import { TOPIC, TOPIC_ID } from '../replication/data-cluster.fixture';
import type { DataLimits } from '../replication/data-limits';
import { dataWorld, valuesOf, type World as DataWorld } from '../replication/data-world.fixture';

interface World extends DataWorld {
  write(values: string[], acks?: number): Promise<void>;
  fetch(partition?: FetchPartitionInput, request?: FetchRequestInput): Promise<FetchResult>;
  offsets(asked: ListOffsetsPartitionInput): Promise<ListOffsetsResult>;
}

async function world(replicas: number[], limits: Partial<DataLimits> = {}): Promise<World> {
  const w = await dataWorld(replicas, limits);
  const { cluster, clock, within } = w;
  await cluster.createTopic([replicas, replicas]);
  await clock.advance(50);
  const named = { topic: TOPIC, topicId: TOPIC_ID, partition: 0, leaderEpoch: -1 };
  return {
    ...w,
    write: async (values, acks = -1) => {
      const { error } = await within(cluster.produce(1, values, { acks }));
      if (error) throw new Error(error.message);
    },
    fetch: async (partition = {}, request = {}) => {
      const { results } = await cluster
        .connection(1)
        .call(
          methods.broker.fetchOnce,
          { ...request, partitions: [{ ...named, ...partition }] },
          { timeoutMs: 60_000 },
        );
      return results[0]!;
    },
    offsets: async (asked) => {
      const partitions = [{ ...named, ...asked }];
      const call = cluster
        .connection(1)
        .call(methods.broker.listOffsets, { partitions }, { timeoutMs: 5_000 });
      return (await within(call)).results[0]!;
    },
  };
}

const values = ({ batches }: FetchResult): string[] => valuesOf(batches);

describe('fetch', () => {
  it('gives whole batches from the one that holds the offset, byte for byte', async () => {
    const w = await world([1]);
    await w.write(['a', 'b']);
    await w.write(['c']);
    const result = await w.within(w.fetch({ offset: 1 }));
    expect(values(result)).toEqual(['a', 'b', 'c']);
    expect(result.batches.equals(w.log(1).content)).toBe(true);
    expect(result).toMatchObject({ highWatermark: 3, logStartOffset: 0, error: null });
    await w.close();
  });

  it('never gives what lies at or above the HW (KAFKA-727)', async () => {
    const w = await world([1, 2]);
    await w.write(['a']);
    w.network.partition('b1', 'b2');
    await w.write(['not committed'], 1);
    expect(values(await w.within(w.fetch({ offset: 0 })))).toEqual(['a']);
    const waiting = w.fetch({ offset: 1 }, { minBytes: 1, maxWaitMs: 500 });
    expect(await w.within(waiting)).toMatchObject({ highWatermark: 1, error: null });
    expect(values(await waiting)).toEqual([]);
    await w.close();
  });

  it('waits between HW and log end, and answers when the HW moves', async () => {
    const w = await world([1, 2]);
    w.network.partition('b1', 'b2');
    await w.write(['a'], 1);
    const waiting = w.fetch({ offset: 0 }, { minBytes: 1, maxWaitMs: 20_000 });
    await w.clock.advance(1_000);
    w.network.heal();
    const start = w.clock.now();
    expect(values(await w.within(waiting))).toEqual(['a']);
    expect(w.clock.now() - start).toBeLessThan(1_000);
    await w.close();
  });

  it('out of range: below the start, or above the log end; the answer says where the log lies', async () => {
    const w = await world([1]);
    await w.write(['a']);
    for (const offset of [-1, 2]) {
      const { error } = await w.within(w.fetch({ offset }));
      expect(error).toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
      expect(error?.message).toContain('between 0 and 1');
    }
    await w.close();
  });

  it('KIP-320: after an unclean election, says that what was read is gone, and where the logs part', async () => {
    const w = await world([1, 2]);
    await w.cluster.configure({ 'min.insync.replicas': '1' });
    await w.write(['a', 'b']);
    await w.cluster.elect(2, { isr: [2] });
    const write = async (text: string[]): Promise<void> => {
      expect((await w.within(w.cluster.produce(2, text))).error).toBeNull();
    };
    w.cluster.crash(1);
    await write(['c', 'd']);
    const epoch = w.cluster.state().leaderEpoch;
    w.cluster.crash(2);
    await w.cluster.startBroker(1);
    await w.cluster.elect(1, { isr: [1] });
    await w.write(['x', 'y', 'z']);
    const ask = (offset: number, lastEpoch?: number) =>
      w.within(w.fetch({ offset, ...(lastEpoch === undefined ? {} : { lastEpoch }) }));

    // The epoch of c and d is not in this log: they part where the largest epoch below it ends here.
    expect(await ask(4, epoch)).toMatchObject({
      error: { code: 'LOG_TRUNCATED', message: expect.stringContaining('from offset 2 on') },
      divergingOffset: 2,
    });
    // One who read of that epoch before it goes on before what he read of it.
    expect(await ask(2, epoch)).toMatchObject({ divergingOffset: 1 });
    // Of an epoch that is, and is shorter than what was read of it.
    expect(await ask(4, epoch - 1)).toMatchObject({
      error: { code: 'LOG_TRUNCATED' },
      divergingOffset: 2,
    });
    expect(values(await ask(2, epoch - 1))).toEqual(['x', 'y', 'z']);
    expect(values(await ask(4, epoch + 1))).toEqual(['x', 'y', 'z']);
    expect(await ask(4)).toMatchObject({ error: null });
    await w.close();
  });

  it('long poll: gathers minBytes over several writes, and reads nothing twice', async () => {
    const w = await world([1]);
    const log = w.log(1);
    const read = log.read.bind(log);
    const reads: number[] = [];
    log.read = (offset, maxBytes, below) => {
      reads.push(offset);
      return read(offset, maxBytes, below);
    };
    const waiting = w.fetch({ offset: 0 }, { minBytes: 200, maxWaitMs: 10_000 });
    for (const value of ['a', 'b', 'c']) await w.write([value]);
    expect(values(await w.within(waiting))).toEqual(['a', 'b', 'c']);
    expect(reads).toEqual([0, 1, 2]);
    await w.close();
  });

  it('answers at its deadline with what there is', async () => {
    const w = await world([1]);
    await w.write(['a']);
    const start = w.clock.now();
    const result = await w.within(w.fetch({ offset: 0 }, { minBytes: 10_000, maxWaitMs: 700 }));
    expect(values(result)).toEqual(['a']);
    expect(Math.round((w.clock.now() - start) / 100)).toBe(7);
    await w.close();
  });

  it('the limit of a partition and of the request hold; the first batch is always whole', async () => {
    const w = await world([1]);
    for (const value of ['a', 'b', 'c']) await w.write([value.repeat(1_000)]);
    const one = await w.within(w.fetch({ offset: 0, maxBytes: 10 }));
    expect(values(one)).toHaveLength(1);
    const two = await w.within(w.fetch({ offset: 0 }, { maxBytes: 2_500 }));
    expect(values(two)).toHaveLength(2);
    await w.close();
  });

  it('an error of one partition is answered at once, beside the data of the others', async () => {
    const w = await world([1]);
    await w.write(['a']);
    const named = { topic: TOPIC, topicId: TOPIC_ID, leaderEpoch: -1 };
    const call = w.cluster.connection(1).call(
      methods.broker.fetchOnce,
      {
        minBytes: 1_000_000,
        maxWaitMs: 30_000,
        partitions: [
          { ...named, partition: 0 },
          { ...named, partition: 9 },
        ],
      },
      { timeoutMs: 60_000 },
    );
    const start = w.clock.now();
    const { results } = await w.within(call);
    expect(values(results[0]!)).toEqual(['a']);
    expect(results[1]?.error?.code).toBe('UNKNOWN_PARTITION');
    expect(w.clock.now() - start).toBeLessThan(100);
    await w.close();
  });

  it('fences: leader epoch below and above, and the end of leadership while it waits (KAFKA-7395)', async () => {
    const w = await world([1, 2]);
    await w.cluster.elect(1);
    const code = async (leaderEpoch: number): Promise<string | undefined> =>
      (await w.within(w.fetch({ leaderEpoch }))).error?.code;
    expect(await code(0)).toBe('FENCED_LEADER_EPOCH');
    expect(await code(2)).toBe('UNKNOWN_LEADER_EPOCH');
    const waiting = w.fetch({}, { minBytes: 1, maxWaitMs: 20_000 });
    await w.clock.advance(100);
    await w.cluster.elect(2);
    expect((await w.within(waiting)).error).toMatchObject({
      code: 'NOT_LEADER',
      leader: { leaderId: 2, leaderEpoch: 2 },
    });
    await w.close();
  });

  it('cold data is read without stopping the event loop, and the answer is the same', async () => {
    const w = await world([1]);
    await w.write(['a']);
    await w.cluster.manager(1).close();
    w.cluster.crash(1);
    await w.cluster.startBroker(1);
    await w.cluster.elect(1);
    let cold = 0;
    const log = w.log(1);
    const read = log.readAsync.bind(log);
    log.readAsync = (...args) => {
      cold += 1;
      return read(...args);
    };
    expect(values(await w.within(w.fetch({ offset: 0 })))).toEqual(['a']);
    expect(cold).toBe(1);
    await w.close();
  });
});

describe('the fetch stream', () => {
  it('answers requests out of order, and refuses more than it takes at once', async () => {
    const w = await world([1], { maxInFlightFetches: 2 });
    const stream = w.cluster.connection(1).open(methods.broker.fetch);
    const received: FetchDown[] = [];
    stream.handle({ onMessage: (message) => received.push(message), onClose: () => undefined });
    stream.send({ hello: { minVersion: 1, maxVersion: 1, brokerId: 1, senderBrokerId: -1 } });
    const named = { topic: TOPIC, topicId: TOPIC_ID, leaderEpoch: -1 };
    const ask = (correlationId: number, partition: number): void =>
      void stream.send({
        request: {
          correlationId,
          minBytes: 1,
          maxWaitMs: 5_000,
          partitions: [{ ...named, partition }],
        },
      });
    ask(1, 1);
    ask(2, 0);
    ask(3, 0);
    await w.clock.advance(20);
    await w.write(['a']);
    await w.clock.advance(10);
    const answers = received.flatMap(({ response }) => (response ? [response] : []));
    expect(
      answers.map(({ correlationId, results }) => [correlationId, results[0]?.error?.code]),
    ).toEqual([
      [3, 'OVERLOADED'],
      [2, undefined],
    ]);
    expect(received[0]?.hello?.maxInFlightRequests).toBe(2);
    stream.cut();
    await w.clock.advance(10_000);
    await w.close();
    expect(w.clock.pendingTimers).toBe(0);
  });
});

describe('list offsets', () => {
  it('earliest, latest, by time, and the newest time', async () => {
    const w = await world([1]);
    await w.write(['a', 'b']);
    expect(await w.offsets({ spec: 'EARLIEST' })).toMatchObject({ offset: 0, error: null });
    expect(await w.offsets({ spec: 'LATEST' })).toMatchObject({
      offset: 2,
      leaderEpoch: 0,
      note: '',
    });
    expect(await w.offsets({ spec: 'TIMESTAMP', timestamp: 0 })).toMatchObject({ offset: 0 });
    expect(await w.offsets({ spec: 'TIMESTAMP', timestamp: 9e12 })).toMatchObject({ offset: -1 });
    expect(await w.offsets({ spec: 'MAX_TIMESTAMP' })).toMatchObject({
      timestamp: 1_700_000_000_000,
    });
    expect((await w.offsets({})).error?.code).toBe('INVALID_ARGUMENT');
    await w.close();
  });

  it('latest is not available before the HW has reached the start of the epoch', async () => {
    const w = await world([1, 2, 3]);
    await w.write(['a']);
    w.network.partition('b1', 'b2');
    w.network.partition('b2', 'b3');
    await w.write(['b'], 1);
    await w.clock.advance(20);
    await w.cluster.elect(1);
    w.network.partition('b1', 'b3');
    expect((await w.offsets({ spec: 'LATEST' })).error?.code).toBe('OFFSET_NOT_AVAILABLE');
    expect((await w.offsets({ spec: 'EARLIEST' })).offset).toBe(0);
    // Nor is anything out of range up to the log end: the reader waits.
    const waiting = w.fetch({ offset: 2 }, { minBytes: 1, maxWaitMs: 100 });
    expect((await w.within(waiting)).error).toBeNull();
    // And beyond it nothing is said that a reader would take for lost records.
    expect((await w.within(w.fetch({ offset: 3 }))).error?.code).toBe('OFFSET_NOT_AVAILABLE');
    w.network.heal();
    await w.clock.advance(2_000);
    expect((await w.within(w.fetch({ offset: 3 }))).error?.code).toBe('OFFSET_OUT_OF_RANGE');
    expect((await w.offsets({ spec: 'LATEST' })).offset).toBe(2);
    await w.close();
  });

  it('latest is the HW: what is not committed is told to nobody, neither by offset nor by time', async () => {
    const w = await world([1, 2]);
    await w.write(['a']);
    w.network.partition('b1', 'b2');
    await w.write(['b'], 1);
    expect((await w.offsets({ spec: 'LATEST' })).offset).toBe(1);
    expect((await w.offsets({ spec: 'MAX_TIMESTAMP' })).offset).toBe(0);
    await w.close();
  });

  it('says why the HW is frozen', async () => {
    const w = await world([1, 2]);
    await w.write(['a']);
    w.cluster.crash(2);
    await w.cluster.change([{ ...w.cluster.state(), isr: [1], partitionEpoch: 5 }]);
    const { note, offset } = await w.offsets({ spec: 'LATEST' });
    expect(offset).toBe(1);
    expect(note).toBe(
      'the high watermark is frozen at 1: 1 of at least 2 replicas are in sync (1)',
    );
    await w.close();
  });
});
