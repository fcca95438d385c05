/**
 * A broker that cannot start says so in one line (what, why, what to do, code) and exits with the code's exit
 * code. Real processes on a real ZooKeeper.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { PortReservation } from '@tributary/cli';
import { FaultProxy, TestEnsemble } from '@tributary/testkit';
import { brokerFlags, BrokerProgram, refused } from './broker-program';

let ensemble: TestEnsemble;
let reservation: PortReservation;
let directory: string;
let zookeeper: string;
let taken = 0;
let running: BrokerProgram | undefined;

const nextPort = (): number => reservation.ports[taken++]!;

beforeAll(async () => {
  ensemble = await TestEnsemble.start();
  reservation = await PortReservation.take(40);
  directory = mkdtempSync(join(tmpdir(), 'tributary-bad-starts-'));
}, 60_000);

afterAll(async () => {
  await ensemble?.stop();
  reservation?.release();
  rmSync(directory, { recursive: true, force: true });
});

beforeEach(() => {
  zookeeper = `${ensemble.zooKeeper.connectString}${ensemble.newChroot()}`;
});

afterEach(async () => {
  await running?.kill('SIGKILL');
  running = undefined;
});

/** One that starts; ended after the test whatever becomes of it. */
async function started(args: string[]): Promise<BrokerProgram> {
  running = new BrokerProgram(args);
  await running.logged('broker started');
  return running;
}

function flags(name: string, more: { id?: number; port?: number; httpPort?: number } = {}) {
  const dataDir = join(directory, name);
  const ports = { port: nextPort(), httpPort: nextPort() };
  return brokerFlags({ id: 1, dataDir, zookeeper, ...ports, ...more });
}

async function occupied(port: number, work: () => Promise<void>): Promise<void> {
  const server: Server = createServer();
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  try {
    await work();
  } finally {
    server.close();
  }
}

test('a gRPC port in use', async () => {
  const port = nextPort();
  await occupied(port, async () => {
    const { code, lines } = await refused(flags('grpc-port', { port }));
    expect(lines).toEqual([
      expect.stringMatching(
        new RegExp(`^broker 1 cannot start: .*\\b${port}\\b.* in use.*code=ADDRESS_IN_USE$`),
      ),
    ]);
    expect(code).toBe(4);
  });
});

test('an HTTP port in use', async () => {
  const httpPort = nextPort();
  await occupied(httpPort, async () => {
    const { code, lines } = await refused(flags('http-port', { httpPort }));
    expect(lines).toEqual([
      `broker 1 cannot start: HTTP port ${httpPort} on 127.0.0.1 is in use. Stop the process that ` +
        'holds the port, or choose another one with --http-port. code=ADDRESS_IN_USE',
    ]);
    expect(code).toBe(4);
  });
});

test('an unreachable ZooKeeper: it waits for the start timeout, and says for whom', async () => {
  const nobody = `127.0.0.1:${nextPort()}`;
  const args = [...flags('no-zookeeper'), '--zookeeper', nobody, '--start-timeout-ms', '1000'];
  const { code, lines } = await refused(args);
  expect(lines).toEqual([
    expect.stringMatching(
      new RegExp(`^broker 1 cannot start: .*${nobody}.* 1000 ms.*code=COORDINATOR_UNAVAILABLE$`),
    ),
  ]);
  expect(code).toBe(6);
});

/** As of a process that was stopped: the system takes connections and bytes for it, and nothing ever comes back. */
test.each([
  ['before it answers at all', 0, /within 1000 ms/],
  ['in the middle of the registration', 6, /no answer/],
])('a ZooKeeper that stands still, %s: the start ends', async (_, answers, reason) => {
  const proxy = await FaultProxy.start(ensemble.zooKeeper.nodes[0]!.port);
  let requests = 0;
  const standStill = (): void => {
    if (requests >= answers) proxy.mode = 'drop';
    requests += 1;
  };
  proxy.onRequest = standStill;
  standStill();
  zookeeper = `${proxy.address}${ensemble.newChroot()}`;
  const timeouts = ['--start-timeout-ms', '1000', '--zookeeper-session-timeout-ms', '1000'];
  const { code, lines } = await refused([...flags(`still-${answers}`), ...timeouts]);
  await proxy.stop();
  expect(lines).toEqual([
    expect.stringMatching(/^broker 1 cannot start: .*code=COORDINATOR_UNAVAILABLE$/),
  ]);
  expect(lines[0]).toMatch(reason);
  expect(code).toBe(6);
});

