import { TributaryError } from '@tributary/common';
import { exitCodeOf, fatalLine } from './fatal';

test('one line says what, why, what to do, and the code', () => {
  const error = new TributaryError('ADDRESS_IN_USE', 'port 9292 on 127.0.0.1 is\n in use');
  expect(fatalLine('broker 1 cannot start', error)).toBe(
    'broker 1 cannot start: port 9292 on 127.0.0.1 is in use. ' +
      'Stop the process that holds the port, or choose another port. code=ADDRESS_IN_USE',
  );
  expect(exitCodeOf(error)).toBe(4);
});

test('anything else thrown is a defect', () => {
  expect(fatalLine('broker 1', new TypeError('x is undefined'))).toMatch(/code=INTERNAL$/);
  expect(exitCodeOf('boom')).toBe(1);
});
