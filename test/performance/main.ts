/**
 * The bench. `npm run --silent bench -- log --json` compares the log with a floor that is measured in the same run (the
 * same file calls on the same sizes and one CRC pass), turn by turn, because a machine is never as quiet as the
 * differences are small; `-- catch-up` what others notice of a replica that catches up; `-- idle` what a cluster costs that
 * nobody uses. Prints a table; with --json the last line of standard output is one object.
 */
import { errorCodes, TributaryError } from '@tributary/common';
import '@tributary/server'; // its V8 flags, here too
import { parseArguments, type BenchArguments } from './arguments';
import { benchCatchUp } from './catch-up/bench-catch-up';
import { benchIdle } from './idle/bench-idle';
import { benchLog } from './log/bench-log';
import { ScratchDirectory } from './scratch-directory';

async function main(): Promise<void> {
  const options = parseArguments(process.argv.slice(2));
  const scratch = new ScratchDirectory(options.directory);
  process.once('SIGINT', () => stop(scratch, 130));
  process.once('SIGTERM', () => stop(scratch, 143));
  try {
    const print = (line: string): void => void process.stderr.write(`${line}\n`);
    const { table, summary } = await run(scratch, options, print);
    process.stdout.write(table);
    if (options.json) process.stdout.write(`${JSON.stringify(summary)}\n`);
  } finally {
    scratch.remove();
  }
}

function run(
  scratch: ScratchDirectory,
  options: BenchArguments,
  print: (line: string) => void,
): Promise<{ readonly table: string; readonly summary: object }> {
  if (options.suite === 'log') return benchLog(scratch, options, print);
  if (options.suite === 'idle') return benchIdle(scratch, options, print);
  return benchCatchUp(scratch, options, print);
}

function stop(scratch: ScratchDirectory, exitCode: number): never {
  scratch.remove();
  process.exit(exitCode);
}

main().catch((thrown: unknown) => {
  const error = TributaryError.from(thrown);
  process.stderr.write(`error: ${error.message}\nhint: ${error.hint}\ncode=${error.code}\n`);
  if (error.code === 'INTERNAL') process.stderr.write(`${error.stack ?? ''}\n`);
  process.exitCode = errorCodes[error.code].exitCode;
});
