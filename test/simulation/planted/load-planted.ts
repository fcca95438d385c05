/**
 * Required by a worker before anything else (`node --require`): each module that the planted bug named in TRIBUTARY_PLANTED
 * changes is compiled from the changed source instead of being loaded as it was built.
 */
import Module from 'node:module';
import { join, sep } from 'node:path';
import { compiled, withBug } from './apply-bug';
import { plantedBug } from './planted-bugs';

type Loader = (
  module: { _compile(code: string, filename: string): void },
  filename: string,
) => void;

const root = join(__dirname, '..', '..', '..', '..');
const bug = plantedBug(process.env['TRIBUTARY_PLANTED'] ?? '');
if (!bug) throw new Error('TRIBUTARY_PLANTED names no planted bug');

const changed = withBug(root, bug);
const extensions = (Module as unknown as { _extensions: Record<string, Loader> })._extensions;
const load = extensions['.js']!;

extensions['.js'] = (module, filename) => {
  const source = filename.replace(`${sep}dist${sep}`, `${sep}src${sep}`).replace(/\.js$/, '.ts');
  const text = changed.get(source);
  if (text === undefined) return load(module, filename);
  module._compile(compiled(source, text), filename);
};
