import { seededRandom, TributaryError, type ErrorCode } from '@tributary/common';
import {
  ScriptedCluster,
  SimulatedClock,
  type ProduceAttempt,
  type ScriptedClusterOptions,
  type ScriptStep,
} from '@tributary/testkit';
import { createClient, string, type Client, type Producer, type ProducerOptions } from '..';

type TextProducer = Producer<Uint8Array, string>;

interface World {
  readonly clock: SimulatedClock;
  readonly cluster: ScriptedCluster;
  readonly client: Client;
  producer(options?: ProducerOptions<Uint8Array, string>): TextProducer;
}

async function world(options: ScriptedClusterOptions = {}, seed = 5): Promise<World> {
  const clock = new SimulatedClock();
  const cluster = new ScriptedCluster(clock, options);
  const transport = await cluster.start();
  cluster.createTopic('orders', 3);
  const client = createClient({
    brokers: cluster.bootstrap,
    transport,
    clock,
    random: seededRandom(seed),
    requestTimeoutMs: 2_000,
  });
  const producer = (more: ProducerOptions<Uint8Array, string> = {}): TextProducer =>
    client.producer({ value: string(), lingerMs: 0, ...more });
  return { clock, cluster, client, producer };
}

/** Each send is a batch of its own: they are as long as a batch may be. */
const oneEach = { batchBytes: 1024 } as const;

function value(n: number): string {
  return `${n}`.padEnd(900, '.');
}

function sendAll(producer: TextProducer, numbers: readonly number[], topic = 'orders') {
  return numbers.map((n) => producer.send(topic, { value: value(n), partition: 0 }));
}

function numbersOf(values: readonly string[]): number[] {
  return values.map((text) => parseInt(text, 10));
}

function refuse(code: ErrorCode): ScriptStep {
  return { do: 'refuse', with: new TributaryError(code, 'scripted', { outcome: 'not written' }) };
}

/** `script` for the first attempts, by their number; the others append. */
function steps(
  ...script: readonly ScriptStep[]
): (attempt: ProduceAttempt) => ScriptStep | undefined {
  return ({ number }) => script[number - 1];
}

function summary(attempts: readonly ProduceAttempt[]): string[] {
  return attempts.map(
    ({ broker, leaderEpoch, producerEpoch, baseSequence, values }) =>
      `${numbersOf(values).join(',')} to ${broker}@${leaderEpoch} as ${producerEpoch}/${baseSequence}`,
  );
}

