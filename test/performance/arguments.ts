/** The command line of the bench. Throws INVALID_ARGUMENT, saying what would be right. */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { TributaryError } from '@tributary/common';

export const logMeasures = ['append', 'read', 'sync', 'recovery', 'open'] as const;
export type LogMeasure = (typeof logMeasures)[number];

interface CommonArguments {
  readonly json: boolean;
  /** Where the scratch directory is made: a real disk, or the numbers say nothing about one. */
  readonly directory: string;
}

export interface LogArguments extends CommonArguments {
  readonly suite: 'log';
  readonly repeats: number;
  readonly measures: readonly LogMeasure[];
}

export interface CatchUpArguments extends CommonArguments {
  readonly suite: 'catch-up';
  /** What the replica has to catch up. */
  readonly gib: number;
  /** Of each quiet window, and of the stall. */
  readonly seconds: number;
  readonly recordsPerSecond: number;
  /** Of the brokers. */
  readonly flags: readonly string[];
}

export interface IdleArguments extends CommonArguments {
  readonly suite: 'idle';
  /** Of each window. */
  readonly seconds: number;
  /** One window for each count. */
  readonly partitions: readonly number[];
}

export type BenchArguments = LogArguments | CatchUpArguments | IdleArguments;

const usage =
  'npm run --silent bench -- log [--json] [--dir DIRECTORY] [--repeats 5] ' +
  `[--only ${logMeasures.join(',')}], or -- catch-up [--json] [--dir DIRECTORY] [--gib 2] ` +
  '[--seconds 20] [--rate 300] [--catch-up-bytes-per-second N], or -- idle [--json] ' +
  '[--dir DIRECTORY] [--seconds 60] [--partitions 0,100]';

export function parseArguments(args: readonly string[]): BenchArguments {
  const { values, positionals } = parse(args);
  const [suite] = positionals;
  if (positionals.length === 1 && suite === 'log') return logArguments(values);
  if (positionals.length === 1 && suite === 'catch-up') return catchUpArguments(values);
  if (positionals.length === 1 && suite === 'idle') return idleArguments(values);
  throw wrong('name one suite: log, catch-up or idle');
}

type Values = ReturnType<typeof parse>['values'];

function catchUpArguments(values: Values): CatchUpArguments {
  const limit = values['catch-up-bytes-per-second'];
  return {
    suite: 'catch-up',
    json: values.json,
    directory: values.dir,
    gib: wholeNumber('gib', values.gib, 64),
    seconds: wholeNumber('seconds', values.seconds ?? '20', 600),
    recordsPerSecond: wholeNumber('rate', values.rate, 10_000),
    flags: limit === undefined ? [] : ['--replication-catch-up-bytes-per-second', limit],
  };
}

function idleArguments(values: Values): IdleArguments {
  const partitions = values.partitions
    .split(',')
    .map((text) => (text === '0' ? 0 : wholeNumber('partitions', text, 1_000)));
  const seconds = wholeNumber('seconds', values.seconds ?? '60', 3_600);
  return { suite: 'idle', json: values.json, directory: values.dir, seconds, partitions };
}

function wholeNumber(name: string, text: string, max: number): number {
  const value = Number(text);
  if (Number.isInteger(value) && value >= 1 && value <= max) return value;
  throw wrong(`--${name} ${text} is not a whole number from 1 to ${max}`);
}

function logArguments(values: Values): LogArguments {
  const repeats = wholeNumber('repeats', values.repeats, 100);
  const measures = values.only.split(',').map((name) => {
    const known = logMeasures.find((one) => one === name);
    if (!known) throw wrong(`--only ${name}: there are ${logMeasures.join(', ')}`);
    return known;
  });
  return { suite: 'log', json: values.json, directory: values.dir, repeats, measures };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        dir: { type: 'string', default: tmpdir() },
        repeats: { type: 'string', default: '5' },
        gib: { type: 'string', default: '2' },
        seconds: { type: 'string' },
        partitions: { type: 'string', default: '0,100' },
        rate: { type: 'string', default: '300' },
        'catch-up-bytes-per-second': { type: 'string' },
        only: { type: 'string', default: logMeasures.join(',') },
      },
    });
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function wrong(message: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message, { hint: usage });
}
