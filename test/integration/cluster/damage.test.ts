/**
 * Real brokers, real files: bytes are changed behind their back. What was written is read right throughout; a damaged
 * replica is refilled from its peers; a partition that has no other replica serves again once somebody accepts the loss.
 */
import { closeSync, openSync, readdirSync, readFileSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { createClient, string, type Client } from '@tributary/client';
import { checkHistory, DevCluster, History } from '@tributary/testkit';
import { readAll, Workload } from '../../chaos/workload';
import { trib } from './trib';

const IDS = [1, 2, 3];
/** Of a batch in the middle of a sealed segment: bytes before the CRC's, the CRC, a record. */
const BYTES_OF_A_BATCH = { 'base offset': 7, length: 10, 'leader epoch': 15, magic: 16, CRC: 19, record: 90 }; // prettier-ignore

describe('a byte is wrong', () => {
  let cluster: DevCluster;
  let client: Client;

  beforeAll(async () => {
    cluster = await DevCluster.start({ brokers: 3 });
    client = createClient({ brokers: cluster.addresses, clientId: 'damage' });
  }, 60_000);

  afterAll(async () => {
    await client?.close();
    await cluster?.stop();
  });

  const directoryOf = (id: number, topic: string): string =>
    join(cluster.directory, `broker-${id}`, `${topic}-0`);

  function filesOf(id: number, topic: string, suffix = '.log'): string[] {
    const names = readdirSync(directoryOf(id, topic)).filter((name) => name.endsWith(suffix));
    return names.sort().map((name) => join(directoryOf(id, topic), name));
  }

  async function leaderOf(topic: string): Promise<number> {
    for (;;) {
      const { partitions } = await client.admin().describeTopic(topic, { offsets: false });
      const leader = partitions[0]?.leader;
      if (leader !== undefined) return leader;
      await pause(50);
    }
  }

  async function epochOf(topic: string): Promise<number> {
    const { partitions } = await client.admin().describeTopic(topic, { offsets: false });
    return partitions[0]?.leaderEpoch ?? -1;
  }

  async function untilInSync(topic: string, timeoutMs = 20_000): Promise<void> {
    const end = performance.now() + timeoutMs;
    for (;;) {
      const { partitions } = await client.admin().describeTopic(topic, { offsets: false });
      const [{ isr, offlineReplicas, leader } = fail()] = partitions;
      if (leader !== undefined && isr.length === 3 && offlineReplicas.length === 0) return;
      if (performance.now() > end) throw new Error(JSON.stringify(partitions));
      await pause(50);
    }
  }

  /** All segments of all replicas, once nothing is written any more. */
  function expectSameBytes(topic: string): void {
    const contents = IDS.map((id) => Buffer.concat(filesOf(id, topic).map((path) => readFileSync(path)))); // prettier-ignore
    expect(contents[1]?.equals(contents[0] as Buffer)).toBe(true);
    expect(contents[2]?.equals(contents[0] as Buffer)).toBe(true);
  }

  async function createTopic(topic: string, replicationFactor: number): Promise<void> {
    const configs = { 'segment.bytes': '16384' };
    await client.admin().createTopic({ topic, partitions: 1, replicationFactor, configs });
  }

  test('in a sealed segment of the leader, in every field of a batch, under load', async () => {
    const topic = 'replicated';
    await createTopic(topic, 3);
    const history = new History();
    const options = { topic, partitions: 1, recordsPerSecond: 400, recordBytes: 200 };
    const workload = new Workload(client, history, options, () => undefined);
    workload.start();
    await pause(1_000);
    for (const at of Object.values(BYTES_OF_A_BATCH)) {
      const leader = await leaderOf(topic);
      const epoch = await epochOf(topic);
      const [, path = ''] = filesOf(leader, topic);
      change(path, secondBatch(path) + at);
      const found = performance.now();
      await readAll(client, new History(), topic);
      expect(performance.now() - found).toBeLessThan(10_000);
      // Another led it; by now it may have been refilled, and have got its partition back as the preferred leader.
      expect(await epochOf(topic)).toBeGreaterThan(epoch);
      await untilInSync(topic);
    }
    await workload.stop();
    await readAll(client, history, topic);
    expect(checkHistory(history)).toMatchObject({ lost: 0, duplicated: 0, reordered: 0, unknown: 0, examples: [] }); // prettier-ignore
    await untilInSync(topic);
    await pause(500);
    expectSameBytes(topic);
    for (const id of IDS) {
      const aside = readdirSync(join(directoryOf(id, topic), '..'));
      expect(aside.filter((name) => name.includes('damaged'))).toEqual([]);
    }
  }, 120_000);

  test('in an index: it is built again, nothing goes offline, everything is read', async () => {
    const topic = 'indexed';
    await createTopic(topic, 3);
    await produce(topic, 600);
    const leader = await leaderOf(topic);
    const index = filesOf(leader, topic, '.index').find((path) => readFileSync(path).length > 8);
    change(index as string, 5);
    await cluster.kill(leader, 'SIGTERM');
    await cluster.startBroker(leader);
    await untilInSync(topic);
    expect(await consume(topic)).toEqual(range(600));
    expectSameBytes(topic);
  }, 60_000);

  test('of the only replica: offline, with file and position; the loss is accepted, the consumer goes on', async () => {
    const topic = 'single';
    await createTopic(topic, 1);
    await produce(topic, 600);
    const leader = await leaderOf(topic);
    const [, path = ''] = filesOf(leader, topic);
    change(path, secondBatch(path) + BYTES_OF_A_BATCH.record);

    const consumer = client.consumer({ assign: [{ topic, partition: 0, offset: 0n }], value: string() }); // prettier-ignore
    const seen: number[] = [];
    const reading = (async () => {
      for await (const { offset } of consumer) {
        seen.push(Number(offset));
        if (offset === 600n) break;
      }
    })();
    const brokers = ['--brokers', cluster.addresses.join(',')];
    await until(async () => {
      const { partitions } = await client.admin().describeTopic(topic, { offsets: false });
      return partitions[0]?.offlineReplicas.length === 1;
    });
    const described = await trib(['topic', 'describe', topic, ...brokers]);
    expect(described.stderr).toContain(`partition 0 is offline on broker ${leader}: cannot read`);
    expect(described.stderr).toContain(path);
    expect(seen).toEqual(range(seen.length));

    const command = ['partition', 'accept-loss', topic, '0', '--broker', String(leader), ...brokers]; // prettier-ignore
    const asked = await trib(command);
    expect(asked.code).toBe(4);
    expect(asked.stderr).toContain('would be lost for good');
    const accepted = await trib([...command, '--yes', '-o', 'json']);
    expect(accepted).toMatchObject({ code: 0 });
    const { lost, endOffset } = JSON.parse(accepted.stdout.toString()) as {
      lost: { fromOffset: string; toOffset: string; file: string; position: number }[];
      endOffset: string;
    };
    expect(lost).toHaveLength(1);
    expect(lost[0]).toMatchObject({ file: path, position: secondBatch(path) });
    expect(endOffset).toBe('600');

    await produce(topic, 1);
    await reading;
    await consumer.close();
    const [from, to] = [Number(lost[0]!.fromOffset), Number(lost[0]!.toOffset)];
    expect(to).toBeGreaterThan(from);
    expect(seen).toEqual(range(601).filter((offset) => offset < from || offset >= to));

    // It is as it is, also after a restart.
    await cluster.kill(leader);
    await cluster.startBroker(leader);
    expect(await consume(topic)).toEqual(seen);
    const again = await trib([...command, '--yes']);
    expect(again.stderr).toContain('nothing of single-0');
  }, 60_000);

  async function produce(topic: string, count: number): Promise<void> {
    const producer = client.producer({ lingerMs: 1 });
    const sends: Promise<unknown>[] = [];
    for (let i = 0; i < count; i += 1) {
      sends.push(producer.send(topic, { value: Buffer.alloc(200, `${i} `) }));
      if (i % 10 === 9) await Promise.all(sends.splice(0));
    }
    await Promise.all(sends);
    await producer.close();
  }

  /** Offsets from the start to the end of now. */
  async function consume(topic: string): Promise<number[]> {
    await leaderOf(topic);
    const { partitions } = await client.admin().describeTopic(topic);
    const end = partitions[0]?.endOffset ?? 0n;
    const consumer = client.consumer({ assign: [{ topic, partition: 0, offset: 0n }] });
    const seen: number[] = [];
    for await (const { offset } of consumer) {
      seen.push(Number(offset));
      if (offset + 1n >= end) break;
    }
    await consumer.close();
    return seen;
  }
});

function range(count: number): number[] {
  return Array.from({ length: count }, (_, i) => i);
}

function fail(): never {
  throw new Error('the topic has no partition');
}

async function until(condition: () => Promise<boolean>, timeoutMs = 20_000): Promise<void> {
  const end = performance.now() + timeoutMs;
  while (!(await condition())) {
    if (performance.now() > end) throw new Error('it did not come to that');
    await pause(100);
  }
}

/** Where the second batch of a segment begins. */
function secondBatch(path: string): number {
  return 12 + readFileSync(path).readInt32BE(8);
}

/** One bit of it. */
function change(path: string, position: number): void {
  const file = openSync(path, 'r+');
  try {
    const byte = Buffer.alloc(1);
    readSync(file, byte, 0, 1, position);
    byte.writeUInt8(byte.readUInt8(0) ^ 1, 0);
    writeSync(file, byte, 0, 1, position);
  } finally {
    closeSync(file);
  }
}
