import { groupSegments } from './segment-groups';

const limits = { segmentBytes: 100, segmentIndexBytes: 50, offsetsMax: 1000 };

const sizes = (
  segments: readonly { bytes: number; index?: number; offsets?: number }[],
): number[] => {
  let baseOffset = 0;
  const made = segments.map(({ bytes, index = 1, offsets = 10 }) => {
    const segment = {
      baseOffset,
      endOffset: baseOffset + offsets,
      sizeBytes: bytes,
      indexBytes: index,
    };
    baseOffset += offsets;
    return segment;
  });
  return groupSegments(made, limits).map((group) => group.length);
};

test('neighbours join up to the size of a segment', () => {
  expect(sizes([{ bytes: 40 }, { bytes: 60 }, { bytes: 10 }, { bytes: 95 }, { bytes: 1 }])).toEqual(
    [2, 1, 2],
  );
});

test('a segment that is too large by itself stays alone', () => {
  expect(sizes([{ bytes: 10 }, { bytes: 300 }, { bytes: 10 }])).toEqual([1, 1, 1]);
});

test('the indexes of a group fit, too', () => {
  expect(
    sizes([
      { bytes: 1, index: 30 },
      { bytes: 1, index: 20 },
      { bytes: 1, index: 1 },
    ]),
  ).toEqual([2, 1]);
});

test('offsets stay within reach of the base offset', () => {
  expect(
    sizes([
      { bytes: 1, offsets: 600 },
      { bytes: 1, offsets: 401 },
      { bytes: 1, offsets: 2 },
    ]),
  ).toEqual([2, 1]);
});

test('nothing gives no group', () => {
  expect(sizes([])).toEqual([]);
});