describe('retries', () => {
  test('five in flight, the first one refused: all in order, none doubled', async () => {
    const { clock, cluster, producer } = await world();
    cluster.script = steps(refuse('NOT_ENOUGH_REPLICAS'));
    const sends = sendAll(producer(oneEach), [0, 1, 2, 3, 4, 5, 6, 7]);
    const sent = await clock.settleWithin(Promise.all(sends), 10_000);
    expect(sent.map(({ offset }) => offset)).toEqual([0n, 1n, 2n, 3n, 4n, 5n, 6n, 7n]);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(summary(cluster.attempts).slice(0, 10)).toEqual([
      ...[0, 1, 2, 3, 4].map((n) => `${n} to 1@1 as 0/${n}`),
      ...[0, 1, 2, 3, 4].map((n) => `${n} to 1@1 as 0/${n}`),
    ]);
  });

  test('written, but the answer was lost: the duplicate is counted once, with its first offset', async () => {
    const { clock, cluster, producer } = await world();
    cluster.script = steps({ do: 'append and cut' });
    const sends = sendAll(producer(), [0, 1]);
    const sent = await clock.settleWithin(Promise.all(sends), 10_000);
    expect(sent.map(({ offset }) => offset)).toEqual([0n, 1n]);
    expect(summary(cluster.attempts)).toEqual([
      '0 to 1@1 as 0/0',
      '0 to 1@1 as 0/0',
      '1 to 1@1 as 0/1',
    ]);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual([0, 1]);
  });

  test('the leader moves in the middle: its hint is followed at once, without reading metadata', async () => {
    const { clock, cluster, producer } = await world();
    const one = producer(oneEach);
    await clock.settleWithin(Promise.all(sendAll(one, [0])), 1_000);
    const reads = cluster.metadataReads;
    cluster.moveLeader('orders', 0, 3);
    const before = clock.now();
    await clock.settleWithin(Promise.all(sendAll(one, [1, 2, 3])), 1_000);
    expect(clock.now() - before).toBeLessThan(15);
    expect(cluster.metadataReads).toBe(reads);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual([0, 1, 2, 3]);
    expect(summary(cluster.attempts).slice(-3)).toEqual([
      '1 to 3@2 as 0/1',
      '2 to 3@2 as 0/2',
      '3 to 3@2 as 0/3',
    ]);
  });

  test('the leader dies, half of its batches written; another one is elected later', async () => {
    const { clock, cluster, producer } = await world();
    cluster.script = ({ number }) =>
      number === 2
        ? { do: 'append and cut' }
        : number < 2
          ? undefined
          : number < 6
            ? { do: 'silence' }
            : undefined;
    const sends = sendAll(producer(oneEach), [0, 1, 2, 3, 4, 5]);
    await clock.advance(50);
    cluster.crash(1);
    cluster.moveLeader('orders', 0, -1);
    await clock.advance(500);
    cluster.moveLeader('orders', 0, 2);
    const electedAt = clock.now();
    const sent = await clock.settleWithin(Promise.all(sends), 10_000);
    expect(clock.now() - electedAt).toBeLessThan(600);
    expect(sent.map(({ offset }) => offset)).toEqual([0n, 1n, 2n, 3n, 4n, 5n]);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual([0, 1, 2, 3, 4, 5]);
  });

  test('a stuck broker is noticed by the deadline of the request, and its stream cut', async () => {
    const { clock, cluster, producer } = await world();
    cluster.script = steps({ do: 'append in silence' });
    const sends = sendAll(producer(), [0, 1]);
    const sent = await clock.settleWithin(Promise.all(sends), 10_000);
    expect(clock.now()).toBeGreaterThan(2_000);
    expect(clock.now()).toBeLessThan(5_000);
    expect(sent.map(({ offset }) => offset)).toEqual([0n, 1n]);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual([0, 1]);
  });

  test('a broker that never says hello holds up nothing for ever', async () => {
    const { clock, cluster, producer } = await world({ silentHello: 1 });
    const sends = sendAll(producer(), [0]);
    await clock.advance(1_000);
    cluster.moveLeader('orders', 0, 2);
    await clock.settleWithin(Promise.all(sends), 10_000);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual([0]);
  });

  test('one partition in trouble does not hold up another one', async () => {
    const { clock, cluster, producer } = await world();
    cluster.script = ({ partition }) =>
      partition === 0 ? refuse('NOT_ENOUGH_REPLICAS') : undefined;
    const one = producer();
    const stuck = one.send('orders', { value: 'stuck', partition: 0 });
    stuck.catch(() => undefined);
    await clock.advance(100);
    const fine = one.send('orders', { value: 'fine', partition: 1 });
    await expect(clock.settleWithin(fine, 20)).resolves.toMatchObject({ offset: 0n });
  });

  test('a batch that is too large for the broker is split until it fits', async () => {
    const { clock, cluster, producer } = await world();
    const one = producer({ lingerMs: 5 });
    cluster.script = ({ values }) => (values.length > 3 ? refuse('BATCH_TOO_LARGE') : undefined);
    const numbers = Array.from({ length: 10 }, (_, n) => n);
    const sent = await clock.settleWithin(Promise.all(sendAll(one, numbers)), 10_000);
    expect(sent.map(({ offset }) => Number(offset))).toEqual(numbers);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual(numbers);
    await clock.settleWithin(one.flush(), 100);
  });

  test('a producer id that the broker forgot is replaced, and nothing is lost', async () => {
    const { clock, cluster, producer } = await world();
    const one = producer(oneEach);
    await clock.settleWithin(Promise.all(sendAll(one, [0])), 1_000);
    cluster.partition('orders', 0).forgetProducers();
    await clock.settleWithin(Promise.all(sendAll(one, [1, 2, 3])), 5_000);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual([0, 1, 2, 3]);
    expect(cluster.initProducers).toBe(2);
  });
});

