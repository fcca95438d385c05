import { checkTimeLookups } from './time-lookups';

test('C11: the first record at or after a time, though timestamps need not rise', () => {
  const reads = [10, 30, 20, 40].map((timestamp, offset) => {
    return { partition: 0, offset, id: offset, timestamp };
  });
  const at = (timestamp: number, offset: number | undefined) => ({
    partition: 0,
    timestamp,
    offset,
  });
  const right = [at(0, 0), at(11, 1), at(20, 1), at(31, 3), at(41, undefined)];
  expect(checkTimeLookups(reads, right)).toEqual({ lookups: 5, wrong: 0, examples: [] });
  const wrong = [at(11, 2), at(31, undefined), at(41, 3)];
  expect(checkTimeLookups(reads, wrong)).toMatchObject({ lookups: 3, wrong: 3 });
});
