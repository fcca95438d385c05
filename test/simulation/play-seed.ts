/**
 * Plays one seed and always gives a result: what escapes into the process (an assertion in a timer, a promise that nobody
 * waits for) is a violation, too. Called by the command, its workers, and the suite.
 */
import { SeedRun, type SeedResult, type SeedRunOptions } from './seed-run';

export async function playSeed(seed: number, options: SeedRunOptions = {}): Promise<SeedResult> {
  const run = new SeedRun(seed, options);
  const escaped = (thrown: unknown): void => run.escaped(thrown);
  process.on('uncaughtException', escaped);
  process.on('unhandledRejection', escaped);
  try {
    return await run.run();
  } finally {
    process.off('uncaughtException', escaped);
    process.off('unhandledRejection', escaped);
  }
}
