/** `trib dev`, which scripts call often: without the SDK, whose loading takes longer than all the rest. */
import { registerDevCommands } from './dev';
import { createProgram, run } from './program';

export function main(argv: readonly string[]): Promise<void> {
  return run(createProgram(registerDevCommands), argv);
}
