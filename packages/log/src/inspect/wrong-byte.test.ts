import { crc32c } from '@tributary/record';
import { findWrongByte, isWrongSum } from './wrong-byte';

const bytes = Buffer.from('the quick brown fox jumps over the lazy dog, again and again');
const sum = crc32c(bytes);

test('one changed byte is found, wherever and whatever it is', () => {
  for (let position = 0; position < bytes.length; position += 1) {
    for (const change of [1, 0x80, 0xff]) {
      const damaged = Buffer.from(bytes);
      damaged[position]! ^= change;
      const was = bytes[position];
      expect(findWrongByte(damaged, sum)).toEqual({ position, is: damaged[position], was });
    }
  }
});

test('nothing is found in what is sound, nor where several bytes changed', () => {
  expect(findWrongByte(bytes, sum)).toBeUndefined();
  const damaged = Buffer.from(bytes);
  damaged.write('slow ', 4);
  expect(findWrongByte(damaged, sum)).toBeUndefined();
});

test('a changed byte of the sum itself is told from a changed byte of the content', () => {
  expect(isWrongSum(bytes, (sum ^ 0x0000_4100) >>> 0)).toBe(true);
  const damaged = Buffer.from(bytes);
  damaged[9]! ^= 1;
  expect(isWrongSum(damaged, sum)).toBe(false);
});
