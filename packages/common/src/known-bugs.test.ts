/** docs/known-bugs.md names the tests: each file has one that carries the id. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const packages = join(__dirname, '..', '..');
const page = readFileSync(join(packages, '..', 'docs', 'known-bugs.md'), 'utf8');

interface Row {
  readonly ids: readonly string[];
  readonly files: readonly string[];
  readonly text: string;
}

const rows = page
  .split('\n')
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .filter((cells) => cells.length === 5 && !/^(id|-+)$/.test(cells[1] ?? ''))
  .map(([, ids = '', , here = '']): Row => ({
    ids: ids.match(/KAFKA-\d+/g) ?? [],
    files: [...here.matchAll(/`([^`]+\.test\.ts)`/g)].map(([, file = '']) => file),
    text: here,
  }));

test('every mistake has a test that carries its id, or a reason why it cannot occur', () => {
  expect(rows.length).toBeGreaterThan(35);
  const missing = rows.flatMap(({ ids, files, text }) => {
    const sources = files.map((file) => readFileSync(join(packages, file), 'utf8'));
    if (text.startsWith('cannot occur')) return [];
    if (files.length === 0) return [`${ids.join()}: no test`];
    return ids.filter((id) => !sources.some((source) => source.includes(id)));
  });
  expect(missing).toEqual([]);
});
