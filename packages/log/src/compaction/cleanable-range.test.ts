import { cleanableRange, isCompacted, urgencyOf, type SegmentView } from './cleanable-range';

const sealed: SegmentView[] = [
  { baseOffset: 0, endOffset: 100, sizeBytes: 1000, maxTimestamp: 1_000 },
  { baseOffset: 100, endOffset: 200, sizeBytes: 1000, maxTimestamp: 2_000 },
  { baseOffset: 200, endOffset: 300, sizeBytes: 2000, maxTimestamp: 3_000 },
];
const config = { minCompactionLagMs: 0, maxCompactionLagMs: 100_000, minCleanableDirtyRatio: 0.5 };

const range = (firstDirtyOffset: number, highWatermark: number, lag = 0, now = 10_000) =>
  cleanableRange(
    { sealed, firstDirtyOffset, highWatermark },
    { ...config, minCompactionLagMs: lag },
    now,
  );

test('what was not compacted is dirty, what was is clean', () => {
  expect(range(0, 300)).toEqual({ firstDirtyOffset: 0, end: 300, cleanBytes: 0, dirtyBytes: 4000 });
  expect(range(200, 300)).toMatchObject({ end: 300, cleanBytes: 2000, dirtyBytes: 2000 });
  expect(range(150, 300)).toMatchObject({ end: 300, cleanBytes: 1000, dirtyBytes: 3000 });
  expect(range(300, 300)).toBeUndefined();
});

test('KAFKA-13194: a segment that is not wholly committed belongs to the head, and so does what follows', () => {
  expect(range(0, 299)).toMatchObject({ end: 200, dirtyBytes: 2000 });
  expect(range(0, 150)).toMatchObject({ end: 100 });
  expect(range(0, 99)).toBeUndefined();
});

test('records younger than min.compaction.lag.ms belong to the head', () => {
  expect(range(0, 300, 7_000)).toMatchObject({ end: 300 });
  expect(range(0, 300, 7_001)).toMatchObject({ end: 200 });
  expect(range(0, 300, 9_500)).toBeUndefined();
  // What was compacted before the setting changed stays so.
  expect(range(100, 300, 8_000)).toMatchObject({ end: 200, cleanBytes: 1000, dirtyBytes: 1000 });
});

test('a segment without a record is not young', () => {
  const emptied = [{ ...sealed[0]!, maxTimestamp: undefined }];
  const view = { sealed: emptied, firstDirtyOffset: 0, highWatermark: 100 };
  expect(cleanableRange(view, { ...config, minCompactionLagMs: 50_000 }, 10_000)).toBeDefined();
});

test('due by ratio, or because a dirty record is too old', () => {
  const half = range(200, 300)!;
  expect(urgencyOf(half, config, undefined, 10_000)).toBe(0.5);
  expect(
    urgencyOf(half, { ...config, minCleanableDirtyRatio: 0.51 }, undefined, 10_000),
  ).toBeUndefined();
  const lazy = { ...config, minCleanableDirtyRatio: 1, maxCompactionLagMs: 7_500 };
  expect(urgencyOf(half, lazy, 2_500, 10_000)).toBeUndefined();
  expect(urgencyOf(half, lazy, 2_499, 10_000)).toBe(1.5);
});

test('both policies with "compact" in them compact', () => {
  expect(
    ['delete', 'compact', 'compact,delete'].map((cleanupPolicy) =>
      isCompacted({ cleanupPolicy: cleanupPolicy as 'delete' }),
    ),
  ).toEqual([false, true, true]);
});
