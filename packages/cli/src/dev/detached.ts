/** `trib dev up --detach`: the same supervisor, in the background, its output in a file. */
import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { TributaryError } from '@tributary/common';
import { parseFailureLine, prepareFolder } from './up';

/** Resolves when the cluster is healthy; rejects with the supervisor's own reason. */
export async function runDetached(
  script: string,
  args: readonly string[],
  directory: string,
): Promise<void> {
  const folder = resolve(directory);
  prepareFolder(folder);
  const logFile = join(folder, 'supervisor.log');
  const log = openSync(logFile, 'a');
  const child = spawn(process.execPath, [script, ...args], {
    stdio: ['ignore', log, log, 'ipc'],
    detached: true,
  });
  closeSync(log);
  await new Promise<void>((resolvePromise, reject) => {
    let failure: TributaryError | undefined;
    child.once('error', reject);
    child.on('message', (message: { readonly ready?: boolean; readonly failure?: string }) => {
      if (message.ready) resolvePromise();
      if (message.failure) failure = parseFailureLine(message.failure);
    });
    child.once('exit', () =>
      reject(
        failure ??
          new TributaryError('UNAVAILABLE', 'the supervisor ended', { hint: `See ${logFile}` }),
      ),
    );
  });
  child.disconnect();
  child.unref();
}
