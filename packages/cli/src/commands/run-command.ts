/**
 * The frame of every command: runs it, prints a failure the same way everywhere, sets the exit code. A
 * command never calls process.exit itself, so that its cleanup always runs.
 */
import { TributaryError } from '@tributary/common';
import type { Command } from 'commander';
import { exitCodeOf, renderFailure } from '../output/failure';
import { dataOutput, OutputClosed } from '../output/standard-output';

interface Format {
  readonly output?: string;
  readonly json?: boolean;
}

type Action<Options> = (
  args: readonly string[],
  options: Options,
  command: Command,
) => Promise<void>;

/** Commander passes the positional arguments, then the options, then the command. */
export function runCommand<Options>(
  action: Action<Options>,
): (...parameters: unknown[]) => Promise<void> {
  return async (...parameters) => {
    const command = parameters[parameters.length - 1] as Command;
    const options = parameters[parameters.length - 2] as Options;
    const args = parameters.slice(0, -2).filter((arg): arg is string => typeof arg === 'string');
    const output = dataOutput();
    try {
      refuseTwoFormats(options as Format);
      await action(args, options, command);
      await output.flushed();
    } catch (error) {
      if (error instanceof OutputClosed) return;
      const { output: format, debug } = options as Format & { debug?: boolean };
      process.stderr.write(
        renderFailure(error, { json: format === 'json', debug: debug === true }),
      );
      process.exitCode = exitCodeOf(error);
    }
  };
}

/** `--json` stands for `-o json`, so that only another format given beside it is left here. */
function refuseTwoFormats({ json, output }: Format): void {
  if (!json || output === 'json') return;
  throw new TributaryError('INVALID_ARGUMENT', `--json and --output ${output} exclude each other`);
}
