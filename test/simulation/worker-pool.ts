/**
 * Seeds over child processes. Invariant: results come in the order of the seeds, whatever the number of workers; a worker
 * that dies is a violation of the seed that it played. Called by the command, the planted bugs, and the suite.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { SeedResult } from './seed-run';

export interface PoolOptions {
  readonly seeds: readonly number[];
  readonly workers: number;
  /** Kinds of fault that are left out. */
  readonly without: readonly string[];
  /** Loaded before anything else in each worker. */
  readonly preload?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** In order. Answer true to stop: no later seed is reported. */
  onResult(result: SeedResult): boolean;
}

/** Far more than any seed takes, in real time. */
const SEED_MS = 180_000;

export async function playSeeds(options: PoolOptions): Promise<void> {
  const waiting = [...options.seeds];
  const done = new Map<number, SeedResult>();
  let reported = 0;
  let stopped = false;
  const take = (): number | undefined => (stopped ? undefined : waiting.shift());
  const finished = (result: SeedResult): void => {
    done.set(result.seed, result);
    for (;;) {
      const next = done.get(options.seeds[reported] ?? -1);
      if (!next || stopped) return;
      done.delete(next.seed);
      reported += 1;
      stopped = options.onResult(next);
    }
  };
  const workers = Math.min(options.workers, options.seeds.length);
  await Promise.all(Array.from({ length: workers }, () => work(options, take, finished)));
}

async function work(
  options: PoolOptions,
  take: () => number | undefined,
  finished: (result: SeedResult) => void,
): Promise<void> {
  let child: ChildProcess | undefined;
  for (let seed = take(); seed !== undefined; seed = take()) {
    child ??= start(options);
    const result = await playOn(child, seed, options.without);
    if (result) {
      finished(result);
      continue;
    }
    child.kill('SIGKILL');
    child = undefined;
    finished(died(seed));
  }
  child?.disconnect();
}

function start({ preload, env }: PoolOptions): ChildProcess {
  const file = join(__dirname, 'worker.js');
  const execArgv = [...process.execArgv, ...(preload === undefined ? [] : ['--require', preload])];
  return fork(file, { execArgv, env: { ...process.env, ...env }, stdio: 'inherit' });
}

/** undefined: it died, or hangs. */
export function playOn(
  child: ChildProcess,
  seed: number,
  without: readonly string[],
): Promise<SeedResult | undefined> {
  return new Promise((resolve) => {
    const end = (result: SeedResult | undefined): void => {
      clearTimeout(timer);
      child.off('message', onMessage);
      child.off('exit', onExit);
      resolve(result);
    };
    const onMessage = (result: unknown): void => end(result as SeedResult);
    const onExit = (): void => end(undefined);
    const timer = setTimeout(onExit, SEED_MS);
    child.on('message', onMessage);
    child.on('exit', onExit);
    child.send({ seed, without });
  });
}

export function died(seed: number): SeedResult {
  const text = `its process died, or did not end within ${SEED_MS / 1000} s`;
  const violation = { invariant: 'run', text, step: 0, atMs: 0 };
  const nothing = { steps: 0, faults: 0, simulatedMs: 0, coverage: {}, trace: '', tail: [] };
  return { seed, violation, ...nothing };
}
