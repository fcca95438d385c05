/**
 * A whole cluster (three brokers, a producer, a group of two) in one process on a simulated clock, network, disks and
 * coordinator, with a crash in the middle. One seed is one run, event by event: to see a failing one again, run
 * `SIMULATION_SEEDS=17 npx jest test/simulation`.
 */
import { isClean } from '@tributary/testkit';
import { Scenario, type Outcome, type ScenarioOptions, type Victim } from './scenario';

const wanted = process.env['SIMULATION_SEEDS'];
const seeds = wanted ? wanted.split(',').map(Number) : [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];
/** What a failing run logged last. */
const SHOWN_LINES = 60;

/** Of the coordinator: reads from the past, replies that are lost, watches that come late. */
const lagging = { staleReads: 0.2, lostReplies: 0.03, lateWatchMs: 30 };

async function play(
  victim: Victim,
  seed: number,
  options: Omit<ScenarioOptions, 'seed'> = {},
): Promise<Outcome> {
  const scenario = new Scenario(victim, { ...options, seed });
  const tail = (): string =>
    scenario.cluster.logged
      .slice(-SHOWN_LINES)
      .map(({ atMs, level, text }) => `${atMs.toFixed(1)} ${level} ${text}`)
      .join('\n');
  try {
    const outcome = await scenario.run();
    if (isClean(outcome.verdict) && outcome.problems.length === 0) return outcome;
    throw new Error(JSON.stringify(outcome, undefined, 2));
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new Error(`seed ${seed}, ${victim} crashed: ${why}\n${tail()}`, { cause: thrown });
  }
}

const everything = { acked: expect.any(Number), unknown: 0 };

describe('a simulated cluster under load', () => {
  const outcomes = new Map<number, Outcome>();

  test.each(seeds)('seed %i: a leader crashes and returns; nothing is lost', async (seed) => {
    const outcome = await play('leader', seed);
    outcomes.set(seed, outcome);
    expect(outcome.verdict).toMatchObject(everything);
    expect(outcome.verdict.acked).toBe(outcome.verdict.read);
    expect(outcome.verdict.acked).toBeGreaterThan(50);
  });

  test.each(wanted ? seeds : [1])(
    'seed %i: the broker that is the controller crashes',
    async (seed) => {
      expect((await play('controller', seed)).verdict).toMatchObject(everything);
    },
  );

  test.each(wanted ? seeds : [2])(
    'seed %i: the same, and the coordinator lags and loses replies',
    async (seed) => {
      const outcome = await play('controller', seed, { coordinatorFaults: lagging });
      expect(outcome.verdict).toMatchObject(everything);
    },
  );

  test.each(wanted ? seeds : [1, 2])(
    'seed %i: all brokers crash at once and start again',
    async (seed) => {
      expect((await play('all', seed)).verdict).toMatchObject(everything);
    },
  );

  test.each(wanted ? seeds : [1, 2, 3])(
    'seed %i: flush=sync: all machines lose their power at once, and nothing that was acknowledged',
    async (seed) => {
      const outcome = await play('all', seed, { flush: 'sync', syncMs: 150 });
      expect(outcome.verdict).toMatchObject(everything);
      expect(outcome.verdict.acked).toBeGreaterThan(20);
    },
  );

  test.each(wanted ? seeds : [4])(
    'seed %i: flush=sync: a leader crashes and returns',
    async (seed) => {
      const outcome = await play('leader', seed, { flush: 'sync', syncMs: 150 });
      expect(outcome.verdict).toMatchObject(everything);
    },
  );

  test('one seed is one run, event by event; another seed is another', async () => {
    const [seed, another] = [seeds[0]!, seeds.at(-1)!];
    const first = outcomes.get(seed) ?? (await play('leader', seed));
    const again = await play('leader', seed);
    expect(again).toEqual(first);
    const other =
      (another === seed ? undefined : outcomes.get(another)) ?? (await play('leader', another + 1));
    expect(other.trace).not.toBe(first.trace);
  });
});
