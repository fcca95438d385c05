/**
 * A child process of the command: plays each seed that it is sent and answers with its result. It may be told which planted
 * bug to load first. Started by WorkerPool.
 */
import { playSeed } from './play-seed';

process.on('message', ({ seed, without }: { seed: number; without: readonly string[] }) => {
  void playSeed(seed, { without }).then((result) => process.send?.(result));
});
process.on('disconnect', () => process.exit());
