/**
 * Finds a Java runtime that really runs: macOS has a /usr/bin/java that only says where to get one.
 */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runCommand } from './run-command';

export const howToGetJava =
  'Java was not found: install a runtime, version 8 or later (Debian, Ubuntu: apt-get install ' +
  'default-jre-headless; macOS: brew install openjdk), or set JAVA_HOME';

const JAVA_TIMEOUT_MS = 10_000;

export async function findJava(environment: NodeJS.ProcessEnv): Promise<string | undefined> {
  const candidates = (environment['PATH'] ?? '')
    .split(delimiter)
    .filter((directory) => directory !== '')
    .map((directory) => join(directory, 'java'));
  if (environment['JAVA_HOME']) candidates.unshift(join(environment['JAVA_HOME'], 'bin', 'java'));
  for (const java of new Set(candidates)) {
    if (!existsSync(java)) continue;
    const answer = await runCommand(java, ['-version'], { timeoutMs: JAVA_TIMEOUT_MS });
    if (answer.ok) return java;
  }
  return undefined;
}
