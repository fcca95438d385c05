import { seededRandom } from '@tributary/common';
import { KeyMap } from './key-map';

test('the last offset of each key, as a plain map has it', () => {
  const random = seededRandom(7);
  const map = new KeyMap(24 * 1000, 300);
  const obvious = new Map<string, number>();
  for (let offset = 0; offset < 3000; offset += 1) {
    const key = `key-${Math.floor(random.next() * 300)}`;
    expect(map.put(Buffer.from(key), offset)).toBe(true);
    obvious.set(key, offset);
  }
  expect(map.size).toBe(obvious.size);
  for (const [key, offset] of obvious) expect(map.lastOffset(Buffer.from(key))).toBe(offset);
  expect(map.lastOffset(Buffer.from('another'))).toBe(-1);
  expect(map.lastOffset(Buffer.alloc(0))).toBe(-1);
});

test('a full map refuses new keys, and goes on with known ones', () => {
  const map = new KeyMap(24 * 8, 1_000_000); // 8 slots, of which 6 are used
  for (let i = 0; i < 6; i += 1) expect(map.put(Buffer.from([i]), i)).toBe(true);
  expect(map.put(Buffer.from([6]), 6)).toBe(false);
  expect(map.put(Buffer.from([3]), 7)).toBe(true);
  expect([map.size, map.lastOffset(Buffer.from([3])), map.lastOffset(Buffer.from([6]))]).toEqual([
    6, 7, -1,
  ]);
});

test('few keys need little memory, whatever the bound', () => {
  const map = new KeyMap(2 ** 50, 1);
  expect(map.put(Buffer.from('a'), 0)).toBe(true);
  expect(map.lastOffset(Buffer.from('a'))).toBe(0);
});
