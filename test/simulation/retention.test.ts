/**
 * Old records vanish from a whole cluster: real brokers with real logs, a producer and consumers, on a simulated clock.
 */
import { SimulatedCluster } from '@tributary/testkit';
import { string, type Client } from '@tributary/client';

const TOPIC = 'orders';
const MINUTE = 60_000;
const ALL = [1, 2, 3];

let cluster: SimulatedCluster;
let client: Client;

async function begin(configs: Record<string, string>): Promise<void> {
  cluster = new SimulatedCluster({ seed: 11 });
  const setUp = async (): Promise<void> => {
    await cluster.start();
    client = cluster.client('client');
    await client
      .admin()
      .createTopic({ topic: TOPIC, partitions: 1, replicationFactor: 3, configs });
  };
  await cluster.run(setUp, MINUTE);
}

afterEach(() => cluster.run(() => cluster.stop(), MINUTE));

const run = <T>(work: () => Promise<T>): Promise<T> => cluster.run(work, 5 * MINUTE);

async function write(count: number): Promise<void> {
  const producer = client.producer({ value: string() });
  for (let i = 0; i < count; i += 1) await producer.send(TOPIC, { value: 'x'.repeat(200) });
  await producer.close();
}

/** Of the replicas on these brokers. */
const starts = (): (number | undefined)[] =>
  ALL.map((id) => cluster.broker(id).status?.partitions[0]?.logStartOffset);

/** Offsets that a new consumer sees until the end. */
async function read(from: 'earliest' | bigint): Promise<number[]> {
  const consumer = client.consumer({
    from: 'earliest',
    onOutOfRange: 'earliest',
    ...(typeof from === 'bigint'
      ? { assign: [{ topic: TOPIC, partition: 0, offset: from }] }
      : { topics: [TOPIC] }),
  });
  const end = (await client.admin().listOffsets(TOPIC, 'latest'))[0]!.offset!;
  const seen: number[] = [];
  for await (const { offset } of consumer) {
    seen.push(Number(offset));
    if (offset === end - 1n) break;
  }
  await consumer.close();
  return seen;
}

test('records older than retention.ms vanish on all replicas; consumers begin where the log starts now', async () => {
  await begin({ 'retention.ms': String(MINUTE), 'segment.bytes': '1024' });
  await run(() => write(20));
  await cluster.clock.advance(1.5 * MINUTE);
  await run(() => write(5));
  await cluster.clock.advance(MINUTE / 2);
  const [leaderStart] = starts();
  expect(leaderStart).toBeGreaterThanOrEqual(18);
  expect(leaderStart).toBeLessThanOrEqual(20);
  expect(starts()).toEqual([leaderStart, leaderStart, leaderStart]);
  const expected = Array.from({ length: 25 - leaderStart! }, (_, i) => leaderStart! + i);
  expect(await run(() => read('earliest'))).toEqual(expected);
  expect(await run(() => read(3n))).toEqual(expected);
  const [earliest] = await run(() => client.admin().listOffsets(TOPIC, 'earliest'));
  expect(earliest?.offset).toBe(BigInt(leaderStart!));
});

test('a topic whose settings keep everything keeps it, over restarts that begin with the default settings', async () => {
  await begin({ 'retention.ms': '-1', 'segment.bytes': '1024' });
  await run(() => write(10));
  cluster.clock.jumpWallTime(400 * 24 * 60 * MINUTE);
  for (const id of ALL) {
    cluster.crash(id);
    await run(() => cluster.restart(id));
  }
  await cluster.clock.advance(2 * MINUTE);
  expect(starts()).toEqual([0, 0, 0]);
  expect(await run(() => read('earliest'))).toHaveLength(10);
});

test('trimmed records are gone on every replica at once, and after the leader has died; not above the end', async () => {
  await begin({ 'segment.bytes': '1024' });
  await run(() => write(20));
  const admin = client.admin();
  expect(await run(() => admin.deleteRecords(TOPIC, { 0: 7n }))).toEqual([
    { partition: 0, startOffset: 7n },
  ]);
  expect(starts()).toEqual([7, 7, 7]);
  await expect(run(() => admin.deleteRecords(TOPIC, { 0: 21n }))).rejects.toMatchObject({
    code: 'OFFSET_OUT_OF_RANGE',
  });
  const [leader] = cluster.leadersOf(0);
  cluster.crash(leader!);
  expect((await run(() => read('earliest')))[0]).toBe(7);
  await run(() => cluster.restart(leader!));
  await cluster.clock.advance(MINUTE);
  expect(starts()).toEqual([7, 7, 7]);
  expect(await run(() => admin.deleteRecords(TOPIC, { 0: 'latest' }))).toEqual([
    { partition: 0, startOffset: 20n },
  ]);
  await run(() => write(2));
  expect(await run(() => read(3n))).toEqual([20, 21]);
  const strict = client.consumer({
    assign: [{ topic: TOPIC, partition: 0, offset: 3n }],
    onOutOfRange: 'fail',
  });
  await expect(run(() => strict[Symbol.asyncIterator]().next())).rejects.toMatchObject({
    code: 'OFFSET_OUT_OF_RANGE',
  });
});

test('a broker that was down while what it lacks was deleted begins anew at the log start', async () => {
  await begin({ 'retention.ms': String(MINUTE), 'segment.bytes': '1024' });
  await run(() => write(6));
  const away = ALL.find((id) => !cluster.leadersOf(0).includes(id))!;
  cluster.crash(away);
  await run(() => write(20));
  await cluster.clock.advance(2 * MINUTE);
  await run(() => write(3));
  await run(() => cluster.restart(away));
  const caughtUp = (): boolean =>
    cluster.broker(away).status?.partitions[0]?.logEndOffset === 29 &&
    starts().every((start) => start! >= 25);
  await run(() => cluster.until(caughtUp, 2 * MINUTE));
  expect(await run(() => read('earliest'))).toContain(28);
});
