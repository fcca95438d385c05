import { parseTopicConfig } from './topic-config';

test('defaults: min ISR is 2, or 1 where there is one replica', () => {
  expect(parseTopicConfig({}, 3)).toEqual({
    minInsyncReplicas: 2,
    segmentBytes: 1073741824,
    maxMessageBytes: 1048588,
  });
  expect(parseTopicConfig({}, 1).minInsyncReplicas).toBe(1);
});

test('what is set is taken', () => {
  expect(
    parseTopicConfig({ 'min.insync.replicas': '1', 'segment.bytes': '4096' }, 3),
  ).toMatchObject({
    minInsyncReplicas: 1,
    segmentBytes: 4096,
  });
});

test.each([
  [{ 'min.insync.replica': '1' }, 'min.insync.replica does not exist'],
  [{ toString: '1' }, 'toString does not exist'],
  [{ 'min.insync.replicas': '0' }, 'not a whole number from 1 to 100'],
  [{ 'segment.bytes': '1e6' }, 'not a whole number'],
  [{ 'max.message.bytes': '-5' }, 'not a whole number'],
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
