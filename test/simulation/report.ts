/** Sums up the results of many seeds, and says them to a person. Called by the command. */
import type { SeedResult } from './seed-run';

export interface Summary {
  readonly seeds: number;
  readonly violations: number;
  readonly failingSeeds: readonly number[];
  readonly steps: number;
  /** Share of seeds, 0 to 1, in which it happened at least once. */
  readonly coverage: Readonly<Record<string, number>>;
  readonly seconds: number;
}

/** What must happen in at least this share of the seeds, or the faults are too tame. */
export const REQUIRED_COVERAGE = {
  elections: 0.3,
  truncations: 0.3,
  uncleanRestarts: 0.3,
  isrChanges: 0.3,
  /** Passes that removed records: C10. */
  compactions: 0.3,
  /** Damaged replicas that were refilled: R10. */
  refills: 0.3,
} as const;

export class Summing {
  private seeds = 0;
  private steps = 0;
  private readonly failing: number[] = [];
  private readonly happened = new Map<string, number>();

  add({ seed, violation, steps, coverage }: SeedResult): void {
    this.seeds += 1;
    this.steps += steps;
    if (violation) this.failing.push(seed);
    for (const [name, count] of Object.entries(coverage)) {
      const before = this.happened.get(name) ?? 0;
      this.happened.set(name, before + (count > 0 ? 1 : 0));
    }
  }

  summary(seconds: number): Summary {
    const { seeds, steps, failing } = this;
    const share = (count: number): number => Math.round((count / seeds) * 1000) / 1000;
    const coverage = Object.fromEntries(
      [...this.happened].sort().map(([name, count]) => [name, share(count)]),
    );
    return { seeds, violations: failing.length, failingSeeds: failing, steps, coverage, seconds };
  }
}

/** Of the required ones; empty: enough happened. Of few seeds nothing is asked. */
export function missingCoverage({ seeds, coverage }: Summary): string[] {
  if (seeds < 50) return [];
  return Object.entries(REQUIRED_COVERAGE)
    .filter(([name, least]) => (coverage[name] ?? 0) < least)
    .map(
      ([name, least]) =>
        `${name} in ${percent(coverage[name] ?? 0)} of the seeds, not ${percent(least)}`,
    );
}

export function failureText({ seed, violation, tail }: SeedResult): string {
  if (!violation) return '';
  const { invariant, text, step, atMs } = violation;
  return [
    ...tail.map((line) => `  | ${line}`),
    `seed ${seed}: ${invariant} broken at step ${step}, ${atMs.toFixed(1)} simulated ms: ${text}`,
    `  again, event by event: npm run --silent simulate -- --seed ${seed} --trace`,
  ].join('\n');
}

export function coverageText({ coverage }: Summary): string {
  return Object.entries(coverage)
    .map(([name, share]) => `${name} ${percent(share)}`)
    .join(', ');
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}
