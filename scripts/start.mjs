// npm start: installs what is missing, builds, and becomes `trib dev up`. What follows `--` goes to it.
import { bootstrap, build } from './bootstrap.mjs';

bootstrap();
process.stdout.write('building ...\n');
build();

// The same process from here on, so that there is nothing in between to forward signals or to be left behind.
const args = process.argv.slice(2);
process.argv = [process.argv[0], 'trib', 'dev', 'up', '--fallback-embedded', ...args];
stopWithNpm();
const { main } = (await import('../packages/cli/dist/main-dev.js')).default;
await main(process.argv);

/** npm that was killed hard tells nobody: without it the cluster must not stay. */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const parent = process.ppid;
  const poll = () => {
    if (process.ppid === parent) setTimeout(poll, 500).unref();
    else process.kill(process.pid, 'SIGTERM');
  };
  poll();
}
