/** `trib dev up|status|kill|start|down`: a cluster on this machine. Called once by main. */
import { resolve } from 'node:path';
import { TributaryError } from '@tributary/common';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { runCommand } from '../commands/run-command';
import { renderJson, renderTable } from '../output/render';
import { describeCluster } from './cluster-description';
import { DEFAULT_DIRECTORY } from './cluster-state';
import type { ClusterStatus } from './cluster-status';
import { MAX_BROKERS } from './cluster-options';
import { askSupervisor, requireSupervisor } from './control-client';
import type { ControlRequest } from './control-server';
import { runDetached } from './detached';
import { failureLine, knownSignal, runSupervisor, type UpOptions } from './up';
import { setTimeout as pause } from 'node:timers/promises';

interface DevOptions {
  readonly data: string;
  readonly output?: string;
}

export function registerDevCommands(program: Command): void {
  const dev = program.command('dev').description('a cluster on this machine');
  registerUp(dev);
  withStatus(dev.command('status').description('processes, ports and states')).action(
    runCommand(status),
  );
  withStatus(dev.command('kill <id>').description('sends a signal to a broker'))
    .option('--signal <name>', 'SIGKILL, SIGTERM, SIGSTOP or SIGCONT', 'SIGKILL')
    .action(
      runCommand<DevOptions & { signal: string }>(([id], options) =>
        changeBroker(options, {
          action: 'kill',
          brokerId: brokerId(id),
          signal: knownSignal(options.signal),
        }),
      ),
    );
  withStatus(
    dev.command('start <id>').description('starts a broker again and waits for it'),
  ).action(
    runCommand<DevOptions>(([id], options) =>
      changeBroker(options, { action: 'start', brokerId: brokerId(id) }),
    ),
  );
  withFolder(dev.command('down').description('stops everything; data are kept')).action(
    runCommand(down),
  );
}

function registerUp(dev: Command): void {
  const port = (text: string): number => wholeNumber(text, 0, 65_535);
  withFolder(dev.command('up').description('starts ZooKeeper and brokers; Ctrl-C stops them'))
    .option('--brokers <count>', 'how many', (text) => wholeNumber(text, 1, MAX_BROKERS), 3)
    .addOption(
      new Option('--zookeeper-nodes <count>', 'one or an ensemble')
        .choices(['1', '3'])
        .default('1'),
    )
    .option('--embedded', 'one process, no ZooKeeper, temporary data', false)
    .option('--detach', 'return when it is healthy and leave it running', false)
    .option('--port <port>', 'gRPC port of broker 1, the others follow; 0: free ones', port, 9292)
    .option('--http-port <port>', 'HTTP port of broker 1, the others follow', port, 9392)
    .option('--zookeeper-port <port>', 'of ZooKeeper, if free', port, 2181)
    .addOption(new Option('--fallback-embedded').default(false).hideHelp())
    .action(runCommand(up));
}

async function up(
  _args: readonly string[],
  options: DevOptions &
    Omit<UpOptions, 'directory' | 'zookeeperNodes'> & { detach: boolean; zookeeperNodes: string },
): Promise<void> {
  const { detach, data, zookeeperNodes, ...rest } = options;
  if (detach) {
    const args = process.argv.slice(2).filter((argument) => argument !== '--detach');
    await runDetached(require.resolve('../../bin/trib.js'), args, data);
    await printRunning(data);
    return;
  }
  try {
    await runSupervisor(
      { ...rest, directory: data, zookeeperNodes: zookeeperNodes === '3' ? 3 : 1 },
      (line) => process.stdout.write(`${line}\n`),
    );
  } catch (error) {
    process.send?.({ failure: failureLine(error) });
    throw error;
  } finally {
    if (process.connected) process.disconnect();
  }
}

async function printRunning(data: string): Promise<void> {
  const running = (await requireSupervisor(data, { action: 'status' })) as ClusterStatus;
  const { brokers, zookeeper } = running;
  const described = describeCluster({
    brokers: brokers as never,
    zookeeper: zookeeper.connect ?? undefined,
    addresses: brokers.map((broker) => `${broker.host}:${broker.port}`),
  });
  process.stdout.write(`${described.join('\n')}\nStop it with: npx trib dev down\n`);
}

async function status(_args: readonly string[], options: DevOptions): Promise<void> {
  printStatus(await requireSupervisor(options.data, { action: 'status' }), options);
}

async function changeBroker(options: DevOptions, request: ControlRequest): Promise<void> {
  printStatus(await requireSupervisor(options.data, request), options);
}

async function down(_args: readonly string[], options: DevOptions): Promise<void> {
  const before = (await requireSupervisor(options.data, { action: 'down' })) as ClusterStatus;
  const until = performance.now() + 10_000;
  while (performance.now() < until) {
    if ((await askSupervisor(options.data, { action: 'status' })) === undefined) {
      process.stderr.write('stopped\n');
      return;
    }
    await pause(50);
  }
  const pid = before.supervisor.pid;
  throw new TributaryError('TIMEOUT', `the supervisor, process ${pid}, has not stopped in 10 s`, {
    hint: `kill -9 ${pid} ends it and all its processes.`,
  });
}

function printStatus(answer: unknown, options: DevOptions): void {
  const current = answer as ClusterStatus;
  if (options.output === 'json') {
    process.stdout.write(renderJson(current));
    return;
  }
  const nodes = current.zookeeper.nodes.map((node) => ({
    part: `zookeeper ${node.id}`,
    pid: node.pid,
    address: `127.0.0.1:${node.port}`,
    http: null,
    state: node.mode ?? 'down',
  }));
  const brokers = current.brokers.map((broker) => ({
    part: `broker ${broker.id}`,
    pid: broker.pid,
    address: `${broker.host}:${broker.port}`,
    http: broker.httpPort,
    state: broker.state,
  }));
  const columns = ['part', 'pid', 'address', 'http', 'state'];
  process.stdout.write(renderTable(columns, [...nodes, ...brokers]));
}

/** For commands that end by printing the status. */
function withStatus(command: Command): Command {
  return withFolder(command).addOption(
    new Option('-o, --output <format>', 'how to print').choices(['table', 'json']).default('table'),
  );
}

function withFolder(command: Command): Command {
  return command.option(
    '--data <folder>',
    'holds data, logs and state of the cluster',
    (folder: string) => resolve(folder),
    resolve(DEFAULT_DIRECTORY),
  );
}

function brokerId(text: string | undefined): number {
  if (text !== undefined && /^[0-9]{1,9}$/.test(text)) return Number(text);
  throw new TributaryError('INVALID_ARGUMENT', `${text} is not a broker id`);
}

function wholeNumber(text: string, min: number, max: number): number {
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : NaN;
  if (value >= min && value <= max) return value;
  throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
}
