import {
  methods,
  type MessageStream,
  type ProduceDown,
  type ProduceUpInput,
} from '@tributary/protocol';
import { batchOf, CLUSTER_ID, TOPIC, TOPIC_ID } from '../replication/data-cluster.fixture';
import type { DataLimits } from '../replication/data-limits';
import { dataWorld, type World } from '../replication/data-world.fixture';

async function world(replicas: number[], limits: Partial<DataLimits> = {}): Promise<World> {
  const w = await dataWorld(replicas, limits);
  await w.cluster.createTopic([replicas]);
  await w.clock.advance(50);
  return w;
}

describe('the produce stream', () => {
  function open(w: World): {
    stream: MessageStream<ProduceUpInput, ProduceDown>;
    received: ProduceDown[];
    closed: () => string | undefined;
    send: (id: number, value: string, acks?: number) => void;
    answers: () => (readonly [number, string | undefined])[];
  } {
    const stream = w.cluster.connection(1).open(methods.broker.produce);
    const received: ProduceDown[] = [];
    let closed: string | undefined;
    stream.handle({
      onMessage: (message) => received.push(message),
      onClose: (error) => (closed = error?.code ?? 'ended'),
    });
    const entry = { topic: TOPIC, topicId: TOPIC_ID, partition: 0, leaderEpoch: -1 };
    return {
      stream,
      received,
      closed: () => closed,
      send: (correlationId, value, acks = -1) =>
        void stream.send({
          request: {
            correlationId,
            acks,
            timeoutMs: 1_000,
            partitions: [{ ...entry, batch: batchOf([value]) }],
          },
        }),
      answers: () =>
        received.flatMap(({ response }) =>
          response ? [[response.correlationId, response.results[0]?.error?.code] as const] : [],
        ),
    };
  }
  const hello = { hello: { minVersion: 1, maxVersion: 1, brokerId: -1, senderBrokerId: -1 } };

  it('says hello with its credit, takes requests in order, answers each', async () => {
    const w = await world([1, 2]);
    const client = open(w);
    client.stream.send(hello);
    for (let id = 1; id <= 5; id += 1) client.send(id, `${id}`);
    await w.clock.advance(100);
    expect(client.received[0]?.hello).toMatchObject({
      clusterId: CLUSTER_ID,
      brokerId: 1,
      version: 1,
    });
    expect(client.received[0]?.hello?.creditBytes).toBeGreaterThan(0);
    expect(client.answers()).toEqual([1, 2, 3, 4, 5].map((id) => [id, undefined]));
    expect(client.received.at(-1)?.response?.last).toBe(true);
    await w.close();
  });

  it('refuses another cluster, another broker, and whoever says no hello', async () => {
    const w = await world([1]);
    const cases: [ProduceUpInput, string][] = [
      [{ hello: { ...hello.hello, clusterId: 'other' } }, 'CLUSTER_MISMATCH'],
      [{ hello: { ...hello.hello, brokerId: 2 } }, 'BROKER_MISMATCH'],
      [{ hello: { ...hello.hello, minVersion: 9, maxVersion: 9 } }, 'UNSUPPORTED_VERSION'],
      [{ request: {} }, 'INVALID_ARGUMENT'],
    ];
    for (const [message, code] of cases) {
      const client = open(w);
      client.stream.send(message);
      await w.clock.advance(100);
      expect(client.closed()).toBe(code);
    }
    const silent = open(w);
    await w.clock.advance(11_000);
    expect(silent.closed()).toBe('TIMEOUT');
    await w.close();
  });

  it('acks 0 gets no answer, and its credit back', async () => {
    const w = await world([1], { produceCreditBytes: 1_000 });
    const client = open(w);
    client.stream.send(hello);
    for (let id = 1; id <= 4; id += 1) client.send(id, 'x'.repeat(200), 0);
    await w.clock.advance(100);
    expect(client.answers()).toEqual([]);
    const credit = client.received.reduce((sum, { credit: one }) => sum + (one?.bytes ?? 0), 0);
    expect(credit).toBeGreaterThanOrEqual(800);
    expect(w.log(1).logEndOffset).toBe(4);
    await w.close();
  });

  it('what exceeds the credit of the stream is refused unread, one request may overdraw it', async () => {
    const w = await world([1, 2], { produceCreditBytes: 500 });
    w.network.partition('b1', 'b2');
    const client = open(w);
    client.stream.send(hello);
    for (let id = 1; id <= 3; id += 1) client.send(id, 'x'.repeat(400));
    await w.clock.advance(50);
    expect(client.answers()).toEqual([[3, 'OVERLOADED']]);
    expect(w.log(1).logEndOffset).toBe(2);
    await w.close();
  });

  it('what is refused unread gives its credit back, or a client without acks would run dry', async () => {
    const w = await world([1, 2], { produceCreditBytes: 1_000, maxInFlightBytes: 500 });
    w.network.partition('b1', 'b2');
    const [full, client] = [open(w), open(w)];
    for (const { stream } of [full, client]) stream.send(hello);
    full.send(1, 'x'.repeat(400));
    await w.clock.advance(10);
    for (let id = 1; id <= 4; id += 1) client.send(id, 'x'.repeat(200), 0);
    await w.clock.advance(10);
    expect(w.log(1).logEndOffset).toBe(1);
    const credit = client.received.reduce((sum, { credit: one }) => sum + (one?.bytes ?? 0), 0);
    expect(credit).toBeGreaterThanOrEqual(800);
    await w.close();
  });

  it('the unanswered bytes of the whole broker are bounded', async () => {
    const w = await world([1, 2], { maxInFlightBytes: 900 });
    w.network.partition('b1', 'b2');
    const clients = [open(w), open(w), open(w)];
    for (const client of clients) {
      client.stream.send(hello);
      client.send(1, 'x'.repeat(300));
    }
    await w.clock.advance(50);
    const refused = clients.flatMap((client) => client.answers());
    expect(refused).toEqual([[1, 'OVERLOADED']]);
    await w.close();
  });

  it('a client that half-closes still gets its answers, and then the end', async () => {
    const w = await world([1, 2]);
    const client = open(w);
    client.stream.send(hello);
    client.send(1, 'a');
    client.stream.end();
    await w.clock.advance(100);
    expect(client.answers()).toEqual([[1, undefined]]);
    expect(client.closed()).toBe('ended');
    await w.close();
  });
});
