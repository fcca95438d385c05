/**
 * The simulation: `npm run --silent simulate -- --seeds 1000 --json`. Failing seeds go to standard error, with what was logged
 * last; with --json the last line of standard output is one object. Exits non-zero when an invariant was broken.
 */
import { errorCodes, TributaryError } from '@tributary/common';
import { parseArguments, usage, type SimulateArguments } from './arguments';
import { playSeed } from './play-seed';
import { coverageText, failureText, missingCoverage, Summing } from './report';
import { hunt } from './planted/hunt';
import { playSeeds } from './worker-pool';

/** Between two lines that say how far it is, in seeds. */
const PROGRESS_SEEDS = 50;

async function main(): Promise<void> {
  const options = parseArguments(process.argv.slice(2));
  if (options.help) return void process.stdout.write(`${usage}\n`);
  if (options.planted) await huntPlanted(options);
  else await simulate(options);
}

async function huntPlanted({
  seeds,
  workers,
  without,
  bug,
  json,
}: SimulateArguments): Promise<void> {
  const began = performance.now();
  const found = await hunt({
    seeds,
    workers,
    without,
    bug,
    onFound: ({ bug: name, seedsNeeded, invariant, text }) => {
      const how = seedsNeeded === undefined ? 'NOT FOUND' : `${seedsNeeded} seeds, ${invariant}`;
      process.stderr.write(`${name.padEnd(38)} ${how}${text === undefined ? '' : `: ${text}`}\n`);
    },
  });
  const missed = found.filter(({ seedsNeeded }) => seedsNeeded === undefined);
  const seconds = Math.round((performance.now() - began) / 100) / 10;
  process.stderr.write(`${found.length - missed.length} of ${found.length} found, ${seconds} s\n`);
  if (json) {
    const bugs = found.map(({ bug: name, seedsNeeded, invariant }) => {
      return { bug: name, seedsNeeded: seedsNeeded ?? null, invariant: invariant ?? null };
    });
    process.stdout.write(`${JSON.stringify({ bugs, missed: missed.length, seconds })}\n`);
  }
  if (missed.length > 0 || found.length === 0) process.exitCode = 1;
}

async function simulate(options: SimulateArguments): Promise<void> {
  const { seeds, workers, without, json, trace } = options;
  const began = performance.now();
  const summing = new Summing();
  const say = (line: string): void => void process.stderr.write(`${line}\n`);
  if (seeds.length === 1) {
    const onLine = trace
      ? (line: string): void => void process.stdout.write(`${line}\n`)
      : undefined;
    const result = await playSeed(seeds[0]!, { onLine, without });
    summing.add(result);
    say(`seed ${result.seed}: ${JSON.stringify(result.coverage)} trace ${result.trace}`);
    if (result.violation) say(failureText(result));
  } else {
    let played = 0;
    await playSeeds({
      seeds,
      workers,
      without,
      onResult: (result) => {
        summing.add(result);
        played += 1;
        if (result.violation) say(failureText(result));
        if (played % PROGRESS_SEEDS === 0) say(`${played} of ${seeds.length} seeds`);
        return false;
      },
    });
  }
  const summary = summing.summary(Math.round((performance.now() - began) / 100) / 10);
  const missing = missingCoverage(summary);
  say(`coverage, in share of seeds: ${coverageText(summary)}`);
  for (const line of missing) say(`too little coverage: ${line}`);
  const { violations, steps, seconds } = summary;
  say(
    `${seeds.length} seeds, ${steps} steps, ${seconds} s: ${violations === 0 ? 'clean' : `${violations} BROKEN`}`,
  );
  if (json) process.stdout.write(`${JSON.stringify(summary)}\n`);
  if (violations > 0 || missing.length > 0) process.exitCode = 1;
}

main().catch((thrown: unknown) => {
  const error = TributaryError.from(thrown);
  process.stderr.write(`error: ${error.message}\nhint: ${error.hint}\ncode=${error.code}\n`);
  process.exitCode = errorCodes[error.code].exitCode;
});
