import { PassThrough } from 'node:stream';
import { TributaryError } from '@tributary/common';
import { createLogger, type LoggerOptions } from './logger';

function linesOf(
  format: LoggerOptions['format'],
  log: (l: ReturnType<typeof createLogger>) => void,
) {
  const stream = new PassThrough();
  log(createLogger({ level: 'info', format, fields: { broker: 1 }, stream }));
  return String(stream.read() ?? '')
    .split('\n')
    .filter((line) => line !== '');
}

test('json: one object a line, with the fields of the process and of the incident', () => {
  const lines = linesOf('json', (logger) => {
    logger.debug('not logged');
    logger.info('leader moved', { topic: 'a\nb', partition: 3, offset: 10n });
  });
  expect(lines).toHaveLength(1);
  expect(JSON.parse(lines[0]!)).toMatchObject({
    level: 'info',
    message: 'leader moved',
    broker: 1,
    topic: 'a\nb',
    partition: 3,
    offset: '10',
  });
});

test('an error among the fields keeps its code, message and cause', () => {
  const error = new TributaryError('DISK_FULL', 'no room', { cause: new Error('ENOSPC') });
  const [line] = linesOf('json', (logger) => logger.error('append failed', { error }));
  expect(JSON.parse(line!)).toMatchObject({
    error: { code: 'DISK_FULL', message: 'no room', cause: 'ENOSPC' },
  });
});

test('text: one line, whatever is in it', () => {
  const lines = linesOf('text', (logger) =>
    logger.warn('two\nlines', { topic: 'orders', why: 'it is', none: undefined }),
  );
  expect(lines).toHaveLength(1);
  expect(lines[0]).toMatch(/^\S+ WARN {2}two lines broker=1 topic=orders why="it is"$/);
});
