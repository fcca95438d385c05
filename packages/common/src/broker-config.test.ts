import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { brokerSettings, parseBrokerConfig } from './broker-config';
import { TributaryError } from './tributary-error';

test('docs/broker-config.md has a row for each setting, with its default, what is allowed, and what it means', () => {
  const page = readFileSync(join(__dirname, '../../../docs/broker-config.md'), 'utf8');
  const rows = Object.entries(brokerSettings).map(
    ([name, { default: value, min, max, description }]) =>
      `| \`${name}\` | ${value} | ${min} to ${max} | ${description} |`,
  );
  expect(page.split('\n').filter((line) => line.startsWith('| `'))).toEqual(rows);
});

test('only what is named is parsed', () => {
  expect(parseBrokerConfig({ 'fetch.max.bytes': '4096' })).toEqual({ maxFetchBytes: 4096 });
  expect(parseBrokerConfig({})).toEqual({});
});

test('a setting that cannot be altered is refused, and those that can are named', () => {
  let refused: TributaryError | undefined;
  try {
    parseBrokerConfig({ 'log.dirs': '/elsewhere' });
  } catch (thrown) {
    refused = TributaryError.from(thrown);
  }
  expect(refused?.code).toBe('INVALID_CONFIG');
  expect(refused?.message).toBe('broker setting log.dirs cannot be altered while a broker runs');
  expect(refused?.hint).toContain('replication.catch.up.bytes.per.second');
  expect(() => parseBrokerConfig({ constructor: '1' })).toThrow('constructor');
});

test('the name that a setting has at the start leads to the one that it has while the broker runs', () => {
  let refused: TributaryError | undefined;
  try {
    parseBrokerConfig({ 'log.compaction.bytes.per.second': '2048' });
  } catch (thrown) {
    refused = TributaryError.from(thrown);
  }
  expect(refused?.hint).toMatch(/^While it runs it is compaction\.bytes\.per\.second\. /);
});

test.each(['', '-1', '1e9', '100', 'much', '99999999999999999'])(
  'fetch.max.bytes=%s is out of bounds',
  (text) => {
    expect(() => parseBrokerConfig({ 'fetch.max.bytes': text })).toThrow(
      `fetch.max.bytes=${text} is not a whole number from 1024 to 67108864`,
    );
  },
);
