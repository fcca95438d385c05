import { TributaryError } from './tributary-error';
import {
  parsePartitionName,
  partitionName,
  shownTopic,
  validateTopicName,
} from './topic-partition';

test('a partition name parses back, also when the topic has dashes and digits', () => {
  for (const topic of ['a', 'my-topic', 'a-1', '1-2-3']) {
    expect(parsePartitionName(partitionName(topic, 12))).toEqual({ topic, partition: 12 });
  }
});

test.each(['', 'a', '-1', 'a-', 'a-01', 'a-x', 'a-1.delete', 'meta.properties'])(
  '%p is no partition name',
  (name) => {
    expect(parsePartitionName(name)).toBeUndefined();
  },
);

test.each(['a', 'A.b_c-9', 'x'.repeat(249)])('topic name %p is allowed', (topic) => {
  expect(() => validateTopicName(topic)).not.toThrow();
});

test.each(['', '.', '..', 'a/b', '../a', 'a b', 'ü', 'a\n', 'x'.repeat(250)])(
  'topic name %p is refused',
  (topic) => {
    expect(() => validateTopicName(topic)).toThrow(TributaryError);
  },
);

test('a name that no topic can have is quoted and cut in messages', () => {
  expect(shownTopic('orders')).toBe('orders');
  expect(shownTopic('a\nb')).toBe('"a\\nb"');
  expect(shownTopic('x'.repeat(100_000))).toHaveLength(65);
});
