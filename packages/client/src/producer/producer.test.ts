import { seededRandom, TributaryError } from '@tributary/common';
import { CODEC_NAMES, CodecSet, standardCodecs } from '@tributary/record';
import { ScriptedCluster, SimulatedClock, type ScriptedClusterOptions } from '@tributary/testkit';
import { METADATA_MAX_AGE_MS } from '../metadata/metadata-cache';
import { createClient, json, string, type Client, type ProducerOptions } from '..';

interface World {
  readonly clock: SimulatedClock;
  readonly cluster: ScriptedCluster;
  readonly client: Client;
}

async function world(options: ScriptedClusterOptions = {}): Promise<World> {
  const clock = new SimulatedClock();
  const cluster = new ScriptedCluster(clock, options);
  const transport = await cluster.start();
  cluster.createTopic('orders', 3);
  const client = createClient({
    brokers: cluster.bootstrap,
    transport,
    clock,
    random: seededRandom(5),
  });
  return { clock, cluster, client };
}

const text = { key: string(), value: string() };

describe('sending', () => {
  test('one record: its place, and what lies in the log', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer(text);
    const record = {
      key: 'user-1',
      value: 'hello',
      headers: [
        ['a', 'x'],
        ['a', null],
        ['b', Buffer.from([0xff])],
      ] as const,
      partition: 1,
      timestamp: 1234,
    };
    const sent = await clock.settleWithin(producer.send('orders', record), 1_000);
    expect(sent).toEqual({ topic: 'orders', partition: 1, offset: 0n, timestamp: 1234 });
    expect(cluster.partition('orders', 1).records).toEqual([
      expect.objectContaining({
        key: Buffer.from('user-1'),
        value: Buffer.from('hello'),
        timestamp: 1234,
        headers: [
          { key: 'a', value: Buffer.from('x') },
          { key: 'a', value: null },
          { key: 'b', value: Buffer.from([0xff]) },
        ],
      }),
    ]);
  });

  test('a tombstone, an empty value and no key stay what they are', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer();
    const sends = [
      producer.send('orders', { key: Buffer.from('k'), value: null, partition: 0 }),
      producer.send('orders', { value: Buffer.alloc(0), partition: 0 }),
    ];
    await clock.settleWithin(Promise.all(sends), 1_000);
    const [first, second] = cluster.partition('orders', 0).records;
    expect([first?.value, second?.value?.length, second?.key]).toEqual([null, 0, null]);
  });

  test('records of one linger share a batch; offsets follow each other', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, lingerMs: 5 });
    const sends = ['a', 'b', 'c'].map((value) => producer.send('orders', { value, partition: 0 }));
    const sent = await clock.settleWithin(Promise.all(sends), 1_000);
    expect(sent.map(({ offset }) => offset)).toEqual([0n, 1n, 2n]);
    expect(cluster.attempts.map(({ values }) => values)).toEqual([['a', 'b', 'c']]);
  });

  test('a batch that is full does not wait for its linger', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, lingerMs: 60_000, batchBytes: 1024 });
    const value = 'x'.repeat(400);
    const sends = [1, 2, 3].map(() => producer.send('orders', { value, partition: 0 }));
    await clock.settleWithin(Promise.all(sends.slice(0, 2)), 1_000);
    expect(cluster.attempts.map(({ values }) => values.length)).toEqual([2]);
    await clock.settleWithin(producer.flush(), 1_000);
    await Promise.all(sends);
    expect(cluster.attempts.map(({ values }) => values.length)).toEqual([2, 1]);
  });

  test('one key goes to one partition, keyless ones change with each batch', async () => {
    const { clock, client } = await world();
    const producer = client.producer({ ...text, lingerMs: 1 });
    const used = new Set<number>();
    for (let i = 0; i < 20; i += 1) {
      const sent = await clock.settleWithin(producer.send('orders', { value: 'x' }), 1_000);
      used.add(sent.partition);
    }
    expect(used.size).toBe(3);
    const keyed = ['a', 'b'].map(() => producer.send('orders', { key: 'k', value: 'x' }));
    const [one, two] = await clock.settleWithin(Promise.all(keyed), 1_000);
    expect(one?.partition).toBe(two?.partition);
  });

  test.each(CODEC_NAMES)('codec %s', async (codec) => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ value: json<{ n: number }>(), codec });
    await clock.settleWithin(producer.send('orders', { value: { n: 1 }, partition: 0 }), 1_000);
    expect(cluster.partition('orders', 0).values).toEqual(['{"n":1}']);
  });

  test('a codec whose package is missing is told when the producer is made', async () => {
    const load = (): never => {
      throw new TributaryError(
        'UNSUPPORTED_CODEC',
        'codec zstd needs the npm package of this test',
      );
    };
    const zstd = { ...standardCodecs.byName('zstd'), load };
    const codecs = new CodecSet([standardCodecs.byName('none'), zstd]);
    const client = createClient({ brokers: ['localhost:1'], codecs });
    expect(() => client.producer({ codec: 'zstd' })).toThrow(/needs the npm package of this test/);
    expect(() => client.producer({ codec: 'lz4' })).toThrow(/codec lz4 is not supported here/);
    await client.producer({ codec: 'none' }).close();
    await client.close();
  });

  test.each([
    ['leader', 1],
    ['all', -1],
  ] as const)('acks %s', async (acks, wire) => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, acks });
    await clock.settleWithin(producer.send('orders', { value: 'x', partition: 0 }), 1_000);
    expect(cluster.attempts.map(({ acks: sent }) => sent)).toEqual([wire]);
  });

  test('acks none: sent is enough, nobody knows the offset', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, acks: 'none' });
    const sent = await clock.settleWithin(
      producer.send('orders', { value: 'x', partition: 0 }),
      1_000,
    );
    expect(sent.offset).toBe(-1n);
    await clock.advance(10);
    expect(cluster.partition('orders', 0).values).toEqual(['x']);
  });

  test('sendBatch tells the fate of each record, in order', async () => {
    const { clock, client } = await world();
    const producer = client.producer(text);
    const outcomes = await clock.settleWithin(
      producer.sendBatch('orders', [
        { value: 'a', partition: 0 },
        { value: 'b', partition: 9 },
        { value: 'c', partition: 0 },
      ]),
      1_000,
    );
    expect(outcomes).toEqual([
      expect.objectContaining({ status: 'fulfilled' }),
      {
        status: 'rejected',
        reason: expect.objectContaining({ code: 'UNKNOWN_PARTITION', outcome: 'not written' }),
      },
      { status: 'fulfilled', value: expect.objectContaining({ offset: 1n }) },
    ]);
    expect(await producer.sendBatch('orders', [])).toEqual([]);
  });

  test('a partition that was added since is found when a record names it; keyless records get there, too', async () => {
    const { clock, cluster, client } = await world();
    cluster.createTopic('grown', 1);
    const producer = client.producer(text);
    const send = (record: object) => clock.settleWithin(producer.send('grown', { value: 'x', ...record }), 5_000); // prettier-ignore
    await send({});
    cluster.addPartition('grown');
    const both = [producer.send('grown', { value: 'a', partition: 1 }), producer.send('grown', { value: 'b', partition: 0 })]; // prettier-ignore
    expect(await clock.settleWithin(Promise.all(both), 5_000)).toMatchObject([{ partition: 1, offset: 0n }, { partition: 0 }]); // prettier-ignore
    expect(cluster.metadataReads).toBeLessThan(5);
    cluster.addPartition('grown');
    await clock.advance(METADATA_MAX_AGE_MS);
    for (let n = 0; n < 40; n += 1) await send({});
    expect(cluster.partition('grown', 2).values).toContain('x');
  });

  test('ten thousand records in order, several batches in flight', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, batchBytes: 4096 });
    const values = Array.from({ length: 10_000 }, (_, i) => String(i));
    const outcomes = await clock.settleWithin(
      producer.sendBatch(
        'orders',
        values.map((value) => ({ value, partition: 0 })),
      ),
      60_000,
    );
    expect(outcomes.every(({ status }) => status === 'fulfilled')).toBe(true);
    expect(cluster.partition('orders', 0).values).toEqual(values);
    expect(cluster.initProducers).toBe(1);
  });
});