describe('delivery is bounded', () => {
  test.each([
    ['refused every time', refuse('NOT_ENOUGH_REPLICAS'), 'not written'],
    ['never answered', { do: 'silence' }, 'maybe written'],
    ['cut every time', { do: 'cut' }, 'maybe written'],
  ] as const)('%s', async (_name, step, outcome) => {
    const { clock, cluster, producer } = await world();
    cluster.script = () => step;
    const send = producer({ deliveryTimeoutMs: 5_000 }).send('orders', {
      value: 'x',
      partition: 0,
    });
    await expect(clock.settleWithin(send, 5_010)).rejects.toMatchObject({
      code: 'TIMEOUT',
      outcome,
    });
    expect(clock.now()).toBeGreaterThanOrEqual(5_000);
  });

  test('no leader all along: not written, and the error says why', async () => {
    const { clock, cluster, producer } = await world();
    cluster.moveLeader('orders', 0, -1);
    const send = producer({ deliveryTimeoutMs: 5_000 }).send('orders', {
      value: 'x',
      partition: 0,
    });
    await expect(clock.settleWithin(send, 5_010)).rejects.toMatchObject({
      code: 'TIMEOUT',
      outcome: 'not written',
      message: expect.stringContaining('LEADER_NOT_AVAILABLE'),
    });
  });

  test('the same for a batch that has less time than one request', async () => {
    const { clock, cluster, producer } = await world();
    cluster.moveLeader('orders', 0, -1);
    const short = producer({ deliveryTimeoutMs: 1_500 });
    const send = short.send('orders', { value: 'x', partition: 0 });
    await expect(clock.settleWithin(send, 1_510)).rejects.toMatchObject({
      code: 'TIMEOUT',
      outcome: 'not written',
      message: expect.stringContaining('LEADER_NOT_AVAILABLE'),
    });
  });

  test('no broker all along: not written, and the error names the addresses', async () => {
    const { clock, cluster, producer } = await world();
    for (const broker of [1, 2, 3]) cluster.crash(broker);
    const send = producer({ deliveryTimeoutMs: 5_000 }).send('orders', {
      value: 'x',
      partition: 0,
    });
    await expect(clock.settleWithin(send, 6_000)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
      outcome: 'not written',
      message: expect.stringContaining('broker-1:9292, broker-2:9292, broker-3:9292'),
    });
  });

  test('after a maybe-written expiry the epoch is bumped and sequences start at 0; other partitions go on', async () => {
    const { clock, cluster, producer } = await world();
    const one = producer({ deliveryTimeoutMs: 1_500, ...oneEach });
    await clock.settleWithin(Promise.all(sendAll(one, [0, 1])), 1_000);
    cluster.script = ({ partition }) => (partition === 0 ? { do: 'append in silence' } : undefined);
    const lost = sendAll(one, [2]);
    await expect(clock.settleWithin(lost[0] as Promise<unknown>, 2_000)).rejects.toMatchObject({
      outcome: 'maybe written',
    });
    cluster.script = () => undefined;
    const other = one.send('orders', { value: value(0), partition: 1 });
    const next = sendAll(one, [3, 4]);
    // The broker is still silent about batch 2: its stream is cut at its deadline, then the epoch is bumped.
    await clock.settleWithin(Promise.allSettled([...next, other]), 3_000);
    await clock.advance(3_000);
    const later = sendAll(one, [5]);
    await clock.settleWithin(Promise.all(later), 3_000);
    const onZero = cluster.attempts.filter(({ partition }) => partition === 0);
    expect(summary(onZero).at(-1)).toMatch(/^5 to 1@1 as 1\//);
    const written = numbersOf(cluster.partition('orders', 0).values);
    expect(written).toEqual([...new Set(written)].sort((a, b) => a - b));
    expect(written).toEqual(expect.arrayContaining([0, 1, 2, 5]));
    expect(cluster.attempts.filter(({ partition }) => partition === 1).at(-1)?.producerEpoch).toBe(
      0,
    );
  });
});

