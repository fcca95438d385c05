/** `trib`: all commands. docs/cli.md describes them. */
import { registerDataCommands } from './commands';
import { registerDevCommands } from './dev';
import { createProgram, run } from './program';

export function main(argv: readonly string[]): Promise<void> {
  return run(createProgram(registerDataCommands, registerDevCommands), argv);
}
