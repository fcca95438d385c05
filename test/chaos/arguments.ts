/** The command line of the chaos runner. Throws INVALID_ARGUMENT, saying what would be right. */
import { parseArgs } from 'node:util';
import { TributaryError } from '@tributary/common';

export const targets = ['leader', 'controller', 'both'] as const;
export type Target = (typeof targets)[number];

export interface ChaosArguments {
  readonly scenario: 'kill-leader';
  readonly seconds: number;
  readonly json: boolean;
  readonly target: Target;
  readonly partitions: number;
  readonly recordsPerSecond: number;
  readonly zookeeperNodes: 1 | 3;
}

const usage =
  'npm run --silent chaos -- kill-leader --seconds 20 [--target leader|controller|both] [--json]' +
  ' [--partitions 12] [--rate 2400] [--zookeeper-nodes 1|3]';

export function parseArguments(args: readonly string[]): ChaosArguments {
  const { values, positionals } = parse(args);
  if (positionals.length !== 1 || positionals[0] !== 'kill-leader')
    throw wrong('name one scenario: kill-leader');
  const target = targets.find((name) => name === values.target);
  if (!target) throw wrong(`--target is one of ${targets.join(', ')}`);
  const zookeeperNodes = number('--zookeeper-nodes', values['zookeeper-nodes'], 1, 3);
  if (zookeeperNodes === 2) throw wrong('--zookeeper-nodes is 1 or 3');
  return {
    scenario: 'kill-leader',
    seconds: number('--seconds', values.seconds, 10, 3600),
    json: values.json === true,
    target,
    partitions: number('--partitions', values.partitions, 12, 1000),
    recordsPerSecond: number('--rate', values.rate, 2000, 100_000),
    zookeeperNodes: zookeeperNodes as 1 | 3,
  };
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      allowPositionals: true,
      options: {
        seconds: { type: 'string', default: '20' },
        json: { type: 'boolean', default: false },
        target: { type: 'string', default: 'leader' },
        partitions: { type: 'string', default: '12' },
        rate: { type: 'string', default: '2400' },
        'zookeeper-nodes': { type: 'string', default: '1' },
      },
    });
  } catch (error) {
    throw wrong((error as Error).message);
  }
}

function number(name: string, text: string | undefined, min: number, max: number): number {
  const value = Number(text);
  if (Number.isSafeInteger(value) && value >= min && value <= max) return value;
  throw wrong(`${name} ${text} is not a whole number from ${min} to ${max}`);
}

function wrong(message: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message, { hint: usage });
}
