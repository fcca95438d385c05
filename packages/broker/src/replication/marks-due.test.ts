import { marksDue } from './marks-due';

const pace = { markIntervalMs: 500, replicaLagTimeMaxMs: 10_000 };

/** When each of them got marks, looked at every 500 ms for 10 s. */
function marksOf(...ones: { lastMarkAt: number; isQuiet: boolean }[]): number[][] {
  const sent = ones.map((): number[] => []);
  for (let now = 500; now <= 10_000; now += 500) {
    for (const one of marksDue(ones, now, pace)) {
      sent[ones.indexOf(one)]?.push(now);
      one.lastMarkAt = now;
    }
  }
  return sent;
}

test('KAFKA-4485: a follower that is idle in the ISR is seen to be caught up at least every quarter of the lag time', () => {
  const [quiet] = marksOf({ lastMarkAt: 0, isQuiet: true });
  expect(quiet).toEqual([2_000, 4_000, 6_000, 8_000, 10_000]);
});

test('one that has not answered, is not in the ISR or has news gets a mark each time', () => {
  const [quiet, busy] = marksOf(
    { lastMarkAt: 0, isQuiet: true },
    { lastMarkAt: 0, isQuiet: false },
  );
  expect(quiet).toHaveLength(5);
  expect(busy).toHaveLength(20);
});

test('those that are idle get theirs together, but for those that had one just now', () => {
  const [first, second, third] = marksOf(
    { lastMarkAt: 0, isQuiet: true },
    { lastMarkAt: 400, isQuiet: true },
    { lastMarkAt: -1_700, isQuiet: true },
  );
  expect(third?.[0]).toBe(500);
  expect(first?.slice(0, 3)).toEqual([500, 2_500, 4_500]);
  expect(second?.slice(0, 3)).toEqual([2_500, 4_500, 6_500]);
});

test('a short lag time leaves the usual pace', () => {
  const ones = [{ lastMarkAt: 0, isQuiet: true }];
  expect(marksDue(ones, 500, { markIntervalMs: 500, replicaLagTimeMaxMs: 1_000 })).toEqual(ones);
});
