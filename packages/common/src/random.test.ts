import { backoffMs } from './backoff';
import { randomInteger, randomUuid, seededRandom, systemRandom } from './random';

test('the same seed gives the same sequence, another one another', () => {
  const sequence = (seed: number): number[] => {
    const random = seededRandom(seed);
    return Array.from({ length: 5 }, () => random.next());
  };
  expect(sequence(7)).toEqual(sequence(7));
  expect(sequence(7)).not.toEqual(sequence(8));
  for (const value of sequence(7)) expect(value >= 0 && value < 1).toBe(true);
});

test('an id is 22 characters of base64url and does not start with a dash', () => {
  const random = seededRandom(1);
  for (let i = 0; i < 500; i += 1)
    expect(randomUuid(random)).toMatch(/^[A-Za-z0-9_][A-Za-z0-9_-]{21}$/);
  expect(randomUuid(systemRandom)).not.toBe(randomUuid(systemRandom));
});

test('randomInteger stays below its bound', () => {
  const random = seededRandom(3);
  for (let i = 0; i < 500; i += 1) expect([0, 1, 2]).toContain(randomInteger(random, 3));
});

test('backoff: full jitter under a ceiling that doubles up to the maximum', () => {
  const top = { next: () => 0.999999, bytes: () => Buffer.alloc(0) };
  const bottom = { next: () => 0, bytes: () => Buffer.alloc(0) };
  const waits = [0, 1, 2, 3, 10, 5000].map((attempt) => Math.round(backoffMs(attempt, top)));
  expect(waits).toEqual([50, 100, 200, 400, 1000, 1000]);
  expect(backoffMs(3, bottom)).toBe(5);
});
