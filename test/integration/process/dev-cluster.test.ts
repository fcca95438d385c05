/** `trib dev` as a person or a script uses it: real processes, from another process. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { trib } from '../cluster/trib';

interface Status {
  readonly mode: string;
  readonly supervisor: { readonly pid: number };
  readonly zookeeper: {
    readonly connect: string | null;
    readonly nodes: readonly { readonly pid: number; readonly port: number }[];
  };
  readonly brokers: readonly {
    readonly id: number;
    readonly pid: number | null;
    readonly port: number;
    readonly httpPort: number;
    readonly state: string;
  }[];
}

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tributary-dev-test-'));
});

afterEach(async () => {
  await trib(['dev', 'down', '--data', folder]);
  rmSync(folder, { recursive: true, force: true });
});

async function dev(...args: string[]) {
  const { code, stdout, stderr } = await trib(['dev', ...args, '--data', folder]);
  return { code, stdout: stdout.toString(), stderr };
}

function up(...args: string[]) {
  const free = ['--port', '0', '--http-port', '0', '--zookeeper-port', '0'];
  return dev('up', '--detach', ...free, ...args);
}

/** Of `status`, `kill` and `start`. */
async function status(...command: string[]): Promise<Status> {
  const { stdout, stderr } = await dev(
    ...(command.length > 0 ? command : ['status']),
    '-o',
    'json',
  );
  if (stdout === '') throw new Error(stderr);
  return JSON.parse(stdout) as Status;
}

const states = ({ brokers }: Status) => brokers.map(({ id, state }) => `${id} ${state}`);

async function gone(pid: number): Promise<void> {
  for (;;) {
    try {
      process.kill(pid, 0);
    } catch {
      return;
    }
    await pause(20);
  }
}

test('brokers and ZooKeeper as processes: up, status, kill, stop and continue, start, down', async () => {
  const started = await up('--brokers', '2');
  expect(started).toMatchObject({ code: 0 });
  expect(started.stdout).toMatch(/npx trib topic create hello.*\n.*npx trib produce hello/);

  const before = await status();
  expect(before.mode).toBe('processes');
  expect(before.zookeeper.connect).toBe(`127.0.0.1:${before.zookeeper.nodes[0]!.port}`);
  expect(states(before)).toEqual(['1 ready', '2 ready']);
  expect((await up()).stderr).toContain('code=DATA_DIR_LOCKED');

  expect(states(await status('kill', '2'))).toEqual(['1 ready', '2 down']);
  const paused = await status('kill', '1', '--signal', 'SIGSTOP');
  expect(states(paused)).toEqual(['1 paused', '2 down']);
  await dev('kill', '1', '--signal', 'SIGCONT');
  const after = await status('start', '2');
  expect(states(after)).toEqual(['1 ready', '2 ready']);
  expect(after.brokers[1]!.pid).not.toBe(before.brokers[1]!.pid);
  expect(after.brokers[1]!.port).toBe(before.brokers[1]!.port);

  expect(await dev('kill', '7')).toMatchObject({ code: 3 });
  expect(await dev('kill', '1', '--signal', 'SIGHUP')).toMatchObject({ code: 2 });
  expect(await dev('down')).toMatchObject({ code: 0 });
  const pids = [...after.brokers, ...after.zookeeper.nodes].map(({ pid }) => pid!);
  await Promise.all([...pids, after.supervisor.pid].map(gone));
  expect(await dev('status')).toMatchObject({ code: 6 });
}, 90_000);

test('nothing is left when the supervisor is killed, not even a stopped broker', async () => {
  expect(await up('--brokers', '2')).toMatchObject({ code: 0 });
  const { supervisor, brokers, zookeeper } = await status();
  process.kill(brokers[0]!.pid!, 'SIGSTOP');
  process.kill(supervisor.pid, 'SIGKILL');
  await Promise.all([...brokers, ...zookeeper.nodes].map(({ pid }) => gone(pid!)));
}, 60_000);

test('embedded: kill is a simulated stop, other signals are refused with a hint', async () => {
  expect(await up('--embedded')).toMatchObject({ code: 0 });
  const { mode, zookeeper, brokers } = await status();
  expect([mode, zookeeper.connect]).toEqual(['embedded', null]);
  expect(new Set(brokers.map(({ pid }) => pid)).size).toBe(1);

  const refused = await dev('kill', '1', '--signal', 'SIGSTOP');
  expect(refused.code).toBe(2);
  expect(refused.stderr).toContain('hint: Use SIGKILL');
  expect(states(await status('kill', '2'))).toEqual(['1 ready', '2 down', '3 ready']);
  expect(states(await status('start', '2'))).toEqual(['1 ready', '2 ready', '3 ready']);
}, 60_000);
