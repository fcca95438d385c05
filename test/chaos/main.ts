/**
 * The chaos runner: `npm run --silent chaos -- kill-leader --seconds 20 --json`. The timeline goes to standard
 * error; with --json the last line of standard output is one object. Exits non-zero when anything was lost, doubled,
 * reordered or read above the high watermark.
 */
import { setFlagsFromString } from 'node:v8';
import { errorCodes, TributaryError } from '@tributary/common';
import { parseArguments } from './arguments';
import { killLeader } from './kill-leader';

setFlagsFromString('--no-concurrent-array-buffer-sweeping');

async function main(): Promise<void> {
  const options = parseArguments(process.argv.slice(2));
  const { verdict, unavailableMs, elections, timeline, clean } = await killLeader(options, (line) =>
    process.stderr.write(`${line}\n`),
  );
  const { acked, read, lost, duplicated, reordered, readAboveHighWatermark, resurrected, nonMonotonic, unknown } = verdict; // prettier-ignore
  process.stderr.write(
    `${clean ? 'clean' : 'BROKEN'}: ${acked} acknowledged, ${read} read, ${lost} lost, ${duplicated} duplicated, ` +
      `${reordered} reordered; longest gap of a partition ${unavailableMs} ms\n`,
  );
  if (options.json) {
    const { scenario, target } = options;
    // prettier-ignore
    const result = { scenario, target, acked, read, lost, duplicated, reordered, unavailableMs, elections,
      readAboveHighWatermark, resurrected, nonMonotonic, unknown, timeline };
    process.stdout.write(`${JSON.stringify(result)}\n`);
  }
  if (!clean) process.exitCode = 1;
}

main().catch((thrown: unknown) => {
  const error = TributaryError.from(thrown);
  process.stderr.write(`error: ${error.message}\nhint: ${error.hint}\ncode=${error.code}\n`);
  process.exitCode = errorCodes[error.code].exitCode;
});
