/**
 * The log against an obvious model under everything that may happen to it, in any order: appends of a leader and a follower,
 * several epochs and producers, cuts, rolls, retention by time, size and log start, compaction, live settings, clean stops,
 * kill -9 and power failures in the middle of things. After each action all that can be seen of it is compared.
 * LOG_MODEL_RUNS=5000 LOG_MODEL_SEED=1 for more, and others.
 */
import * as fc from 'fast-check';
import { action, type Action } from './model-action.fixture';
import { ModelRun } from './model-run.fixture';

const RUNS = Number(process.env['LOG_MODEL_RUNS'] ?? 50);
const SEED = Number(process.env['LOG_MODEL_SEED'] ?? 3);

const replicated = { gap: 0, epochShare: 0, producer: -1 };

/** The epoch file of the killed life was still on its way when the next life wrote its own. */
const killedWhileEpochsAreWritten: Action[] = [
  { do: 'replicate', batches: 1, size: 45, ...replicated },
  { do: 'reopen', clean: true },
  { do: 'replicate', batches: 2, size: 391, ...replicated },
  { do: 'crash', losesPower: false, appends: 0, maintains: false, steps: 0 },
  { do: 'lead' },
];

async function run(actions: readonly Action[], seed: number): Promise<void> {
  const log = await ModelRun.start(seed);
  for (const one of actions) await log.step(one);
}

test('log and model agree after every action', async () => {
  process.stdout.write(`the log against its model: ${RUNS} runs from seed ${SEED}\n`);
  await fc.assert(
    fc.asyncProperty(fc.array(action, { maxLength: 60, size: 'max' }), fc.nat(), run),
    {
      examples: [[killedWhileEpochsAreWritten, 0]],
      numRuns: RUNS,
      seed: SEED,
      endOnFailure: process.env['LOG_MODEL_SHRINK'] === undefined,
    },
  );
}, 3_600_000);