test('a data directory that another broker has locked', async () => {
  const first = await started(flags('locked'));
  const { code, lines } = await refused(flags('locked', { id: 2 }));
  expect(lines).toEqual([
    expect.stringMatching(
      new RegExp(`^broker 2 cannot start: .*${first.child.pid}.*locked.*code=DATA_DIR_LOCKED$`),
    ),
  ]);
  expect(code).toBe(4);
  expect((await first.kill('SIGTERM')).code).toBe(0);
});

test('a data directory that cannot be written: there is a file in its place', async () => {
  writeFileSync(join(directory, 'a-file'), '');
  for (const name of ['a-file', 'a-file/below']) {
    const { code, lines } = await refused(flags(name));
    expect(lines).toEqual([
      expect.stringMatching(
        new RegExp(`^broker 1 cannot start: .*${name}.*code=DATA_DIR_NOT_WRITABLE$`),
      ),
    ]);
    expect(code).toBe(4);
  }
});

test("another cluster's data directory, and another broker's", async () => {
  const first = await started(flags('of-a-cluster'));
  await first.kill('SIGTERM');

  const otherBroker = await refused(flags('of-a-cluster', { id: 2 }));
  expect(otherBroker.lines).toEqual([
    expect.stringMatching(/^broker 2 cannot start: .*of-a-cluster.*broker 1.*code=INVALID_CONFIG$/),
  ]);
  expect(otherBroker.code).toBe(2);

  zookeeper = `${ensemble.zooKeeper.connectString}${ensemble.newChroot()}`;
  const otherCluster = await refused(flags('of-a-cluster'));
  expect(otherCluster.lines).toEqual([
    expect.stringMatching(/^broker 1 cannot start: .*of-a-cluster.*code=CLUSTER_MISMATCH$/),
  ]);
  expect(otherCluster.code).toBe(4);
});

test('a broker id in use names the host that has it, and leaves the other one alone', async () => {
  const timeout = ['--zookeeper-session-timeout-ms', '1000'];
  const first = await started([...flags('owner'), ...timeout]);
  const { code, lines } = await refused([...flags('claimant'), ...timeout]);
  expect(lines).toEqual([
    expect.stringMatching(
      new RegExp(`^broker 1 cannot start: .*${hostname()}.*code=BROKER_ID_IN_USE$`),
    ),
  ]);
  expect(code).toBe(4);
  expect(first.child.exitCode).toBeNull();
  expect((await first.kill('SIGTERM')).code).toBe(0);
});

test('invalid settings: each problem on a line of its own, nothing started', async () => {
  const { code, lines } = await refused(['--broker-id', 'one', '--zookeeper', 'zk'], {
    TRIBUTARY_BROKER_ID: '1',
    TRIBUTARY_BROKER_IDD: '1',
    TRIBUTARY_LISTENERS: 'outside://0.0.0.0:9292',
  });
  expect(lines.map((line) => line.replace(/^broker cannot start: /, ''))).toEqual([
    expect.stringMatching(/TRIBUTARY_BROKER_IDD .*Did you mean TRIBUTARY_BROKER_ID\?/),
    expect.stringMatching(/broker\.id="one" \(from --broker-id\)/),
    expect.stringMatching(/data\.dir is missing/),
    expect.stringMatching(/zookeeper="zk"/),
  ]);
  expect(code).toBe(2);
});

test('an advertised address that nobody can connect to', async () => {
  const args = [...flags('wildcard'), '--listeners', 'outside://0.0.0.0:9292'];
  const { code, lines } = await refused(args);
  expect(lines).toEqual([expect.stringMatching(/advertised\.listeners.*code=INVALID_CONFIG$/)]);
  expect(code).toBe(2);
});

test('--check-config and --print-config start nothing', async () => {
  const check = await new BrokerProgram([...flags('checked'), '--check-config']).ended;
  expect([check.code, check.stdout]).toEqual([0, 'the settings are valid\n']);
  const print = await new BrokerProgram([...flags('checked'), '--print-config']).ended;
  expect([print.code, print.stdout]).toEqual([
    0,
    expect.stringContaining('broker.id=1  # --broker-id'),
  ]);
});
