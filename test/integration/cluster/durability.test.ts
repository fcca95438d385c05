/**
 * What real processes on a real ZooKeeper must survive, with records flowing all the time: all brokers killed
 * at once, ZooKeeper stopped and continued, a topic deleted and created again.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, type Client } from '@tributary/client';
import { checkHistory, DevCluster, History } from '@tributary/testkit';
import { readAll, Workload } from '../../chaos/workload';

const PARTITIONS = 4;

describe('a cluster of three brokers under load', () => {
  let cluster: DevCluster;
  let client: Client;

  beforeAll(async () => {
    cluster = await DevCluster.start({ brokers: 3 });
    client = createClient({ brokers: cluster.addresses, clientId: 'durability' });
  }, 60_000);

  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });

  async function loadDuring(topic: string, fault: () => Promise<void>): Promise<History> {
    await client.admin().createTopic({ topic, partitions: PARTITIONS, replicationFactor: 3 });
    const history = new History();
    const options = { topic, partitions: PARTITIONS, recordsPerSecond: 800, recordBytes: 100 };
    const workload = new Workload(client, history, options, () => undefined);
    workload.start();
    await pause(1000);
    await fault();
    await pause(1000);
    await workload.stop();
    await readAll(client, history, topic);
    return history;
  }

  async function leaders(topic: string): Promise<string[]> {
    const { partitions } = await client.admin().describeTopic(topic);
    return partitions.map(
      ({ partition, leader, leaderEpoch }) => `${partition}: ${leader} in epoch ${leaderEpoch}`,
    );
  }

  const nothingWrong = {
    lost: 0,
    duplicated: 0,
    reordered: 0,
    readAboveHighWatermark: 0,
    resurrected: 0,
    nonMonotonic: 0,
    examples: [],
  };

  test('ZooKeeper is stopped for 5 s and continued: no leader moves, no write fails, none is lost', async () => {
    let before: string[] = [];
    const history = await loadDuring('paused-zookeeper', async () => {
      before = await leaders('paused-zookeeper');
      for (const node of cluster.zookeeperNodes) await node.pause();
      await pause(5000);
      for (const node of cluster.zookeeperNodes) await node.resume();
    });
    expect(await leaders('paused-zookeeper')).toEqual(before);
    expect(checkHistory(history)).toMatchObject({ ...nothingWrong, unknown: 0 });
    expect(history.writes.filter(({ result }) => result.fate !== 'acknowledged')).toEqual([]);
  }, 60_000);

  test('all three brokers are killed at once and started again: nothing acknowledged is lost', async () => {
    const history = await loadDuring('all-killed', async () => {
      await Promise.all([1, 2, 3].map((id) => cluster.kill(id)));
      await Promise.all([1, 2, 3].map((id) => cluster.startBroker(id)));
    });
    const verdict = checkHistory(history);
    expect(verdict).toMatchObject(nothingWrong);
    expect(verdict.acked).toBeGreaterThan(800);
  }, 90_000);

  test('a topic is deleted and created again under load: nothing of the old one appears in the new', async () => {
    const topic = 'again';
    const admin = client.admin();
    const first = await admin.createTopic({ topic, partitions: 2, replicationFactor: 3 });
    const producer = client.producer({ deliveryTimeoutMs: 20_000 });
    const sends: Promise<{ life: string; written: boolean }>[] = [];
    let life = 'old';
    const load = setInterval(() => {
      const sent = life;
      for (const partition of [0, 1]) {
        sends.push(
          producer.send(topic, { partition, key: null, value: Buffer.from(sent) }).then(
            () => ({ life: sent, written: true }),
            () => ({ life: sent, written: false }),
          ),
        );
      }
    }, 5);
    try {
      await pause(700);
      life = 'between'; // from here on a send may wait for whatever topic has the name next
      await admin.deleteTopic(topic);
      const second = await admin.createTopic({ topic, partitions: 2, replicationFactor: 3 });
      expect(second.topicId).not.toBe(first.topicId);
      life = 'new';
      await pause(1000);
    } finally {
      clearInterval(load);
    }
    await producer.flush();
    await producer.close();
    const fates = await Promise.all(sends);
    expect(fates.filter((fate) => fate.life === 'old' && fate.written).length).toBeGreaterThan(0);

    const values = new Map<string, number>();
    const { partitions } = await admin.describeTopic(topic);
    for (const { partition, endOffset } of partitions) {
      const consumer = client.consumer({ assign: [{ topic, partition, offset: 0n }] });
      for await (const record of consumer) {
        const value = Buffer.from(record.value as Uint8Array).toString();
        values.set(value, (values.get(value) ?? 0) + 1);
        if (record.offset + 1n >= (endOffset ?? 0n)) break;
      }
      await consumer.close();
    }
    expect(values.get('old') ?? 0).toBe(0);
    const written = fates.filter((fate) => fate.life === 'new' && fate.written).length;
    expect(values.get('new')).toBeGreaterThanOrEqual(written);
    expect(written).toBeGreaterThan(0);
  }, 60_000);
});

describe('three ZooKeeper nodes', () => {
  test('the whole ensemble is down for three session times: sessions are resumed, no election, no loss', async () => {
    const sessionTimeoutMs = 2000;
    const cluster = await DevCluster.start({ brokers: 3, zookeeperNodes: 3, sessionTimeoutMs });
    const client = createClient({ brokers: cluster.addresses, clientId: 'durability' });
    try {
      const admin = client.admin();
      await admin.createTopic({ topic: 'steady', partitions: PARTITIONS, replicationFactor: 3 });
      const history = new History();
      const options = {
        topic: 'steady',
        partitions: PARTITIONS,
        recordsPerSecond: 400,
        recordBytes: 100,
      };
      const workload = new Workload(client, history, options, () => undefined);
      workload.start();
      await pause(500);
      const before = await admin.describeCluster();
      const leadersBefore = (await admin.describeTopic('steady')).partitions;
      await Promise.all(cluster.zookeeperNodes.map((node) => node.kill()));
      await pause(3 * sessionTimeoutMs);
      for (const node of cluster.zookeeperNodes) node.start();
      await Promise.all(cluster.zookeeperNodes.map((node) => node.waitReady(30_000)));
      await pause(sessionTimeoutMs);
      await workload.stop();
      await readAll(client, history, 'steady');

      const after = await admin.describeCluster();
      expect(after.controllerEpoch).toBe(before.controllerEpoch);
      expect(after.brokers.map(({ brokerEpoch }) => brokerEpoch)).toEqual(before.brokers.map(({ brokerEpoch }) => brokerEpoch)); // prettier-ignore
      const leadership = (partitions: typeof leadersBefore): unknown[] => partitions.map(({ leader, leaderEpoch }) => ({ leader, leaderEpoch })); // prettier-ignore
      expect(leadership((await admin.describeTopic('steady')).partitions)).toEqual(
        leadership(leadersBefore),
      );
      expect(checkHistory(history)).toMatchObject({
        lost: 0,
        duplicated: 0,
        reordered: 0,
        unknown: 0,
      });
    } finally {
      await client.close();
      await cluster.stop();
    }
  }, 90_000);
});
