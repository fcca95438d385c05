/**
 * The chaos runner: `npm run --silent chaos -- kill-leader --seconds 20 --json`. The timeline goes to standard
 * error; with --json the last line of standard output is one object. Exits non-zero when an invariant broke.
 */
import { writeFileSync } from 'node:fs';
import { errorCodes, TributaryError } from '@tributary/common';
import '@tributary/server'; // its V8 flags, here too
import { help, parseArguments, type ChaosArguments } from './arguments';
import { renderReport } from './report/report';
import type { RunPicture, RunResult } from './result';
import { runOnce } from './run';
import { cuts, targets } from './scenario';
import { summarize } from './summary';

const print = (line: string): void => void process.stderr.write(`${line}\n`);

async function main(): Promise<void> {
  const command = parseArguments(process.argv.slice(2));
  if (command.kind === 'help') return void process.stdout.write(`${help()}\n`);
  const { scenario, options } = command;
  const pictures: RunPicture[] = [];
  for (let index = 0; index < options.repeat; index += 1) {
    const picture = await runOnce(scenario, optionsOf(options, index), print);
    pictures.push(picture);
    print(verdictLine(picture.result));
    if (options.repeat > 1 && options.json) print(JSON.stringify({ ...picture.result, timeline: undefined })); // prettier-ignore
    if (options.report !== undefined) writeFileSync(options.report, renderReport(pictures));
  }
  const results = pictures.map(({ result }) => result);
  if (options.json) {
    const whole = options.repeat > 1 ? summarize(results) : results[0];
    process.stdout.write(`${JSON.stringify(whole)}\n`);
  }
  if (!results.every(({ clean }) => clean)) process.exitCode = 1;
}

/** Each repeat has a seed of its own, and the next target and cut where none was chosen. */
function optionsOf(options: ChaosArguments, index: number): Parameters<typeof runOnce>[1] {
  return {
    ...options,
    seed: options.seed + index,
    target: options.target ?? targets[index % targets.length]!,
    cut: options.cut ?? cuts[(index + cuts.indexOf('both')) % cuts.length]!,
  };
}

function verdictLine(result: RunResult): string {
  const { acked, read, lost, duplicated, reordered, errors, unavailableMs, recoveredMs } = result;
  return (
    `${result.clean ? 'clean' : 'BROKEN'}: ${acked} acknowledged, ${read} read, ${lost} lost, ${duplicated} duplicated, ` +
    `${reordered} reordered, ${errors} errors; unavailable for ${unavailableMs} ms, all in sync after ${recoveredMs} ms`
  );
}

main().catch((thrown: unknown) => {
  const error = TributaryError.from(thrown);
  process.stderr.write(`error: ${error.message}\nhint: ${error.hint}\ncode=${error.code}\n`);
  process.exitCode = errorCodes[error.code].exitCode;
});
