/** `trib`: registers the commands, runs one. docs/cli.md describes them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Command, CommanderError } from 'commander';
import { registerDataCommands } from './commands';
import { registerDevCommands } from './dev';

const USAGE_EXIT_CODE = 2;

export function createProgram(): Command {
  const manifest = readFileSync(join(__dirname, '../package.json'), 'utf8');
  const program = new Command('trib')
    .description('the command line of Tributary')
    .version((JSON.parse(manifest) as { version: string }).version)
    .showSuggestionAfterError()
    .addHelpText(
      'after',
      '\nExit codes: 0 done, 1 failed, 2 usage, 3 not found, 4 exists already or precondition,\n' +
        '6 unavailable or timed out, 130 interrupted.',
    );
  registerDataCommands(program);
  registerDevCommands(program);
  everyCommand(program, (command) => command.exitOverride());
  return program;
}

/** Exit codes are set, not forced: what a command still has to flush is flushed. */
export async function main(argv: readonly string[]): Promise<void> {
  try {
    await createProgram().parseAsync([...argv]);
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    process.exitCode = error.exitCode === 0 ? 0 : USAGE_EXIT_CODE;
  }
}

function everyCommand(command: Command, visit: (command: Command) => void): void {
  visit(command);
  for (const child of command.commands) everyCommand(child, visit);
}
