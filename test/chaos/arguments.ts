/** The command line of the chaos runner. Throws INVALID_ARGUMENT, saying what would be right. */
import { parseArgs } from 'node:util';
import { TributaryError } from '@tributary/common';
import { networkKinds, type NetworkKind } from './cluster/network';
import { cuts, targets, type Cut, type Scenario, type Target } from './scenario';
import { isMany } from './load/many-partitions';
import { scenarios } from './scenarios';

export interface ChaosArguments {
  readonly seconds: number;
  readonly json: boolean;
  /** undefined: `leader`; with several repeats all in turn. */
  readonly target: Target | undefined;
  readonly cut: Cut | undefined;
  readonly network: NetworkKind | undefined;
  readonly repeat: number;
  readonly seed: number;
  readonly report: string | undefined;
  /** Logs and data stay, also where all is well. */
  readonly keep: boolean;
  readonly partitions: number;
  readonly recordsPerSecond: number;
  readonly zookeeperNodes: 1 | 3;
  readonly sessionTimeoutMs: number;
}

export type ChaosCommand =
  | { readonly kind: 'help' }
  | { readonly kind: 'run'; readonly scenario: Scenario; readonly options: ChaosArguments };

/** Before the first fault and after the last one. */
const CALM_SECONDS = 8;
const DEFAULT_SECONDS = 20;
const DEFAULT_RANDOM_SECONDS = 120;
const DEFAULT_RECORDS_PER_SECOND = 2_400;

export const usage =
  'npm run --silent chaos -- SCENARIO [--seconds N] [--json] [--repeat R] [--seed S] [--report FILE.html] (--help names the scenarios)';

export function parseArguments(args: readonly string[]): ChaosCommand {
  const { values, positionals } = parse(args);
  if (values.help) return { kind: 'help' };
  const scenario = scenarios.find(({ name }) => name === positionals[0]);
  const names = scenarios.map(({ name }) => name).join(', ');
  if (positionals.length !== 1 || !scenario) throw wrong(`name one scenario: ${names}`);
  const zookeeperNodes = number('--zookeeper-nodes', values['zookeeper-nodes'], 1, 3);
  if (zookeeperNodes === 2) throw wrong('--zookeeper-nodes is 1 or 3');
  const sessionTimeoutMs = number('--session-timeout-ms', values['session-timeout-ms'], 2_000, 10_000); // prettier-ignore
  const least = CALM_SECONDS + scenario.roundSeconds(sessionTimeoutMs / 1000);
  const repeat = number('--repeat', values.repeat, 1, 1000);
  const usual = scenario.name === 'random' ? DEFAULT_RANDOM_SECONDS : DEFAULT_SECONDS;
  // Many runs show more than long ones.
  const partitions = number('--partitions', values.partitions, 1, 1000);
  const rate =
    values.rate ??
    String(isMany(partitions) ? Math.ceil(partitions / 2) : DEFAULT_RECORDS_PER_SECOND);
  const seconds = values.seconds ?? String(Math.ceil(repeat > 1 ? least : Math.max(usual, least)));
  return {
    kind: 'run',
    scenario,
    options: {
      seconds: number('--seconds', seconds, Math.ceil(least) - CALM_SECONDS + 2, 86_400),
      json: values.json === true,
      target: oneOf('--target', values.target, targets),
      cut: oneOf('--from', values.from, cuts),
      network: oneOf('--network', values.network, networkKinds),
      repeat,
      seed: number('--seed', values.seed, 0, 2 ** 32 - 1),
      report: values.report,
      keep: values.keep === true,
      partitions,
      recordsPerSecond: number('--rate', rate, 10, 100_000),
      zookeeperNodes: zookeeperNodes as 1 | 3,
      sessionTimeoutMs,
    },
  };
}

export function help(): string {
  const width = Math.max(...scenarios.map(({ name }) => name.length)) + 2;
  const rows = scenarios.map(({ name, summary }) => `  ${name.padEnd(width)}${summary}`);
  return [
    'Breaks a real cluster (three brokers, three ZooKeeper nodes) under load, and judges what clients saw.',
    '',
    `  ${usage}`,
    '',
    'Scenarios:',
    ...rows,
    '',
    'Options:',
    '  --seconds N              length of a run; default 20 (random: 120), or what the scenario needs',
    '  --repeat R               so many runs, each with a seed of its own; default 1',
    '  --seed S                 of the first run; default 1',
    '  --target T               leader, controller or both; default leader, with --repeat all three in turn',
    '  --from F                 partition-leader: peers, zookeeper, both, one-way; default both, with --repeat all in turn',
    '  --network KIND           how links are cut: namespaces (root on Linux; default where possible) or proxies',
    '  --report FILE.html       one page that shows all runs',
    '  --keep                   logs and data are kept, also of a clean run',
    '  --json                   the last line of standard output is one object',
    '  --partitions N           of the topic that is measured; default 12',
    '  --rate N                 records a second over all of them; default 2400; with more than 200 partitions half as many as these',
    '  --zookeeper-nodes N      1 or 3; default 3',
    '  --session-timeout-ms N   of the brokers, from 2000; default 10000',
    '',
    'The timeline goes to standard error. Exit code: 0 when every invariant held and all replicas were back in the ISR',
    'within the session timeout and 10 s of the last fault; 1 otherwise, and then logs and data are kept.',
  ].join('\n');
}

function parse(args: readonly string[]) {
  const text = (value: string) => ({ type: 'string' as const, default: value });
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        help: { type: 'boolean', short: 'h' },
        json: { type: 'boolean', default: false },
        keep: { type: 'boolean', default: false },
        seconds: { type: 'string' },
        target: { type: 'string' },
        from: { type: 'string' },
        report: { type: 'string' },
        network: { type: 'string' },
        repeat: text('1'),
        seed: text('1'),
        partitions: text('12'),
        rate: { type: 'string' },
        'zookeeper-nodes': text('3'),
        'session-timeout-ms': text('10000'),
      },
    });
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function oneOf<T extends string>(
  name: string,
  value: string | undefined,
  allowed: readonly T[],
): T | undefined {
  if (value === undefined) return undefined;
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw wrong(`${name} ${value} is not one of ${allowed.join(', ')}`);
  return found;
}

function number(name: string, text: string | undefined, min: number, max: number): number {
  const value = Number(text);
  if (text !== '' && Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw wrong(`${name} ${text} is not a whole number from ${min} to ${max}`);
}

function wrong(message: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message, { hint: usage });
}
