/**
 * `trib dev up`: starts a cluster, says what to type next, and stays as its supervisor until Ctrl-C, `trib dev down` or
 * a signal. With --detach the same supervisor runs in the background.
 */
import { accessSync, constants, mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { isErrorCode, TributaryError } from '@tributary/common';
import type { BrokerState } from './broker-process';
import { describeCluster } from './cluster-description';
import { readShape, removeState, writeShape, writeState } from './cluster-state';
import { clusterStatus } from './cluster-status';
import { askSupervisor } from './control-client';
import { ControlServer, type ControlRequest } from './control-server';
import { zooKeeperCache } from './cluster-parts';
import { DevCluster, type DevClusterOptions } from './dev-cluster';
import { canListen } from './port-reservation';
import { locateZooKeeper } from './zookeeper';

export interface UpOptions {
  readonly brokers: number;
  readonly zookeeperNodes: 1 | 3;
  readonly embedded: boolean;
  /** Where no ZooKeeper can be had: say so, and go on embedded. */
  readonly fallbackEmbedded: boolean;
  readonly directory: string;
  readonly port: number;
  readonly httpPort: number;
  readonly zookeeperPort: number;
}

type Print = (line: string) => void;

const INTERRUPTED = 130;
const ZOOKEEPER_POLL_MS = 500;

/** Resolves when the cluster has been stopped. */
export async function runSupervisor(options: UpOptions, print: Print): Promise<void> {
  const directory = resolve(options.directory);
  prepareFolder(directory);
  await refuseSecondCluster(directory);
  const stop = stopRequest();
  const clusterOptions = await Promise.race([
    chooseCoordinator(options, directory, print),
    stop.requested,
  ]);
  if (!clusterOptions) process.exit(INTERRUPTED); // nothing was started; a download may still run
  const cluster = await startUnlessStopped({ ...clusterOptions, onEvent: print }, stop, print);
  if (!cluster) return;
  const control = await ControlServer.listen((request) =>
    obey(cluster, request, { requestStop: stop.request, print }),
  );
  writeState(directory, {
    supervisorPid: process.pid,
    controlPort: control.port,
    token: control.token,
  });
  const watch = watchZooKeeper(cluster, print);
  try {
    for (const line of describeCluster(cluster)) print(line);
    process.send?.({ ready: true });
    await stop.requested;
    clearInterval(watch);
    print('stopping ...');
    await cluster.stop();
    print('stopped: nothing is left running');
  } finally {
    clearInterval(watch);
    control.close();
    removeState(directory);
  }
}

/** Tells when a node is gone or back; the brokers' own logs tell what that means for them. */
function watchZooKeeper(cluster: DevCluster, print: Print): NodeJS.Timeout {
  const running = new Map(cluster.zookeeperNodes.map((node) => [node, true]));
  return setInterval(() => {
    for (const [node, before] of running) {
      if (node.running === before) continue;
      running.set(node, node.running);
      const what = node.running ? 'runs again' : `has ended; its log: ${node.logFile}`;
      print(`ZooKeeper node ${node.id} ${what}`);
    }
  }, ZOOKEEPER_POLL_MS);
}

/** undefined: the stop was requested while it started, and has been done. */
async function startUnlessStopped(
  options: DevClusterOptions,
  stop: StopRequest,
  print: Print,
): Promise<DevCluster | undefined> {
  const abort = new AbortController();
  const starting = DevCluster.start({ ...options, signal: abort.signal });
  const cluster = await Promise.race([starting, stop.requested]);
  if (cluster) return cluster;
  print('stopping ...');
  abort.abort();
  await starting.then(
    (started) => started.stop(),
    () => undefined, // it stopped by itself: nothing runs
  );
  return undefined;
}

/** Throws DATA_DIR_NOT_WRITABLE: what the cluster writes later would fail in words that help nobody. */
export function prepareFolder(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true });
    accessSync(directory, constants.W_OK | constants.X_OK);
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const message = `the folder ${directory} cannot be used: ${why}`;
    const hint = 'Remove what is there, or use another folder with --data.';
    throw new TributaryError('DATA_DIR_NOT_WRITABLE', message, { cause, hint });
  }
}

