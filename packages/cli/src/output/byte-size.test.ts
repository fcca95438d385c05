import { byteSize } from './byte-size';

test.each([
  [0, '0 B'],
  [1_023, '1023 B'],
  [1_024, '1.0 KiB'],
  [1_048_575, '1.0 MiB'],
  [1_288_490_189, '1.2 GiB'],
  [2 ** 60, '1024.0 PiB'],
])('%d bytes are %s', (bytes, text) => {
  expect(byteSize(bytes)).toBe(text);
});
