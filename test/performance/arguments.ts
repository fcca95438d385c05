/** The command line of the bench. Throws INVALID_ARGUMENT, saying what would be right. */
import { tmpdir } from 'node:os';
import { parseArgs } from 'node:util';
import { TributaryError } from '@tributary/common';

export const logMeasures = ['append', 'read', 'sync', 'recovery', 'open'] as const;
export type LogMeasure = (typeof logMeasures)[number];

export interface BenchArguments {
  readonly suite: 'log';
  readonly json: boolean;
  /** Where the scratch directory is made: a real disk, or the numbers say nothing about one. */
  readonly directory: string;
  readonly repeats: number;
  readonly measures: readonly LogMeasure[];
}

const usage =
  'npm run --silent bench -- log [--json] [--dir DIRECTORY] [--repeats 5] ' +
  `[--only ${logMeasures.join(',')}]`;

export function parseArguments(args: readonly string[]): BenchArguments {
  const { values, positionals } = parse(args);
  if (positionals.length !== 1 || positionals[0] !== 'log') throw wrong('name one suite: log');
  const repeats = Number(values.repeats);
  if (!Number.isInteger(repeats) || repeats < 1 || repeats > 100) {
    throw wrong(`--repeats ${values.repeats} is not a whole number from 1 to 100`);
  }
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