describe('a topic that is deleted and created again', () => {
  test('nothing meant for the old one gets into the new one; new sends start at sequence 0', async () => {
    const { clock, cluster, producer } = await world();
    const one = producer({ ...oneEach, maxInFlight: 1 });
    await clock.settleWithin(Promise.all(sendAll(one, [0, 1])), 1_000);
    cluster.script = ({ number }) => (number === 3 ? { do: 'silence' } : undefined);
    const old = Promise.allSettled(sendAll(one, [2, 3]));
    await clock.advance(100);
    cluster.createTopic('orders', 3);
    const fates = await clock.settleWithin(old, 10_000);
    expect(fates).toMatchObject([
      { reason: { code: 'TOPIC_ID_MISMATCH', outcome: 'maybe written' } },
      { reason: { code: 'TOPIC_ID_MISMATCH', outcome: 'not written' } },
    ]);
    const sent = await clock.settleWithin(Promise.all(sendAll(one, [7, 8])), 5_000);
    expect(sent.map(({ offset }) => offset)).toEqual([0n, 1n]);
    expect(numbersOf(cluster.partition('orders', 0).values)).toEqual([7, 8]);
    expect(cluster.attempts.at(-2)).toMatchObject({ topicId: 'orders-id-2', baseSequence: 0 });
  });

  test('a broker that has not heard of the new topic yet is asked again', async () => {
    const { clock, cluster, producer } = await world();
    cluster.script = steps(refuse('TOPIC_ID_MISMATCH'), refuse('UNKNOWN_TOPIC'));
    const sent = await clock.settleWithin(Promise.all(sendAll(producer(), [0])), 5_000);
    expect(sent.map(({ offset }) => offset)).toEqual([0n]);
  });
});

describe('any mixture of failures, from a seed', () => {
  const failures: readonly ScriptStep[] = [
    { do: 'cut' },
    { do: 'append and cut' },
    { do: 'append in silence' },
    { do: 'silence' },
    { do: 'append', afterMs: 30 },
    refuse('NOT_ENOUGH_REPLICAS'),
    refuse('OVERLOADED'),
    refuse('NOT_LEADER'),
    refuse('BATCH_TOO_LARGE'),
    refuse('INVALID_TIMESTAMP'),
    refuse('UNKNOWN_PRODUCER_ID'),
  ];

  test.each(Array.from({ length: 25 }, (_, seed) => seed + 1))(
    'seed %d: what is acknowledged is there once and in order, what is not written is not there',
    async (seed) => {
      const { clock, cluster, producer } = await world({}, seed);
      const dice = seededRandom(seed);
      cluster.script = () => {
        const roll = dice.next();
        if (roll < 0.02) cluster.moveLeader('orders', 0, 1 + Math.floor(dice.next() * 3));
        if (roll > 0.15 || clock.now() > 60_000) return undefined;
        return failures[Math.floor(dice.next() * failures.length)];
      };
      const one = producer({ ...oneEach, lingerMs: 2, deliveryTimeoutMs: 6_000 });
      const fates: Promise<PromiseSettledResult<{ offset: bigint }>>[] = [];
      for (let n = 0; n < 300; n += 1) {
        const send = one.send('orders', { value: `${n}`.padEnd(300, '.'), partition: 0 });
        fates.push(Promise.allSettled([send]).then(([fate]) => fate));
        if (dice.next() < 0.3) await clock.advance(dice.next() * 20);
      }
      const settled = await clock.settleWithin(Promise.all(fates), 600_000);
      cluster.script = () => undefined;
      const [after] = sendAll(one, [1_000]);
      await clock.settleWithin(after as Promise<unknown>, 5_000);
      await clock.settleWithin(one.close(), 10_000);

      const log = numbersOf(cluster.partition('orders', 0).values);
      expect(new Set(log).size).toBe(log.length);
      // In order, but for those that may be written: they may come late, never the acknowledged.
      const acknowledged = settled.flatMap((fate, n) => (fate.status === 'fulfilled' ? [n] : []));
      expect(log.at(-1)).toBe(1_000);
      expect(log.filter((n) => acknowledged.includes(n))).toEqual(acknowledged);
      settled.forEach((fate, n) => {
        if (fate.status === 'fulfilled') {
          expect(log[Number(fate.value.offset)]).toBe(n);
        } else {
          const { outcome } = fate.reason as TributaryError;
          if (outcome === 'not written') expect(log).not.toContain(n);
          else expect(outcome).toBe('maybe written');
        }
      });
    },
  );
});
