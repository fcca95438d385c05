/** Signals, orderly and other ends of the broker process, and its way back. On a real ZooKeeper. */
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PortReservation } from '@tributary/cli';
import { TestEnsemble } from '@tributary/testkit';
import { brokerFlags, BrokerProgram } from './broker-program';

let ensemble: TestEnsemble;
let reservation: PortReservation;
let directory: string;
let args: string[];
let httpPort: number;

beforeAll(async () => {
  ensemble = await TestEnsemble.start();
  reservation = await PortReservation.take(2);
}, 60_000);

afterAll(async () => {
  await ensemble?.stop();
  reservation?.release();
});

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tributary-broker-life-'));
  httpPort = reservation.ports[1]!;
  args = brokerFlags({
    id: 1,
    dataDir: directory,
    zookeeper: `${ensemble.zooKeeper.connectString}${ensemble.newChroot()}`,
    port: reservation.ports[0]!,
    httpPort,
  });
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

test.each(['SIGTERM', 'SIGINT'] as const)('%s: an orderly end, exit code 0', async (signal) => {
  const broker = new BrokerProgram(args);
  await broker.logged('broker started');
  const { code, stderr, stdout } = await broker.kill(signal);
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toContain('"message":"stopped"');
  expect(existsSync(join(directory, 'zookeeper-session.json'))).toBe(false);
});

test('a signal while it still waits for ZooKeeper ends it, too', async () => {
  const broker = new BrokerProgram([...args, '--zookeeper', '127.0.0.1:1']);
  await broker.logged('waiting for ZooKeeper');
  const { code, stderr } = await broker.kill('SIGTERM');
  expect([code, stderr]).toEqual([0, '']);
});

test('after kill -9 the next process ends the old session and is there again in a new broker epoch', async () => {
  const first = new BrokerProgram(args);
  const { brokerEpoch } = await first.logged('broker started');
  await first.kill('SIGKILL');
  const second = new BrokerProgram(args);
  const again = await second.logged('broker started');
  expect(again['brokerEpoch']).toBeGreaterThan(brokerEpoch as number);
  await second.kill('SIGTERM');
});

test('/livez, /readyz, /version and /metrics are answered', async () => {
  const broker = new BrokerProgram(args);
  await broker.logged('broker started');
  const get = (path: string) => fetch(`http://127.0.0.1:${httpPort}${path}`);
  expect((await get('/livez')).status).toBe(200);
  expect(await (await get('/version')).json()).toMatchObject({ brokerId: 1 });
  expect(await (await get('/readyz')).json()).toMatchObject({
    checks: [{ name: 'lifecycle' }, { name: 'broker' }, { name: 'log directories' }],
  });
  const metrics = await (await get('/metrics')).text();
  expect(metrics).toContain('tributary_broker_registered 1\n');
  await broker.kill('SIGTERM');
});
