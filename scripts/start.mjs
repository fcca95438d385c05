// npm start: installs what is missing, builds, and becomes `trib dev up`. What follows `--` goes to it.
import { spawnSync } from 'node:child_process';
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

/** npm that was killed hard tells nobody, and the shell between it and this process stays: watch both. */
function stopWithNpm() {
  if (process.env.npm_lifecycle_event === undefined) return;
  const shell = process.ppid;
  const ps = spawnSync('ps', ['-o', 'ppid=', '-p', String(shell)], { encoding: 'utf8' });
  const npm = Number(ps.stdout);
  const poll = () => {
    if (process.ppid === shell && (npm < 2 || isAlive(npm))) setTimeout(poll, 500).unref();
    else process.kill(process.pid, 'SIGTERM');
  };
  poll();
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
