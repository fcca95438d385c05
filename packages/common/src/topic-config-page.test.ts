/** The page of topic settings says what the table in the code says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseTopicConfig, topicSettings } from './topic-config';

test('docs/topic-config.md has a row for each setting, with its default, what is allowed, and what it means', () => {
  const page = readFileSync(join(__dirname, '../../../docs/topic-config.md'), 'utf8');
  const rows = Object.entries(topicSettings).map(
    ([name, setting]) =>
      `| \`${name}\` | ${setting.default} | ${setting.allowed} | ${setting.description} |`,
  );
  expect(page.split('\n').filter((line) => line.startsWith('| `'))).toEqual(rows);
});

test('every default may be written out, and means what leaving it out means', () => {
  const named = Object.entries(topicSettings).filter(([name]) => name !== 'min.insync.replicas');
  const written = Object.fromEntries(named.map(([name, setting]) => [name, setting.default]));
  expect(parseTopicConfig(written, 3)).toEqual(parseTopicConfig({}, 3));
});