async function refuseSecondCluster(directory: string): Promise<void> {
  if ((await askSupervisor(directory, { action: 'status' })) === undefined) return;
  throw new TributaryError(
    'DATA_DIR_LOCKED',
    `a development cluster runs in ${directory} already`,
    {
      hint: 'Stop it with trib dev down, or use another folder with --data.',
    },
  );
}

async function chooseCoordinator(
  options: UpOptions,
  directory: string,
  print: Print,
): Promise<DevClusterOptions> {
  const { brokers, port, httpPort, zookeeperNodes } = options;
  const common = { brokers, port, httpPort, directory };
  const embedded = { ...common, embedded: true };
  if (options.embedded) return embedded;
  const installation = await locateZooKeeper({
    cacheDirectory: zooKeeperCache,
    onProgress: print,
  });
  if ('unavailable' in installation) {
    if (!options.fallbackEmbedded) {
      throw new TributaryError('UNAVAILABLE', `ZooKeeper: ${installation.unavailable}`, {
        hint: 'Or run without it: trib dev up --embedded.',
      });
    }
    print(`no ZooKeeper (${installation.unavailable}): going on embedded, data are temporary`);
    return embedded;
  }
  const shape = readShape(directory);
  if (shape && shape.zookeeperNodes !== zookeeperNodes) {
    throw new TributaryError(
      'INVALID_ARGUMENT',
      `the data in ${directory} were made with ${shape.zookeeperNodes} ZooKeeper node(s), not ${zookeeperNodes}`,
      {
        hint: `Use --zookeeper-nodes ${shape.zookeeperNodes}, another --data, or remove the folder.`,
      },
    );
  }
  writeShape(directory, { zookeeperNodes });
  const zookeeperPort = await firstFreePort(options.zookeeperPort, zookeeperNodes);
  return { ...common, zookeeperNodes, zookeeperPort, installation };
}

/** 0, any free ones, when one of the wanted ports is taken: clients read ZooKeeper's port from what is printed. */
async function firstFreePort(wanted: number, count: number): Promise<number> {
  for (let port = wanted; port < wanted + count; port += 1) {
    if (!(await canListen(port))) return 0;
  }
  return wanted;
}

async function obey(
  cluster: DevCluster,
  { action, brokerId = -1, signal = 'SIGKILL' }: ControlRequest,
  { requestStop, print }: { readonly requestStop: () => void; readonly print: Print },
): Promise<unknown> {
  switch (action) {
    case 'status':
      break;
    case 'kill':
      await cluster.kill(brokerId, knownSignal(signal));
      print(`broker ${brokerId} was sent ${knownSignal(signal)}`);
      break;
    case 'start':
      if ((await cluster.broker(brokerId).state()) === ('paused' satisfies BrokerState)) {
        await cluster.resume(brokerId);
      }
      await cluster.startBroker(brokerId);
      break;
    case 'down': {
      setImmediate(requestStop); // after the answer
      break;
    }
    default:
      throw new TributaryError('INVALID_ARGUMENT', `unknown action ${String(action)}`);
  }
  return clusterStatus(cluster);
}

const signals = ['SIGKILL', 'SIGTERM', 'SIGSTOP', 'SIGCONT'] as const;

export function knownSignal(name: string): (typeof signals)[number] {
  const signal = signals.find((known) => known === name || known === `SIG${name}`);
  if (signal) return signal;
  throw new TributaryError('INVALID_ARGUMENT', `${name} is not a signal that can be sent`, {
    hint: `Use one of ${signals.join(', ')}.`,
  });
}

interface StopRequest {
  readonly requested: Promise<undefined>;
  readonly request: () => void;
}

/** The first signal asks for an orderly stop; the second ends this process, and with it all the others. */
function stopRequest(): StopRequest {
  let request: () => void = () => undefined;
  const requested = new Promise<undefined>((resolve) => {
    request = () => resolve(undefined);
  });
  let signalled = false;
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(signal, () => {
      if (signalled) process.exit(INTERRUPTED);
      signalled = true;
      request();
    });
  }
  return { requested, request };
}

/** A failure as one line, as `runDetached` reads it back. */
export function failureLine(thrown: unknown): string {
  const error = TributaryError.from(thrown);
  return `${error.message}\t${error.hint}\t${error.code}`;
}

export function parseFailureLine(line: string): TributaryError {
  const [message = '', hint = '', code = ''] = line.split('\t');
  return new TributaryError(isErrorCode(code) ? code : 'INTERNAL', message, { hint });
}
