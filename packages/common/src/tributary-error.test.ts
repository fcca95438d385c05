import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodeFromNumber, errorCodes, isErrorCode, type ErrorCode } from './error-codes';
import { hasCode, TributaryError } from './tributary-error';

describe('the list of error codes', () => {
  const codes = Object.keys(errorCodes) as ErrorCode[];

  test('numbers are unique and lead back to their code', () => {
    expect(new Set(codes.map((code) => errorCodes[code].number)).size).toBe(codes.length);
    for (const code of codes) expect(errorCodeFromNumber(errorCodes[code].number)).toBe(code);
  });

  test('a number of a newer version is INTERNAL, never a crash', () => {
    expect(errorCodeFromNumber(9999)).toBe('INTERNAL');
  });

  test('isErrorCode does not fall for names of Object', () => {
    expect(isErrorCode('NOT_LEADER')).toBe(true);
    expect(isErrorCode('toString')).toBe(false);
  });

  test('every hint is one sentence', () => {
    for (const code of codes) expect(errorCodes[code].hint).toMatch(/^[^\n]{10,}\.$/);
  });

  test('docs/errors.md has a row for each code, with its exit code and hint', () => {
    const page = readFileSync(join(__dirname, '../../../docs/errors.md'), 'utf8');
    const rows = codes.map((code) => {
      const { retriable, exitCode, hint } = errorCodes[code];
      return `| \`${code}\` | ${retriable ? 'yes' : 'no'} | ${exitCode} | ${hint} |`;
    });
    expect(page.split('\n').filter((line) => line.startsWith('| `'))).toEqual(rows);
  });
});

describe('TributaryError', () => {
  test('takes hint and retriable from its code, and keeps cause, outcome and leader', () => {
    const cause = new Error('reset');
    const leader = { leaderId: 2, leaderEpoch: 7 };
    const error = new TributaryError('NOT_LEADER', 'broker 1 does not lead orders-0', {
      cause,
      leader,
    });
    expect(error).toMatchObject({
      code: 'NOT_LEADER',
      retriable: true,
      leader,
      cause,
      outcome: undefined,
    });
    expect(error.withOutcome('maybe written')).toMatchObject({
      outcome: 'maybe written',
      cause,
      leader,
    });
  });

  test('from: an abort is CANCELLED, a TributaryError stays itself, anything else takes the fallback', () => {
    const abort = Object.assign(new Error('aborted'), { name: 'AbortError' });
    const own = new TributaryError('TIMEOUT', 'late');
    expect(TributaryError.from(abort).code).toBe('CANCELLED');
    expect(TributaryError.from(own)).toBe(own);
    expect(TributaryError.from('text', 'UNAVAILABLE')).toMatchObject({
      code: 'UNAVAILABLE',
      message: 'text',
    });
  });

  test('instanceof holds across copies of the package', () => {
    const foreign = Object.defineProperty(new Error('x'), Symbol.for('tributary.error'), {
      value: true,
    });
    expect(foreign instanceof TributaryError).toBe(true);
    expect(new Error('x') instanceof TributaryError).toBe(false);
  });

  test('hasCode', () => {
    expect(hasCode(new TributaryError('TIMEOUT', 'late'), 'CANCELLED', 'TIMEOUT')).toBe(true);
    expect(hasCode(new Error('late'), 'TIMEOUT')).toBe(false);
  });

  test('toJSON shows what a machine needs and nothing that is not set', () => {
    expect(new TributaryError('DISK_FULL', 'no room').toJSON()).toEqual({
      code: 'DISK_FULL',
      message: 'no room',
      hint: errorCodes.DISK_FULL.hint,
      retriable: true,
    });
  });
});
