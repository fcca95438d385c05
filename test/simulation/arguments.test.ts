import { parseArguments } from './arguments';

test('--help is understood beside anything else, and is not the default', () => {
  expect(parseArguments(['--help', '--seeds', '3'])).toMatchObject({ help: true });
  expect(parseArguments(['-h'])).toMatchObject({ help: true });
  expect(parseArguments([])).toMatchObject({ help: false, seeds: { length: 100 } });
});
