import { parseArguments } from './arguments';

test('--help is understood beside anything else, and is not the default', () => {
  expect(parseArguments(['--help', '--seeds', '3'])).toMatchObject({ help: true });
  expect(parseArguments(['-h'])).toMatchObject({ help: true });
  expect(parseArguments([])).toMatchObject({ help: false, seeds: { length: 100 } });
});

test.each([
  [['--without', 'pause,foo'], /--without foo is none of .*session-expiry/],
  [['--bug', 'foo'], /--bug foo is none of truncate-by-high-watermark,/],
])('%j names something that there is not', (args, text) => {
  expect(() => parseArguments(args)).toThrow(text);
});
