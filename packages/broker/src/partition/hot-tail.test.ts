import { HotTail } from './hot-tail';

const MB = 1024 * 1024;

it('what this process appended last is hot, what is older is not', () => {
  const tail = new HotTail(1_000, 3 * MB);
  expect(tail.isHot(999)).toBe(false);
  expect(tail.isHot(1_000)).toBe(true);
  for (let at = 0; at < 10; at += 1) tail.note(1_000 + at, MB);
  expect(tail.isHot(1_005)).toBe(false);
  expect(tail.isHot(1_007)).toBe(true);
  expect(tail.isHot(1_010)).toBe(true);
});

it('forgets everything at a truncation', () => {
  const tail = new HotTail(0, 8 * MB);
  tail.note(0, MB);
  tail.note(10, MB);
  tail.restart(5);
  expect(tail.isHot(4)).toBe(false);
  expect(tail.isHot(5)).toBe(true);
});
