import { spread } from './summary';

test('spread: the lower median, the maximum, and all in order of the runs', () => {
  expect(spread([300, 100, 200, 900])).toEqual({ p50: 200, max: 900, all: [300, 100, 200, 900] });
  expect(spread([5])).toEqual({ p50: 5, max: 5, all: [5] });
});
