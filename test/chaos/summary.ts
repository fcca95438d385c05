/** Several runs as one object: counts added up, times by median and maximum. Pure; called by `main.ts`. */
import { verdictFaults } from '@tributary/testkit';
import type { RunResult } from './result';

export interface Spread {
  readonly p50: number;
  readonly max: number;
  readonly all: readonly number[];
}

const summed = [
  'acked',
  'read',
  ...verdictFaults,
  'unknown',
  'errors',
  'elections',
] as const satisfies readonly (keyof RunResult)[];

export type Summary = Record<(typeof summed)[number], number> & {
  readonly scenario: string;
  readonly repeats: number;
  readonly seeds: readonly number[];
  readonly clean: boolean;
  readonly violations: readonly string[];
  readonly unavailableMs: Spread;
  readonly recoveredMs: Spread;
  readonly more: RunResult['more'];
};

/** @param runs at least one */
export function summarize(runs: readonly RunResult[]): Summary {
  const sum = (of: (run: RunResult) => number): number =>
    runs.reduce((total, run) => total + of(run), 0);
  const counts = Object.fromEntries(summed.map((name) => [name, sum((run) => run[name])]));
  const more = Object.keys(runs[0]!.more) as (keyof RunResult['more'])[];
  return {
    scenario: runs[0]!.scenario,
    repeats: runs.length,
    seeds: runs.map(({ seed }) => seed),
    clean: runs.every(({ clean }) => clean),
    violations: runs.flatMap(({ seed, violations }) => violations.map((text) => `seed ${seed}: ${text}`)), // prettier-ignore
    ...(counts as Record<(typeof summed)[number], number>),
    unavailableMs: spread(runs.map((run) => run.unavailableMs)),
    recoveredMs: spread(runs.map((run) => run.recoveredMs)),
    more: Object.fromEntries(more.map((name) => [name, sum((run) => run.more[name])])) as RunResult['more'], // prettier-ignore
  };
}

export function spread(all: readonly number[]): Spread {
  const sorted = [...all].sort((a, b) => a - b);
  return { p50: sorted[Math.floor((sorted.length - 1) / 2)] ?? 0, max: sorted.at(-1) ?? 0, all };
}
