/** Runs a program of the system and tells why it failed. Called by what changes network and mounts. */
import { execFile, execFileSync } from 'node:child_process';
import { TributaryError } from '@tributary/common';

const COMMAND_TIMEOUT_MS = 5_000;

/** Resolves with what it printed. Throws UNAVAILABLE. */
export function runCommand(program: string, args: readonly string[], input = ''): Promise<string> {
  return new Promise((resolve, reject) => {
    const child = execFile(
      program,
      [...args],
      { timeout: COMMAND_TIMEOUT_MS },
      (error, stdout, stderr) => {
        if (!error) return resolve(stdout);
        const why = stderr.trim() || error.message;
        reject(new TributaryError('UNAVAILABLE', `${program} ${args.join(' ')}: ${why}`));
      },
    );
    child.stdin?.on('error', () => undefined); // it ended early: the callback says so
    child.stdin?.end(input);
  });
}

/** For the exit handler: no time left to wait. Failures are of no interest there. */
export function runNow(program: string, args: readonly string[]): void {
  try {
    execFileSync(program, [...args], { timeout: COMMAND_TIMEOUT_MS, stdio: 'ignore' });
  } catch {
    // what it should undo is gone already
  }
}
