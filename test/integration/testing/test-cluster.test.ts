import { startTestCluster, type TestCluster } from '@tributary/testing';

let cluster: TestCluster;

beforeAll(async () => {
  cluster = await startTestCluster({ brokers: 3 });
}, 30_000);

afterAll(() => cluster?.close());

test('records survive the death of a broker, and it comes back', async () => {
  const client = cluster.client();
  await client.admin().createTopic({ topic: 'orders', partitions: 3, replicationFactor: 3 });
  const producer = client.producer();
  const sendAll = (from: string) =>
    Promise.all(
      [0, 1, 2].map((partition) =>
        producer.send('orders', { partition, key: null, value: Buffer.from(from) }),
      ),
    );
  await sendAll('before');
  await cluster.kill(1);
  await sendAll('while it was away');
  await cluster.start(1);
  await sendAll('after');

  const { partitions } = await client.admin().describeTopic('orders');
  expect(partitions.map(({ endOffset }) => endOffset)).toEqual([3n, 3n, 3n]);
}, 60_000);

test('a cluster of no brokers is refused', async () => {
  await expect(startTestCluster({ brokers: 0 })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
  });
});

test('with a short session another broker takes over from a controller that died', async () => {
  const short = await startTestCluster({ brokers: 3, sessionTimeoutMs: 2_000 });
  try {
    const client = short.client();
    const admin = client.admin();
    await admin.createTopic({ topic: 'orders', partitions: 3, replicationFactor: 3 });
    const { controllerId } = await admin.describeCluster();
    await short.kill(controllerId!);
    // One of the partitions was led by it: only the next controller elects another leader. The client's own patience
    // is less than the standard session.
    const producer = client.producer({ deliveryTimeoutMs: 8_000 });
    const sent = [0, 1, 2].map((partition) =>
      producer.send('orders', { partition, value: Buffer.from('x') }),
    );
    await expect(Promise.all(sent)).resolves.toHaveLength(3);
  } finally {
    await short.close();
  }
}, 60_000);
