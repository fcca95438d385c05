import { appendFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LogFile, parseLogLine } from './log-file';

let directory = '';
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), 'log-file-'))));
afterEach(() => rmSync(directory, { recursive: true }));

test('gives each whole line once, from where it began to follow', () => {
  const path = join(directory, 'broker.log');
  appendFileSync(path, 'of an earlier life\n');
  const lines: string[] = [];
  const log = new LogFile(path, (line) => lines.push(line));
  appendFileSync(path, 'one\ntw');
  log.poll();
  expect(lines).toEqual(['one']);
  appendFileSync(path, 'o\n');
  log.close();
  expect(lines).toEqual(['one', 'two']);
});

test('remembers the last thing that a process complained of', () => {
  const path = join(directory, 'broker.log');
  const log = new LogFile(path, () => undefined);
  appendFileSync(path, '{"level":"info","message":"fine"}\nsome noise\n');
  log.poll();
  expect(log.lastComplaint).toBeUndefined();
  appendFileSync(path, 'broker 1 cannot start: port 1 is in use. Stop it. code=ADDRESS_IN_USE\n');
  log.close();
  expect(log.lastComplaint).toMatch(/^broker 1 cannot start/);
});

test('only objects with level and message are log lines', () => {
  expect(parseLogLine('{"time":"t","level":"info","message":"m","topic":"a"}')).toEqual({
    level: 'info',
    message: 'm',
    fields: { topic: 'a' },
  });
  for (const line of ['plain text', '{"half', '{"level":1,"message":"m"}', '{}']) {
    expect(parseLogLine(line)).toBeUndefined();
  }
});
