/**
 * Seeds of the simulation, on the same code path as `npm run simulate`: whole clusters under load and seeded faults, every
 * invariant judged at every step. Played by a process of the command's own, for in a worker of the test runner, whose heap
 * holds what many tests have loaded, each takes ten times as long. To see one again, event by event:
 * `npm run --silent simulate -- --seed 3 --trace`.
 */
import { fork, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { failureText, missingCoverage, Summing } from './report';
import { MIN_FAULTS, MIN_STEPS, type SeedResult } from './seed-run';
import { died, playOn } from './worker-pool';

const wanted = process.env['SIMULATION_SEEDS'];
const seeds = wanted
  ? wanted.split(',').map(Number)
  : Array.from({ length: 80 }, (_, at) => at + 1);

const played = new Map<number, SeedResult>();
let worker: ChildProcess;

beforeAll(() => {
  worker = fork(join(__dirname, '..', 'dist', 'simulation', 'worker.js'), { execArgv: [] });
});
afterAll(() => worker.disconnect());

async function play(seed: number): Promise<SeedResult> {
  return (await playOn(worker, seed, [])) ?? died(seed);
}

test.each(seeds)('seed %i: no invariant is broken, and enough happens', async (seed) => {
  const result = await play(seed);
  played.set(seed, result);
  expect(failureText(result)).toBe('');
  expect(result.steps).toBeGreaterThanOrEqual(MIN_STEPS);
  expect(result.faults).toBeGreaterThanOrEqual(MIN_FAULTS);
  expect(result.coverage).toMatchObject({ acknowledged: expect.any(Number) });
  expect(result.coverage['acknowledged']).toBeGreaterThan(20);
});

test('all that matters happens in enough of them', () => {
  const summing = new Summing();
  for (const result of played.values()) summing.add(result);
  expect(missingCoverage(summing.summary(0))).toEqual([]);
});

test('one seed is one run, event by event; another seed is another', async () => {
  const seed = seeds[0]!;
  const first = played.get(seed) ?? (await play(seed));
  const again = await play(seed);
  expect(again).toEqual(first);
  const other = await play(seed + 1_000);
  expect(other.trace).not.toBe(first.trace);
});
