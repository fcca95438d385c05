/** docs/known-bugs.md names the tests, each by its file and title: they exist, and carry the ids that they stand for. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const packages = join(__dirname, '..', '..');
const page = readFileSync(join(packages, '..', 'docs', 'known-bugs.md'), 'utf8');

interface Named {
  readonly file: string;
  readonly title: string;
}

interface Row {
  /** What is in the first column. */
  readonly about: string;
  readonly tests: readonly Named[];
  readonly text: string;
}

const rows = page
  .split('\n')
  .filter((line) => line.startsWith('|') && !/^\| *(id|fence|rule|a follower|-)/.test(line))
  .map((line) => line.split('|').map((cell) => cell.trim()))
  .map((cells): Row => {
    const text = cells.at(-2) ?? '';
    const tests = text.split('<br>').flatMap((part) => {
      const [, file, title] = /^`([^`]+\.ts)` :: (.+)$/.exec(part) ?? [];
      return file && title ? [{ file, title }] : [];
    });
    return { about: cells[1] ?? '', tests, text };
  });

const sources = new Map<string, string>();

function sourceOf(file: string): string {
  const source = sources.get(file) ?? readFileSync(join(packages, file), 'utf8');
  sources.set(file, source);
  return source;
}

/** As a whole string: the title of a test or of a group of them. */
function hasTitle({ file, title }: Named): boolean {
  const source = sourceOf(file);
  const literals = [`'${title.replaceAll("'", "\\'")}'`, `"${title}"`, `\`${title}\``];
  return literals.some((literal) => source.includes(literal));
}

test('every mistake and every rule has a test, or a reason why it cannot occur', () => {
  expect(rows.length).toBeGreaterThan(65);
  const without = rows.filter(({ tests, text }) => tests.length === 0 && !/^cannot/.test(text));
  expect(without.map(({ about }) => `${about}: name each test as \`FILE\` :: TITLE`)).toEqual([]);
  const halfNamed = rows.filter(({ tests, text }) => !/^cannot/.test(text) && (text.match(/\.ts`/g) ?? []).length !== tests.length); // prettier-ignore
  expect(halfNamed.map(({ about }) => `${about}: a file without a title`)).toEqual([]);
});

test('every test that the page names exists', () => {
  const missing = rows.flatMap(({ tests }) => tests.filter((named) => !hasTitle(named)));
  expect(missing).toEqual([]);
});

test('every id is in the title of one of its tests', () => {
  const missing = rows
    .filter(({ text }) => !/^cannot/.test(text))
    .flatMap(({ about, tests }) => {
      const ids = about.match(/(KAFKA|KIP)-\d+/g) ?? [];
      return ids.filter((id) => !tests.some(({ title }) => title.includes(id)));
    });
  expect(missing).toEqual([]);
});
