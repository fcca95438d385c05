/**
 * Plays seeds on each planted bug until one of them finds it: the simulation's own test. Called by the command with
 * `--planted`.
 */
import { join } from 'node:path';
import type { SeedResult } from '../seed-run';
import { playSeeds } from '../worker-pool';
import { plantedBugs, type PlantedBug } from './planted-bugs';

export interface Found {
  readonly bug: string;
  /** Seeds played, the one that found it included; undefined: none found it. */
  readonly seedsNeeded: number | undefined;
  readonly seed: number | undefined;
  readonly invariant: string | undefined;
  readonly text: string | undefined;
}

export interface HuntOptions {
  readonly seeds: readonly number[];
  readonly workers: number;
  readonly without: readonly string[];
  /** All, or one by name. */
  readonly bug: string | undefined;
  onFound(found: Found): void;
}

export async function hunt(options: HuntOptions): Promise<Found[]> {
  const all: Found[] = [];
  for (const bug of plantedBugs) {
    if (options.bug !== undefined && options.bug !== bug.name) continue;
    const found = await huntOne(bug, options);
    options.onFound(found);
    all.push(found);
  }
  return all;
}

async function huntOne({ name }: PlantedBug, options: HuntOptions): Promise<Found> {
  const { seeds, workers, without } = options;
  let played = 0;
  let finder: SeedResult | undefined;
  await playSeeds({
    seeds,
    workers,
    without,
    preload: join(__dirname, 'load-planted.js'),
    env: { TRIBUTARY_PLANTED: name },
    onResult: (result) => {
      played += 1;
      if (result.violation) finder = result;
      return result.violation !== undefined;
    },
  });
  const { invariant, text } = finder?.violation ?? {};
  const seedsNeeded = finder ? played : undefined;
  return { bug: name, seedsNeeded, seed: finder?.seed, invariant, text };
}
