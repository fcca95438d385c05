/** The frame of `trib`: help, version, exit codes. Called by the entry points with the commands that they know. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, type CommanderError } from 'commander';
import { dataOutput } from './output/standard-output';
import { usageFailure } from './output/usage-failure';

const USAGE_EXIT_CODE = 2;

export type RegisterCommands = (program: Command) => void;

export function createProgram(...registrations: readonly RegisterCommands[]): Command {
  const manifest = readFileSync(join(__dirname, '../package.json'), 'utf8');
  const program = new Command('trib')
    .description('the command line of Tributary')
    .version((JSON.parse(manifest) as { version: string }).version)
    .showSuggestionAfterError()
    .configureOutput({ outputError: () => undefined }) // `run` tells it
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 exists already or precondition,\n' +
        '6 unavailable or timed out, 130 interrupted.',
    );
  for (const register of registrations) register(program);
  everyCommand(program, (command) =>
    command.exitOverride((reason) => {
      throw new RefusedArguments(command, reason);
    }),
  );
  return program;
}

/** Exit codes are set, not forced: what a command still has to flush is flushed. */
export async function run(program: Command, argv: readonly string[]): Promise<void> {
  dataOutput(); // help may be piped into `head`, too
  try {
    await program.parseAsync([...argv]);
  } catch (error) {
    if (!(error instanceof RefusedArguments)) throw error;
    const { command, reason } = error;
    process.exitCode = reason.exitCode === 0 ? 0 : USAGE_EXIT_CODE;
    // Help that was asked for, or that stands in for a missing verb, has been printed and says all.
    if (reason.exitCode === 0 || reason.code === 'commander.help') return;
    command.configureOutput().writeErr?.(usageFailure(command, reason.message, argv));
  }
}

/** Thrown by a command instead of ending the process. */
class RefusedArguments extends Error {
  constructor(
    readonly command: Command,
    readonly reason: CommanderError,
  ) {
    super(reason.message);
  }
}

function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}
