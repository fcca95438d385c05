import { OPEN_FILES_CEILING, openFilesPerDirectory } from './open-files';

test.each([
  ['nothing is known', undefined, 1, 800],
  ['the usual limit', 1_024, 1, 800],
  ['a generous one', 20_000, 1, 10_000],
  ['shared by four directories', 20_000, 4, 2_500],
  ['the usual limit, shared', 1_024, 4, 200],
  ['a limit beyond use', 1_000_000, 1, OPEN_FILES_CEILING],
])('descriptors of a log directory: %s', (_what, limit, directories, expected) => {
  expect(openFilesPerDirectory(limit, directories)).toBe(expected);
});
