/**
 * The life of the embedded cluster's process. Its launcher kills and starts single brokers over the channel between the
 * two processes; everything that it keeps lies in a temporary directory that goes with it. Called by `embedded.ts`.
 */
import { parseArgs } from 'node:util';
import { systemClock, systemRandom, TributaryError, type Logger } from '@tributary/common';
import { NodeDisk } from '@tributary/log';
import { GrpcTransport } from '@tributary/protocol';
import { exitCodeOf, fatalLine } from '../fatal';
import { createLogger } from '../logger';
import { watchParent } from '../parent-watch';
import { guardProcess, onStopSignal } from '../process-guard';
import { EmbeddedCluster } from './embedded-cluster';

interface Command {
  readonly request: number;
  readonly action: 'kill' | 'start';
  readonly brokerId: number;
}

const WHO = 'the embedded cluster';
const STOP_LIMIT_MS = 4000;

export async function runEmbedded(args: readonly string[]): Promise<void> {
  guardProcess(WHO);
  const { brokers, parent } = readArguments(args);
  if (parent !== undefined) watchParent(parent, () => process.exit(1));
  const format = process.stdout.isTTY ? 'text' : 'json';
  const loggerOf = (broker: number): Logger =>
    createLogger({ level: 'info', format, fields: { broker } });
  let cluster: EmbeddedCluster | undefined;
  process.once('exit', () => cluster?.removeTemporary());
  onStopSignal(() => {
    setTimeout(() => process.exit(1), STOP_LIMIT_MS).unref();
    const closing = cluster?.close() ?? Promise.resolve();
    closing.then(
      () => process.exit(0),
      (error: unknown) => exitWith(`${WHO} could not stop in order`, error),
    );
  });
  try {
    cluster = await EmbeddedCluster.start({
      brokers,
      clock: systemClock,
      random: systemRandom,
      loggerOf,
      transportOf: (id) => new GrpcTransport({ logger: loggerOf(id) }),
      disk: new NodeDisk(),
      onFatal: (id, error) => exitWith(`broker ${id} cannot go on`, error),
    });
  } catch (error) {
    exitWith(`${WHO} cannot start`, error);
  }
  obeyLauncher(cluster);
}

function obeyLauncher(cluster: EmbeddedCluster): void {
  process.on('message', (message) => {
    const { request, action, brokerId } = message as Command;
    const work = action === 'kill' ? cluster.kill(brokerId) : cluster.start(brokerId);
    work.then(
      () => process.send?.({ request }),
      (error: unknown) => process.send?.({ request, error: TributaryError.from(error).message }),
    );
  });
}

function readArguments(args: readonly string[]): {
  brokers: { port: number; httpPort: number }[];
  parent: number | undefined;
} {
  const { values } = parseArgs({
    args: [...args],
    options: {
      brokers: { type: 'string', default: '3' },
      ports: { type: 'string' },
      'http-ports': { type: 'string' },
      'die-with-parent': { type: 'string' },
    },
  });
  const list = (text: string | undefined): number[] => text?.split(',').map(Number) ?? [];
  const ports = list(values.ports);
  const httpPorts = list(values['http-ports']);
  const count = ports.length > 0 ? ports.length : Number(values.brokers);
  const brokers = Array.from({ length: count }, (_, index) => ({
    port: ports[index] ?? 0,
    httpPort: httpPorts[index] ?? 0,
  }));
  const parent = values['die-with-parent'];
  return { brokers, parent: parent === undefined ? undefined : Number(parent) };
}

function exitWith(who: string, error: unknown): never {
  process.stderr.write(`${fatalLine(who, error)}\n`);
  process.exit(exitCodeOf(error));
}
