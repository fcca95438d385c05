/** The planted bugs have not rotted: each still fits the sources, once, and what comes out is a program. */
import { join } from 'node:path';
import { compiled, withBug } from './apply-bug';
import { plantedBugs } from './planted-bugs';

const root = join(__dirname, '..', '..', '..');

test('their names differ', () => {
  expect(new Set(plantedBugs.map(({ name }) => name)).size).toBe(plantedBugs.length);
});

test.each(plantedBugs)('$name fits the sources', (bug) => {
  for (const [path, text] of withBug(root, bug)) {
    expect(compiled(path, text)).toContain('exports');
  }
});

test('a text that is not there, or twice, is an error', () => {
  const file = 'common/clock';
  const bug = (search: string) => ({
    name: 'none',
    seed: 1,
    edits: [{ file, search, replace: '' }],
  });
  expect(() => withBug(root, bug('no such text'))).toThrow('found 0 times');
  expect(() => withBug(root, bug('number'))).toThrow('not once');
});
