import { seededRandom } from '@tributary/common';
import type { TopicView } from '../seams';
import { murmur2 } from './murmur2';
import { Partitioner, partitionOfKey } from './partitioner';

const leader = { brokerId: 1, brokerEpoch: 1, address: { host: 'b', port: 1 } };

function topic(partitions: number, leaderless: readonly number[] = []): TopicView {
  return {
    topic: 't',
    topicId: 'id',
    configs: {},
    partitions: Array.from({ length: partitions }, (_, partition) => ({
      partition,
      leader: leaderless.includes(partition) ? undefined : leader,
      leaderEpoch: 1,
      replicas: [1],
      isr: [1],
    })),
  };
}

function thrownBy(work: () => unknown): unknown {
  try {
    return work();
  } catch (thrown) {
    return thrown;
  }
}

describe('murmur2', () => {
  // Vectors of Kafka's own tests.
  test.each([
    ['21', -973932308],
    ['foobar', -790332482],
    ['a-little-bit-long-string', -985981536],
    ['a-little-bit-longer-string', -1486304829],
    ['lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8', -58897971],
    ['abc', 479470107],
  ])('of %j is %d, as in Java', (text, hash) => {
    expect(murmur2(Buffer.from(text))).toBe(hash);
  });

  test('takes bytes that are not text', () => {
    expect(murmur2(Buffer.from([0xff, 0x80, 0x00]))).toBe(murmur2(Buffer.from('ff8000', 'hex')));
    expect(murmur2(Buffer.alloc(0))).toBe(275646681);
  });
});

describe('the partitioner', () => {
  test('clears the sign bit of the hash, as Java does', () => {
    expect(partitionOfKey(Buffer.from('21'), 1000)).toBe((-973932308 & 0x7fffffff) % 1000);
  });

  test('one key always goes to one partition', () => {
    const partitioner = new Partitioner(seededRandom(1));
    const of = (key: string): number => partitioner.choose(topic(12), Buffer.from(key), undefined);
    expect(of('user-1')).toBe(of('user-1'));
    expect(new Set(Array.from({ length: 100 }, (_, i) => of(`user-${i}`))).size).toBe(12);
  });

  test('an explicit partition wins over the key, and must exist', () => {
    const partitioner = new Partitioner(seededRandom(1));
    expect(partitioner.choose(topic(3), Buffer.from('k'), 2)).toBe(2);
    for (const wrong of [-1, 3, 1.5, NaN]) {
      expect(thrownBy(() => partitioner.choose(topic(3), null, wrong))).toMatchObject({
        code: 'UNKNOWN_PARTITION',
        outcome: 'not written',
      });
    }
  });

  test('without a key it sticks to one partition until a batch is complete, then to another', () => {
    const partitioner = new Partitioner(seededRandom(1));
    const view = topic(4);
    const first = partitioner.choose(view, null, undefined);
    expect(partitioner.choose(view, null, undefined)).toBe(first);
    partitioner.batchCompleted(view, (first + 1) % 4); // not the sticky one: nothing changes
    expect(partitioner.choose(view, null, undefined)).toBe(first);
    partitioner.batchCompleted(view, first);
    expect(partitioner.choose(view, null, undefined)).not.toBe(first);
  });

  test('prefers partitions that have a leader', () => {
    const partitioner = new Partitioner(seededRandom(3));
    const view = topic(4, [0, 1, 3]);
    expect(partitioner.choose(view, null, undefined)).toBe(2);
    partitioner.batchCompleted(view, 2); // no other one has a leader: any will do
    expect([0, 1, 3]).toContain(partitioner.choose(view, null, undefined));
  });
});
