import { parseTopicConfig } from './topic-config';

test('defaults: min ISR is 2, or 1 where there is one replica', () => {
  expect(parseTopicConfig({}, 3)).toEqual({
    minInsyncReplicas: 2,
    maxMessageBytes: 1048588,
    flush: 'os',
    segmentBytes: 1073741824,
    segmentMs: 604_800_000,
    uncleanLeaderElection: false,
    segmentJitterMs: 0,
    segmentIndexBytes: 10_485_760,
    cleanupPolicy: 'delete',
    retentionMs: 604_800_000,
    retentionBytes: -1,
    deleteRetentionMs: 86_400_000,
    minCompactionLagMs: 0,
    maxCompactionLagMs: Number.MAX_SAFE_INTEGER,
    minCleanableDirtyRatio: 0.5,
  });
  expect(parseTopicConfig({}, 1).minInsyncReplicas).toBe(1);
});

test('what is set is taken', () => {
  expect(
    parseTopicConfig(
      {
        'min.insync.replicas': '1',
        'segment.bytes': '4096',
        'retention.ms': '-1',
        'cleanup.policy': 'compact,delete',
        'min.cleanable.dirty.ratio': '0.25',
        flush: 'sync',
      },
      3,
    ),
  ).toMatchObject({
    minInsyncReplicas: 1,
    segmentBytes: 4096,
    retentionMs: -1,
    cleanupPolicy: 'compact,delete',
    minCleanableDirtyRatio: 0.25,
    flush: 'sync',
  });
});

test.each([
  [{ 'min.insync.replica': '1' }, 'min.insync.replica does not exist'],
  [{ toString: '1' }, 'toString does not exist'],
  [{ 'min.insync.replicas': '0' }, 'not a whole number from 1 to 100'],
  [{ 'segment.bytes': '1e6' }, 'not a whole number'],
  [{ 'max.message.bytes': '-5' }, 'not a whole number'],
  [{ 'retention.ms': '-2' }, 'not a whole number from -1'],
  [{ 'cleanup.policy': 'delete,compact' }, 'not one of "delete", "compact", "compact,delete"'],
  [{ flush: 'fsync' }, 'not one of "os", "sync"'],
  [{ 'min.cleanable.dirty.ratio': '1.5' }, 'not a number from 0 to 1'],
  [
    { 'min.compaction.lag.ms': '10', 'max.compaction.lag.ms': '5' },
    'min.compaction.lag.ms=10 is above max.compaction.lag.ms=5',
  ],
])('%p is refused', (configs, message) => {
  expect(
    thrown(() => parseTopicConfig(configs as unknown as Record<string, string>, 3)),
  ).toMatchObject({
    code: 'INVALID_CONFIG',
    message: expect.stringContaining(message),
  });
});

function thrown(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
