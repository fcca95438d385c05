/**
 * A real broker with two log directories, of which one goes away under it: what lies in the other one goes on, a restart
 * works, and when the directory is back, so is everything. On a real ZooKeeper and real files.
 */
import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PortReservation } from '@tributary/cli';
import { createClient, type Client } from '@tributary/client';
import { TestEnsemble } from '@tributary/testkit';
import { brokerFlags, BrokerProgram } from './broker-program';

const TOPIC = 'orders';
const PARTITIONS = 4;
const PATIENCE_MS = 20_000;

let ensemble: TestEnsemble;
let reservation: PortReservation;
let directory: string;
let running: BrokerProgram | undefined;
let client: Client | undefined;

beforeAll(async () => {
  ensemble = await TestEnsemble.start();
  reservation = await PortReservation.take(2);
  directory = mkdtempSync(join(tmpdir(), 'tributary-log-directories-'));
}, 60_000);

afterAll(async () => {
  await client?.close();
  await running?.kill('SIGKILL');
  await ensemble?.stop();
  reservation?.release();
  if (directory) rmSync(directory, { recursive: true, force: true });
});

const get = async (path: string): Promise<Response> =>
  fetch(`http://127.0.0.1:${reservation.ports[1]}${path}`);

async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + PATIENCE_MS;
  while (!(await condition().catch(() => false))) {
    if (performance.now() > end) throw new Error(`not within ${PATIENCE_MS} ms`);
    await pause(50);
  }
}

const offline = async (): Promise<number[]> => {
  const { partitions } = await client!.admin().describeTopic(TOPIC, { offsets: false });
  return partitions.filter(({ leader }) => leader === undefined).map(({ partition }) => partition);
};

/** Everything that this partition holds. */
async function read(partition: number, count: number): Promise<string[]> {
  const consumer = client!.consumer({ assign: [{ topic: TOPIC, partition, offset: 0n }] });
  const values: string[] = [];
  for await (const { value } of consumer) {
    values.push(Buffer.from(value as Uint8Array).toString());
    if (values.length === count) break;
  }
  await consumer.close();
  return values;
}

test('one of two directories goes away and comes back', async () => {
  const [good, bad] = [join(directory, 'good'), join(directory, 'bad')];
  const args = [
    ...brokerFlags({
      id: 1,
      dataDir: join(directory, 'data'),
      zookeeper: `${ensemble.zooKeeper.connectString}${ensemble.newChroot()}`,
      port: reservation.ports[0]!,
      httpPort: reservation.ports[1]!,
    }),
    ...['--log-dirs', `${good},${bad}`],
  ];
  const start = async (): Promise<Record<string, unknown>> => {
    running = new BrokerProgram(args);
    await running.logged('broker started');
    await until(async () => (await get('/readyz')).status === 200);
    return running.logged('logs are open');
  };
  const health = async (): Promise<string> => (await get('/readyz')).text();
  const produce = (partition: number, value: string): Promise<unknown> =>
    producer.send(TOPIC, { partition, key: null, value: Buffer.from(value) });

  expect(await start()).toMatchObject({ previousStop: 'first' });
  client = createClient({ brokers: [`127.0.0.1:${reservation.ports[0]}`] });
  const producer = client.producer({ deliveryTimeoutMs: 20_000 });
  await client.admin().createTopic({ topic: TOPIC, partitions: PARTITIONS, replicationFactor: 1 });
  for (let partition = 0; partition < PARTITIONS; partition += 1) {
    await produce(partition, `first ${partition}`);
  }
  const inBad = partitionsIn(bad);
  const inGood = partitionsIn(good);
  expect([inBad.length, inGood.length]).toEqual([2, 2]);

  // Under the running broker.
  renameSync(bad, `${bad}.away`);
  writeFileSync(bad, '');
  await until(async () => (await offline()).length === 2);
  expect(await offline()).toEqual(inBad);
  for (const partition of inGood) await produce(partition, `second ${partition}`);
  expect(await health()).toContain(`${bad} is offline`);
  expect(await (await get('/metrics')).text()).toContain(
    `tributary_log_directory_online{directory="${bad}"} 0`,
  );

  // Started without it.
  await running!.kill('SIGKILL');
  expect(await start()).toMatchObject({ previousStop: 'process' });
  await until(async () => (await offline()).length === 2);
  for (const partition of inGood) {
    await produce(partition, `third ${partition}`);
    const values = [`first ${partition}`, `second ${partition}`, `third ${partition}`];
    expect(await read(partition, 3)).toEqual(values);
  }
  expect(await health()).toContain(`${bad} is offline`);
  expect(partitionsIn(good)).toEqual(inGood); // nothing was made anew

  // Back, with its data.
  expect((await running!.kill('SIGTERM')).code).toBe(0);
  rmSync(bad);
  renameSync(`${bad}.away`, bad);
  await start();
  await until(async () => (await offline()).length === 0);
  for (const partition of inBad) {
    await produce(partition, `fourth ${partition}`);
    expect(await read(partition, 2)).toEqual([`first ${partition}`, `fourth ${partition}`]);
  }
  expect(await health()).not.toContain('offline');
}, 90_000);

function partitionsIn(path: string): number[] {
  return readdirSync(path)
    .flatMap((name) => /^orders-([0-9]+)$/.exec(name)?.[1] ?? [])
    .map(Number)
    .sort();
}
