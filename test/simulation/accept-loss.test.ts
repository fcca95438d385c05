/** A person accepts a loss: whole brokers with their controller, a client, disks on which a bit flips. */
import { string, type Client } from '@tributary/client';
import { SimulatedCluster } from '@tributary/testkit';

const TOPIC = 'orders';
const MINUTE = 60_000;

let cluster: SimulatedCluster;
let client: Client;

async function begin(replicationFactor: number): Promise<number> {
  cluster = new SimulatedCluster({ seed: 5 });
  return run(async () => {
    await cluster.start();
    client = cluster.client('client');
    const configs = { 'segment.bytes': '1024', 'min.insync.replicas': '1' };
    await client.admin().createTopic({ topic: TOPIC, partitions: 1, replicationFactor, configs });
    await write(20);
    return cluster.leadersOf(0)[0]!;
  });
}

afterEach(() => cluster.run(() => cluster.stop(), MINUTE));

const run = <T>(work: () => Promise<T>): Promise<T> => cluster.run(work, 5 * MINUTE);

async function write(count: number): Promise<void> {
  const producer = client.producer({ value: string() });
  for (let i = 0; i < count; i += 1) await producer.send(TOPIC, { value: 'x'.repeat(100) });
  await producer.close();
}

/** Of the first batch in the second segment, whose offset it gives. */
function damage(brokerId: number): number {
  const { disk } = cluster.broker(brokerId);
  const logs = disk.list(`/data/${TOPIC}-0`).filter((name) => name.endsWith('.log'));
  disk.flipBit(`/data/${TOPIC}-0/${logs[1]}`, 90);
  return Number(logs[1]!.slice(0, 20));
}

/** Offsets from the start to the end of now. */
async function read(): Promise<number[]> {
  const end = (await client.admin().listOffsets(TOPIC, 'latest'))[0]!.offset!;
  const consumer = client.consumer({ assign: [{ topic: TOPIC, partition: 0, offset: 0n }] });
  const seen: number[] = [];
  for await (const { offset } of consumer) {
    seen.push(Number(offset));
    if (offset + 1n >= end) break;
  }
  await consumer.close();
  return seen;
}

/** By the next who reads it. */
async function untilFound(brokerId: number): Promise<void> {
  const consumer = client.consumer({ assign: [{ topic: TOPIC, partition: 0, offset: 0n }] });
  const reading = (async () => {
    for await (const _record of consumer) continue;
  })();
  const partition = () => cluster.broker(brokerId).status?.partitions[0];
  await cluster.until(() => partition()?.outage === 'damaged', MINUTE);
  await consumer.close();
  await reading;
}

const range = (count: number): number[] => Array.from({ length: count }, (_, i) => i);

describe('replication factor 1', () => {
  test('no leader until the loss is accepted; then all but the lost record is read, and written on', async () => {
    const owner = await begin(1);
    const lost = damage(owner);
    await run(async () => {
      await untilFound(owner);
      await cluster.until(() => cluster.leadersOf(0).length === 0, 2_000);
      const { partitions } = await client.admin().describeTopic(TOPIC);
      expect(partitions[0]).toMatchObject({ leader: undefined, isr: [owner] });
      expect(partitions[0]!.offlineReplicas).toMatchObject([{ brokerId: owner }]);
      expect(partitions[0]!.offlineReplicas[0]!.reason).toContain(`/data/${TOPIC}-0/`);
      const accepted = await client.admin().acceptLoss(TOPIC, 0, { brokerId: owner });
      expect(accepted.lost).toMatchObject([{ fromOffset: BigInt(lost), toOffset: BigInt(lost + 1), position: 0 }]); // prettier-ignore
      await write(5);
      expect(await read()).toEqual(range(25).filter((offset) => offset !== lost));
    });
  });

  test('the broker is killed and started before anybody accepts: still offline, and it can be accepted then', async () => {
    const owner = await begin(1);
    const lost = damage(owner);
    await run(async () => {
      await untilFound(owner);
      cluster.crash(owner);
      await cluster.restart(owner);
      await cluster.until(
        () => cluster.broker(owner).status?.partitions[0]?.outage === 'damaged',
        MINUTE,
      );
      expect(cluster.leadersOf(0)).toEqual([]);
      await client.admin().acceptLoss(TOPIC, 0, { brokerId: owner });
      expect(await read()).toEqual(range(20).filter((offset) => offset !== lost));
    });
  });

  test('the controller is another one when it is accepted', async () => {
    const owner = await begin(1);
    damage(owner);
    await run(async () => {
      await untilFound(owner);
      const controller = cluster.controllerId!;
      if (controller !== owner) cluster.crash(controller);
      await cluster.until(() => cluster.controllerId !== undefined, MINUTE);
      await client.admin().acceptLoss(TOPIC, 0, { brokerId: owner, timeoutMs: 30_000 });
      expect(await read()).toHaveLength(19);
    });
  });
});

describe('replication factor 3, the others are down', () => {
  test('forced: the others are cut at the loss when they return, and hold the same bytes', async () => {
    const owner = await begin(3);
    const others = cluster.brokerIds.filter((id) => id !== owner);
    const lost = damage(owner);
    await run(async () => {
      for (const id of others) cluster.crash(id);
      await untilFound(owner);
      await cluster.until(() => cluster.controllerId === owner, MINUTE);
      const accept = (force: boolean): Promise<unknown> =>
        client.admin().acceptLoss(TOPIC, 0, { brokerId: owner, force, timeoutMs: 30_000 });
      const { partitions } = await client.admin().describeTopic(TOPIC);
      if (partitions[0]!.isr.length > 1) {
        await expect(accept(false)).rejects.toMatchObject({ code: 'INELIGIBLE_REPLICA' });
      }
      await accept(true);
      await write(5);
      await Promise.all(others.map((id) => cluster.restart(id)));
      const isr = async () =>
        (await client.admin().describeTopic(TOPIC, { offsets: false })).partitions[0]!.isr;
      while ((await isr()).length < 3) await write(1);
      const bytes = cluster.brokerIds.map((id) => bytesOf(id));
      expect(bytes[1]!.equals(bytes[0]!)).toBe(true);
      expect(bytes[2]!.equals(bytes[0]!)).toBe(true);
      expect(await read()).not.toContain(lost);
    });
  });
});

function bytesOf(brokerId: number): Buffer {
  const { disk } = cluster.broker(brokerId);
  const names = disk.list(`/data/${TOPIC}-0`).filter((name) => name.endsWith('.log'));
  return Buffer.concat(
    names.map((name) => {
      const file = disk.openFile(`/data/${TOPIC}-0/${name}`);
      return file.read(0, file.size);
    }),
  );
}