describe('what is wrong is told at once, as not written', () => {
  const cases: [string, (client: Client) => Promise<unknown>, string][] = [
    ['a record over the limit', (c) => c.producer().send('orders', { value: Buffer.alloc(1024 * 1024) }), 'RECORD_TOO_LARGE'],
    ['a record over the limit of its topic', (c) => c.producer().send('small', { value: Buffer.alloc(2_000) }), 'RECORD_TOO_LARGE'],
    ['an unknown topic', (c) => c.producer().send('nothing', { value: null }), 'UNKNOWN_TOPIC'],
    ['an impossible topic name', (c) => c.producer().send('a/b', { value: null }), 'INVALID_TOPIC'],
    ['an unknown partition', (c) => c.producer().send('orders', { value: null, partition: 3 }), 'UNKNOWN_PARTITION'],
    ['a timestamp that is none', (c) => c.producer().send('orders', { value: null, timestamp: -5 }), 'INVALID_TIMESTAMP'],
    ['a timestamp of the far future', (c) => c.producer().send('orders', { value: null, timestamp: 9_000_000_000_000 }), 'INVALID_TIMESTAMP'],
    ['a value that its serde refuses', (c) => c.producer({ value: string() }).send('orders', { value: 5 as unknown as string }), 'INVALID_ARGUMENT'],
    ['text without a serde', (c) => c.producer().send('orders', { value: 'x' as unknown as Buffer }), 'INVALID_ARGUMENT'],
  ]; // prettier-ignore

  test.each(cases)('%s', async (_name, send, code) => {
    const { clock, cluster, client } = await world();
    cluster.createTopic('small', 1, { 'max.message.bytes': '1000' });
    await expect(clock.settleWithin(send(client), 5_000)).rejects.toMatchObject({
      code,
      outcome: 'not written',
    });
    expect(cluster.attempts).toEqual([]);
  });

  test('every problem of the configuration', async () => {
    const { client } = await world();
    const options = {
      acks: 'leader',
      idempotent: true,
      batchBytes: 5,
      codec: 'zip',
      maxInFlight: 6,
      lingerms: 3,
    } as unknown as ProducerOptions;
    try {
      client.producer(options);
      throw new Error('not refused');
    } catch (thrown) {
      expect(thrown).toMatchObject({
        code: 'INVALID_CONFIG',
        message: expect.stringMatching(
          /lingerms.*codec="zip".*batchBytes=5.*maxInFlight=6.*acks=all/s,
        ),
      });
    }
  });
});

