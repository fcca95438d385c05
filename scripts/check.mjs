// npm run check: everything that must hold before a change is taken. Goes on after a failure, so that one run shows all.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { bootstrap } from './bootstrap.mjs';

const root = join(import.meta.dirname, '..');
// Tests come last: they end with the plain line that tools read.
const steps = ['format:check', 'typecheck', 'lint', 'build', 'test'];

bootstrap();
const failed = [];
for (const step of steps) {
  process.stderr.write(`== ${step}\n`);
  const { status } = spawnSync('npm', ['run', '--silent', step], { cwd: root, stdio: 'inherit' });
  if (status !== 0) failed.push(step);
}
if (failed.length > 0) {
  process.stderr.write(`failed: ${failed.join(', ')}\n`);
  process.exit(1);
}
process.stderr.write('all checks passed\n');
