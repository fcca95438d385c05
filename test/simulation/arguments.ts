/** The command line of the simulation. Throws INVALID_ARGUMENT, saying what would be right. */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { TributaryError } from '@tributary/common';
import { faultKinds } from './nemesis/nemesis';
import { plantedBugs } from './planted/planted-bugs';

export interface SimulateArguments {
  /** In order. */
  readonly seeds: readonly number[];
  readonly json: boolean;
  /** Of a single seed: print each event. */
  readonly trace: boolean;
  /** Processes. Never changes a result. */
  readonly workers: number;
  /** Kinds of fault that are left out, to find out which one matters. */
  readonly without: readonly string[];
  /** Plays the planted bugs instead. */
  readonly planted: boolean;
  /** One planted bug, by name. */
  readonly bug: string | undefined;
  /** Print the usage, play nothing. */
  readonly help: boolean;
}

export const usage =
  'npm run --silent simulate -- [--seeds 1000] [--first-seed 1] [--workers N] [--without KIND,KIND] [--json] | --seed N [--trace] | --planted [--bug NAME]';
const MAX_SEEDS = 10_000_000;

export function parseArguments(args: readonly string[]): SimulateArguments {
  const values = parse(args);
  const number = (name: keyof typeof values, least: number, most: number): number =>
    whole(name, String(values[name]), least, most);
  const planted = values.planted === true || values.bug !== undefined;
  const common = {
    json: values.json === true,
    workers: values.workers === undefined ? availableParallelism() : number('workers', 1, 256),
    planted,
    bug: values.bug === undefined ? undefined : known('--bug', values.bug, plantedBugs),
    help: values.help === true,
    without: (values.without?.split(',') ?? []).map((name) => known('--without', name, faultKinds)),
  };
  if (values.seed !== undefined) {
    const seed = number('seed', 0, MAX_SEEDS);
    return { ...common, seeds: [seed], trace: values.trace === true };
  }
  if (values.trace) throw wrong('--trace prints one seed: name it with --seed');
  const count = values.seeds === undefined ? (planted ? 200 : 100) : number('seeds', 1, MAX_SEEDS);
  const first = number('first-seed', 0, MAX_SEEDS);
  return { ...common, seeds: Array.from({ length: count }, (_, at) => first + at), trace: false };
}

/** A name that nobody knows would be a run of something else than was meant. */
function known(flag: string, name: string, all: readonly { readonly name: string }[]): string {
  const names = all.map((one) => one.name);
  if (!names.includes(name)) throw wrong(`${flag} ${name} is none of ${names.join(', ')}`);
  return name;
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        seeds: { type: 'string' },
        'first-seed': { type: 'string', default: '1' },
        seed: { type: 'string' },
        trace: { type: 'boolean', default: false },
        json: { type: 'boolean', default: false },
        workers: { type: 'string' },
        without: { type: 'string' },
        planted: { type: 'boolean', default: false },
        bug: { type: 'string' },
        help: { type: 'boolean', short: 'h', default: false },
      },
    }).values;
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function whole(name: string, text: string, least: number, most: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= least && value <= most) return value;
  throw wrong(`--${name} ${text} is not a whole number from ${least} to ${most}`);
}

function wrong(message: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message, { hint: usage });
}