describe('back-pressure', () => {
  test('a full buffer makes sends wait, in order', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, bufferBytes: 4096, batchBytes: 1024 });
    let held = true;
    cluster.script = () => (held ? { do: 'append', afterMs: 500 } : undefined);
    const values = Array.from({ length: 60 }, (_, i) => `${i}`.padEnd(200, '.'));
    const sends = values.map((value) => producer.send('orders', { value, partition: 0 }));
    await clock.advance(400);
    const inFlight = cluster.attempts.reduce((sum, { values: sent }) => sum + sent.length, 0);
    expect(inFlight).toBeLessThan(20); // 4096 bytes hold no more
    held = false;
    await clock.settleWithin(Promise.all(sends), 60_000);
    expect(cluster.partition('orders', 0).values).toEqual(values);
  });

  test('waiting for room ends at the delivery timeout, not written', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({
      ...text,
      bufferBytes: 1024,
      deliveryTimeoutMs: 3_000,
      lingerMs: 0,
    });
    cluster.script = () => ({ do: 'silence' });
    const first = producer.send('orders', { value: 'x'.repeat(900), partition: 0 });
    const second = producer.send('orders', { value: 'y'.repeat(900), partition: 0 });
    const fates = clock.settleWithin(Promise.allSettled([first, second]), 10_000);
    expect(await fates).toMatchObject([
      { reason: { code: 'TIMEOUT', outcome: 'maybe written' } },
      { reason: { code: 'TIMEOUT', outcome: 'not written' } },
    ]);
  });

  test('a record larger than the whole buffer still gets through, alone', async () => {
    const { clock, client } = await world();
    const producer = client.producer({ ...text, bufferBytes: 1024 });
    const sent = producer.send('orders', { value: 'x'.repeat(5_000), partition: 0 });
    await expect(clock.settleWithin(sent, 1_000)).resolves.toMatchObject({ offset: 0n });
  });

  test('the credit of a broker bounds what is unanswered', async () => {
    const { clock, cluster, client } = await world({ creditBytes: 2_000 });
    const producer = client.producer({ ...text, batchBytes: 1024, lingerMs: 0 });
    cluster.script = () => ({ do: 'append', afterMs: 100 });
    const values = Array.from({ length: 20 }, (_, i) => `${i}`.padEnd(800, '.'));
    const sends = values.map((value) => producer.send('orders', { value, partition: 0 }));
    await clock.advance(90);
    // Two batches of 900 bytes leave credit; the third overdraws it.
    expect(cluster.attempts).toHaveLength(3);
    await clock.settleWithin(Promise.all(sends), 60_000);
    expect(cluster.partition('orders', 0).values).toEqual(values);
  });
});

