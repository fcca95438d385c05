/**
 * Runs a short helper program (java -version, apt-get, dpkg, docker) to its end. Never throws: a program that is
 * missing or was too slow has `ok` false and says so in `output`.
 */
import { execFile } from 'node:child_process';

export interface CommandResult {
  readonly ok: boolean;
  /** stdout and stderr together. */
  readonly output: string;
}

export interface CommandOptions {
  readonly timeoutMs: number;
  readonly directory?: string;
}

const MAX_OUTPUT_BYTES = 4 * 1024 * 1024;

export function runCommand(
  program: string,
  parameters: readonly string[],
  options: CommandOptions,
): Promise<CommandResult> {
  return new Promise((resolve) => {
    execFile(
      program,
      [...parameters],
      { cwd: options.directory, timeout: options.timeoutMs, maxBuffer: MAX_OUTPUT_BYTES },
      (error, stdout, stderr) => {
        const output = `${stdout}${stderr}`;
        resolve(
          error ? { ok: false, output: output.trim() || error.message } : { ok: true, output },
        );
      },
    );
  });
}
