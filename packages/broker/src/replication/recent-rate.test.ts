import { RecentRate } from './recent-rate';

it('what is steady is told as it is, whenever it is asked', () => {
  const rate = new RecentRate(0);
  for (let now = 100; now <= 10_000; now += 100) rate.note(100, now);
  for (const now of [10_000, 10_050, 10_099]) {
    expect(Math.abs(rate.perSecond(now) - 1_000)).toBeLessThan(60);
  }
});

it('a burst at the beginning is no rate of a second', () => {
  const rate = new RecentRate(0);
  rate.note(500, 1);
  expect(rate.perSecond(1)).toBe(500);
});

it('what stopped is over after two windows', () => {
  const rate = new RecentRate(0);
  rate.note(8_000, 1_000);
  expect(rate.perSecond(2_000)).toBe(4_000);
  expect(rate.perSecond(3_999)).toBeGreaterThan(2_000);
  expect(rate.perSecond(4_000)).toBe(0);
  rate.note(2_000, 60_000);
  expect(rate.perSecond(60_000)).toBe(1_000);
});