describe('the caller gives up', () => {
  test('aborted before anything was queued: not written, with the reason as cause', async () => {
    const { cluster, client } = await world();
    const signal = AbortSignal.abort(new Error('user left'));
    const send = client.producer(text).send('orders', { value: 'x' }, { signal });
    await expect(send).rejects.toMatchObject({
      code: 'CANCELLED',
      outcome: 'not written',
      cause: { message: 'user left' },
    });
    expect(cluster.attempts).toEqual([]);
  });

  test('aborted while it waits for metadata: withdrawn', async () => {
    const { clock, cluster, client } = await world();
    const abort = new AbortController();
    const send = client.producer(text).send('orders', { value: 'x' }, { signal: abort.signal });
    abort.abort();
    await expect(send).rejects.toMatchObject({ code: 'CANCELLED', outcome: 'not written' });
    await clock.advance(1_000);
    expect(cluster.attempts).toEqual([]);
  });

  test('timed out in flight: maybe written', async () => {
    const { clock, cluster, client } = await world();
    cluster.script = () => ({ do: 'append', afterMs: 1_000 });
    const send = client
      .producer(text)
      .send('orders', { value: 'x', partition: 0 }, { timeoutMs: 200 });
    await expect(clock.settleWithin(send, 300)).rejects.toMatchObject({
      code: 'TIMEOUT',
      outcome: 'maybe written',
    });
    await clock.advance(2_000);
    expect(cluster.partition('orders', 0).values).toEqual(['x']);
  });
});

describe('flush and close', () => {
  test('flush waits for what was sent before it, and does not wait for linger', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, lingerMs: 60_000 });
    const sends = [0, 1, 2].map((partition) => producer.send('orders', { value: 'x', partition }));
    await clock.settleWithin(producer.flush(), 1_000);
    await Promise.all(sends);
    expect(cluster.attempts).toHaveLength(3);
  });

  test('flush is bounded', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer(text);
    cluster.script = () => ({ do: 'silence' });
    const send = producer.send('orders', { value: 'x', partition: 0 });
    await expect(clock.settleWithin(producer.flush({ timeoutMs: 50 }), 100)).rejects.toMatchObject({
      code: 'TIMEOUT',
    });
    send.catch(() => undefined);
  });

  test('close flushes, then refuses; no timer is left', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, lingerMs: 60_000 });
    const send = producer.send('orders', { value: 'x', partition: 0 });
    await clock.settleWithin(producer.close(), 1_000);
    await expect(send).resolves.toMatchObject({ offset: 0n });
    await expect(producer.send('orders', { value: 'y' })).rejects.toMatchObject({
      code: 'CLOSED',
      outcome: 'not written',
    });
    await clock.settleWithin(client.close(), 1_000);
    await clock.advance(5); // what is on the simulated wire arrives
    expect(clock.pendingTimers).toBe(0);
    expect(cluster.partition('orders', 0).values).toEqual(['x']);
  });

  test('close is bounded, and what did not get through says what became of it', async () => {
    const { clock, cluster, client } = await world();
    const producer = client.producer({ ...text, lingerMs: 0, maxInFlight: 1 });
    cluster.script = () => ({ do: 'silence' });
    const inFlight = producer.send('orders', { value: 'x', partition: 0 });
    await clock.advance(50);
    const queued = producer.send('orders', { value: 'y', partition: 0 });
    const fates = Promise.allSettled([inFlight, queued]);
    await clock.settleWithin(producer.close({ timeoutMs: 300 }), 805);
    expect(await fates).toMatchObject([
      { reason: { code: 'CLOSED', outcome: 'maybe written' } },
      { reason: { code: 'CLOSED', outcome: 'not written' } },
    ]);
  });

  test('closing the client closes its producers', async () => {
    const { clock, client } = await world();
    const producer = client.producer(text);
    const send = producer.send('orders', { value: 'x', partition: 0 });
    await clock.settleWithin(client.close(), 1_000);
    await expect(send).resolves.toMatchObject({ offset: 0n });
    expect(() => client.producer()).toThrow(TributaryError);
  });
});
