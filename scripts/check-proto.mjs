// Lints proto/ and refuses a change that breaks clients of the accepted protocol (proto/baseline.json).
// A change that is meant: npm run proto:accept, in a commit that says why.
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..');
const buf = join(root, 'node_modules/.bin/buf');

for (const [what, args] of [
  ['lint', ['lint', 'proto']],
  ['breaking changes', ['breaking', 'proto', '--against', 'proto/baseline.json']],
]) {
  try {
    execFileSync(buf, args, { cwd: root, stdio: 'inherit' });
  } catch {
    process.stderr.write(`proto: ${what} found\n`);
    process.exit(1);
  }
}
