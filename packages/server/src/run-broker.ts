/**
 * The life of a broker process from its arguments to its exit code. Called by `main.ts`, and by chaos runs with a disk
 * and a clock that can be made to fail.
 *
 * Exit: 0 after an orderly stop or an action such as --check-config; else the exit code of the error, with one line on
 * stderr that says what, why and what to do.
 */
import { TributaryError } from '@tributary/common';
import { BrokerNode } from './broker-node';
import { formatEndpoint } from './config/endpoints';
import { loadConfig } from './config/load-config';
import { printConfig, printHelp } from './config/print-config';
import type { BrokerConfig } from './config/settings';
import { exitCodeOf, fatalLine } from './fatal';
import { createLogger } from './logger';
import { watchParent } from './parent-watch';
import { guardProcess, onStopSignal } from './process-guard';
import { diskParts } from './real-parts';
import { buildVersion } from './version';

/** A stop that takes longer is cut short: what is acknowledged is safe without it. */
const STOP_LIMIT_MS = 4000;

export async function runBroker(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
  makeParts: typeof diskParts = diskParts,
): Promise<void> {
  const config = configOrExit(args, environment);
  if (config.dieWithParent !== undefined) watchParent(config.dieWithParent, () => process.exit(1));
  const who = `broker ${config.brokerId}`;
  guardProcess(who);
  const logger = createLogger({
    level: config.logLevel,
    format: logFormat(config),
    fields: { broker: config.brokerId },
  });
  const node = new BrokerNode(config, {
    ...makeParts(config, logger),
    onFatal: (error) => exitWith(`${who} cannot go on`, error),
  });
  let stopping = false;
  onStopSignal((signal) => {
    stopping = true;
    logger.info('stopping', { signal });
    setTimeout(() => {
      const error = new TributaryError('TIMEOUT', `its stop took longer than ${STOP_LIMIT_MS} ms`);
      exitWith(who, error);
    }, STOP_LIMIT_MS).unref();
    node.stop().then(
      () => {
        logger.info('stopped', { signal });
        process.exit(0);
      },
      (error: unknown) => exitWith(`${who} could not stop in order`, error),
    );
  });
  try {
    await node.start();
  } catch (error) {
    if (!stopping) exitWith(`${who} cannot start`, error);
    return;
  }
  logger.info('broker started', {
    version: buildVersion(),
    listeners: node.status?.listeners.map(({ name, address }) =>
      formatEndpoint({ listener: name, ...address }),
    ),
    http: `${config.httpHost}:${node.httpPort}`,
    clusterId: node.status?.clusterId,
    brokerEpoch: node.status?.brokerEpoch,
    pid: process.pid,
  });
}

/** Ends the process for --help and the like, and for invalid settings: each problem on a line of its own. */
function configOrExit(
  args: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): BrokerConfig {
  const finish = (text: string): never => {
    process.stdout.write(`${text}\n`);
    process.exit(0);
  };
  if (args.includes('--help')) return finish(printHelp());
  if (args.includes('--version')) return finish(buildVersion());
  const loaded = loadConfig(args, environment);
  if (!loaded.ok) {
    const lines = loaded.problems.map((problem) => `broker cannot start: ${problem}`);
    process.stderr.write(`${lines.map((line) => `${line} code=INVALID_CONFIG\n`).join('')}`);
    process.exit(exitCodeOf(new TributaryError('INVALID_CONFIG', '')));
  }
  if (args.includes('--print-config')) return finish(printConfig(loaded.config, loaded.sources));
  if (args.includes('--check-config')) return finish('the settings are valid');
  return loaded.config;
}

function logFormat(config: BrokerConfig): 'json' | 'text' {
  if (config.logFormat !== 'auto') return config.logFormat;
  return process.stdout.isTTY ? 'text' : 'json';
}

function exitWith(who: string, error: unknown): never {
  process.stderr.write(`${fatalLine(who, error)}\n`);
  process.exit(exitCodeOf(error));
}
