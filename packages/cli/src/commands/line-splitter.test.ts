import fc from 'fast-check';
import { LineSplitter } from './line-splitter';

function split(...chunks: string[]): string[] {
  const splitter = new LineSplitter(100);
  const lines = chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk, 'latin1')));
  const last = splitter.finish();
  return (last ? [...lines, last] : lines).map((line) => line.toString('latin1'));
}

describe('LineSplitter', () => {
  test('splits at LF only: CR LF keeps its CR, a lone CR is a byte like any other', () => {
    expect(split('a\r\nb\rc\nd')).toEqual(['a\r', 'b\rc', 'd']);
  });

  test('an empty line is a line; nothing after the last LF is not', () => {
    expect(split('\n\na\n')).toEqual(['', '', 'a']);
    expect(split('')).toEqual([]);
  });

  test('lines may span chunks', () => {
    expect(split('ab', 'c\nd', 'e', '\nf')).toEqual(['abc', 'de', 'f']);
  });

  test('a line beyond the limit is refused', () => {
    const splitter = new LineSplitter(10);
    expect(() => splitter.push(Buffer.alloc(11, 'x'))).toThrow('longer than 10 bytes');
  });

  test('any bytes in any chunks: joined with LF they are the input again', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 12 }), { maxLength: 8 }), (chunks) => {
        const splitter = new LineSplitter(1000);
        const lines = chunks.flatMap((chunk) => splitter.push(Buffer.from(chunk)));
        const last = splitter.finish();
        const joined = Buffer.concat(lines.flatMap((line) => [line, Buffer.from('\n')]));
        expect(Buffer.concat([joined, last ?? Buffer.alloc(0)])).toEqual(Buffer.concat(chunks));
      }),
    );
  });
});
