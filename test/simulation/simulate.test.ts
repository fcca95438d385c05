/**
 * A few seeds of the simulation, on the same code path as `npm run simulate`: whole clusters under load and seeded faults, every
 * invariant judged at every step. To see one again, event by event: `npm run --silent simulate -- --seed 3 --trace`.
 */
import { playSeed } from './play-seed';
import { failureText } from './report';
import { MIN_FAULTS, MIN_STEPS, type SeedResult } from './seed-run';

const wanted = process.env['SIMULATION_SEEDS'];
const seeds = wanted
  ? wanted.split(',').map(Number)
  : Array.from({ length: 20 }, (_, at) => at + 1);

const played = new Map<number, SeedResult>();

test.each(seeds)('seed %i: no invariant is broken, and enough happens', async (seed) => {
  const result = await playSeed(seed);
  played.set(seed, result);
  expect(failureText(result)).toBe('');
  expect(result.steps).toBeGreaterThanOrEqual(MIN_STEPS);
  expect(result.faults).toBeGreaterThanOrEqual(MIN_FAULTS);
  expect(result.coverage).toMatchObject({ acknowledged: expect.any(Number) });
  expect(result.coverage['acknowledged']).toBeGreaterThan(20);
});

test('one seed is one run, event by event; another seed is another', async () => {
  const seed = seeds[0]!;
  const first = played.get(seed) ?? (await playSeed(seed));
  const again = await playSeed(seed);
  expect(again).toEqual(first);
  const other = await playSeed(seed + 1_000);
  expect(other.trace).not.toBe(first.trace);
});
