/** Which segments go, as a table of situations. Ages in the notation "sealed@t", sizes in bytes, offsets in hundreds. */
import { defaultTopicConfig } from '@tributary/common';
import { segmentsToDelete, type RetainedSegment, type RetentionView } from './retention';

const NOW = 100_000;

/** Segments of 100 offsets and 1,000 bytes each; the last one is active. `newest` of each. */
function segments(...newest: (number | undefined)[]): RetainedSegment[] {
  return newest.map((maxTimestamp, i) => ({
    baseOffset: i * 100,
    endOffset: (i + 1) * 100,
    sizeBytes: 1_000,
    maxTimestamp,
    sealedAt: i === newest.length - 1 ? undefined : 90_000,
  }));
}

interface Situation {
  readonly segments: readonly RetainedSegment[];
  readonly logStartOffset?: number;
  readonly highWatermark?: number;
  readonly config?: Partial<RetentionView['config']>;
}

/** "time,size -> 200": the causes, and where the log starts then; "rolled" when the active one goes too. */
function decide({ config, ...situation }: Situation): string {
  const view = {
    logStartOffset: 0,
    highWatermark: Infinity,
    ...situation,
    config: { ...defaultTopicConfig, retentionMs: -1, ...config },
  };
  const { causes, logStartOffset, rollActive } = segmentsToDelete(view, NOW);
  return `${causes.join(',')} -> ${logStartOffset}${rollActive ? ' rolled' : ''}`;
}

test('by time: whole segments whose newest record is older', () => {
  const log = segments(10_000, 49_999, 50_000, 60_000);
  expect(decide({ segments: log, config: { retentionMs: 50_000 } })).toBe('time,time -> 200');
  expect(decide({ segments: log, config: { retentionMs: 90_000 } })).toBe(' -> 0');
  expect(decide({ segments: log, config: { retentionMs: -1 } })).toBe(' -> 0');
});

test('a young segment keeps the older ones behind it', () => {
  const log = segments(80_000, 10_000, 10_000);
  expect(decide({ segments: log, config: { retentionMs: 50_000 } })).toBe(' -> 0');
});

test('by size: the oldest, while the log without them is still as large as allowed', () => {
  const log = segments(1, 2, 3, 4);
  expect(decide({ segments: log, config: { retentionBytes: 4_000 } })).toBe(' -> 0');
  expect(decide({ segments: log, config: { retentionBytes: 3_001 } })).toBe(' -> 0');
  expect(decide({ segments: log, config: { retentionBytes: 3_000 } })).toBe('size -> 100');
  expect(decide({ segments: log, config: { retentionBytes: 1_500 } })).toBe('size,size -> 200');
  expect(decide({ segments: log, config: { retentionBytes: -1 } })).toBe(' -> 0');
});

test('by log start: segments wholly below it', () => {
  const log = segments(1, 2, 3);
  expect(decide({ segments: log, logStartOffset: 199 })).toBe('logStart -> 199');
  expect(decide({ segments: log, logStartOffset: 200 })).toBe('logStart,logStart -> 200');
});

test('KAFKA-12177: log start, then time, then size, so that a second run finds nothing', () => {
  const config = { retentionMs: 50_000, retentionBytes: 2_500 };
  const log = segments(90_000, 10_000, 80_000, 85_000, 90_000);
  expect(decide({ segments: log, logStartOffset: 100, config })).toBe('logStart,time -> 200');
  expect(decide({ segments: log, config })).toBe('size,time -> 200');
  expect(decide({ segments: log.slice(2), logStartOffset: 200, config })).toBe(' -> 200');
});

test('KAFKA-5634: nothing that reaches beyond the high watermark', () => {
  const log = segments(1, 2, 3);
  const config = { retentionMs: 10 };
  expect(decide({ segments: log, highWatermark: 199, config })).toBe('time -> 100');
  expect(decide({ segments: log, highWatermark: 99, config })).toBe(' -> 0');
  expect(decide({ segments: log, highWatermark: 0, config: { retentionBytes: 0 } })).toBe(' -> 0');
});

test('the active segment is rolled when all of it has had its time, and all is committed', () => {
  const log = segments(1, 2, 3);
  const config = { retentionMs: 10 };
  const all = 'time,time,time -> 300 rolled';
  expect(decide({ segments: log, highWatermark: 300, config })).toBe(all);
  expect(decide({ segments: log, highWatermark: 299, config })).toBe('time,time -> 200');
  expect(decide({ segments: log, logStartOffset: 300, highWatermark: 300 })).toBe(
    'logStart,logStart,logStart -> 300 rolled',
  );
});

test('an empty active segment is left alone', () => {
  const [empty] = segments(undefined);
  const log = [{ ...empty!, endOffset: 0, sizeBytes: 0 }];
  expect(decide({ segments: log, config: { retentionMs: 0, retentionBytes: 0 } })).toBe(' -> 0');
});

test('a timestamp of the future counts from the seal; in the active segment it waits for the roll', () => {
  const log = segments(1e15, 1e15);
  expect(decide({ segments: log, config: { retentionMs: 9_999 } })).toBe('time -> 100');
  expect(decide({ segments: log, config: { retentionMs: 10_000 } })).toBe(' -> 0');
});

test('records without a timestamp count from the seal', () => {
  const log = segments(undefined, 1e15);
  expect(decide({ segments: log, config: { retentionMs: 9_999 } })).toBe('time -> 100');
  expect(decide({ segments: log, config: { retentionMs: 10_000 } })).toBe(' -> 0');
});

test('a log that is only compacted keeps everything but what lies below the log start', () => {
  const log = segments(1, 2, 3);
  const limits = { retentionMs: 1, retentionBytes: 0 };
  const compact = { ...limits, cleanupPolicy: 'compact' } as const;
  expect(decide({ segments: log, logStartOffset: 100, config: compact })).toBe('logStart -> 100');
  const both = { ...limits, cleanupPolicy: 'compact,delete' } as const;
  expect(decide({ segments: log, highWatermark: 250, config: both })).toBe('time,time -> 200');
});

test('where compaction left a gap, the log start moves to where the next segment begins', () => {
  const log = segments(1, 1e15);
  const withGap = [
    { ...log[0]!, endOffset: 170 },
    { ...log[1]!, baseOffset: 170 },
  ];
  expect(decide({ segments: withGap, config: { retentionMs: 10 } })).toBe('time -> 170');
  // Records end at 100, yet the log start may not pass the high watermark.
  expect(decide({ segments: withGap, highWatermark: 150, config: { retentionMs: 10 } })).toBe(
    ' -> 0',
  );
});
