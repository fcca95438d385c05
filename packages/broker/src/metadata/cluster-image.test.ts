import type { BrokerInfo, Delta, PartitionState, TopicInfo } from '@tributary/protocol';
import { ClusterImage } from './cluster-image';

function topic(name: string, topicId = `${name}-id`): TopicInfo {
  return { topic: name, topicId, configs: {}, deleting: false };
}

function broker(brokerId: number): BrokerInfo {
  return {
    brokerId,
    brokerEpoch: 100 + brokerId,
    endpoints: [],
    rack: '',
    eligible: true,
    duty: 'BROKER_DUTY_IN_SERVICE' as const,
    configs: {},
  };
}

function state(partition: number, changes: Partial<PartitionState> = {}): PartitionState {
  return {
    topic: 'orders',
    topicId: 'orders-id',
    partition,
    leader: 1,
    leaderEpoch: 0,
    partitionEpoch: 0,
    controllerEpoch: 1,
    isr: [1],
    replicas: [1],
    eligibleLeaders: [],
    offlineReplicas: [],
    addingReplicas: [],
    removingReplicas: [],
    ...changes,
  };
}

function delta(sequence: number, changes: Partial<Delta> = {}): Delta {
  return {
    sequence,
    brokers: [],
    removedBrokers: [],
    topics: [],
    removedTopicIds: [],
    partitions: [],
    stopReplicas: [],
    ...changes,
  };
}

const first = ClusterImage.from({
  controllerId: 1,
  controllerEpoch: 7,
  sequence: 3,
  brokers: [broker(1), broker(2)],
  topics: [topic('orders')],
  partitions: [state(1), state(0)],
});

describe('ClusterImage', () => {
  it('finds brokers, topics by name and id, partitions sorted', () => {
    expect(first.broker(2)?.brokerEpoch).toBe(102);
    expect(first.topicByName('orders')?.topicId).toBe('orders-id');
    expect(first.topicById('orders-id')?.topic).toBe('orders');
    expect(first.partitions('orders-id').map((p) => p.partition)).toEqual([0, 1]);
    expect(first.partition('orders-id', 1)?.leader).toBe(1);
    expect(first.partition('orders-id', 2)).toBeUndefined();
  });

  it('a delta makes a new image and leaves the old one as it was', () => {
    const next = first.apply(
      delta(4, {
        brokers: [broker(3)],
        removedBrokers: [2],
        partitions: [state(0, { leader: 3, leaderEpoch: 1, partitionEpoch: 1 })],
      }),
    );
    expect(next.sequence).toBe(4);
    expect(next.brokers().map((b) => b.brokerId)).toEqual([1, 3]);
    expect(next.partition('orders-id', 0)?.leader).toBe(3);
    expect(first.brokers().map((b) => b.brokerId)).toEqual([1, 2]);
    expect(first.partition('orders-id', 0)?.leader).toBe(1);
  });

  it('an older state of a partition is not taken back', () => {
    const newer = first.apply(
      delta(4, { partitions: [state(0, { leaderEpoch: 5, partitionEpoch: 9 })] }),
    );
    const again = newer.apply(
      delta(5, { partitions: [state(0, { leaderEpoch: 4, partitionEpoch: 10 })] }),
    );
    expect(again.partition('orders-id', 0)?.leaderEpoch).toBe(5);
  });

  it('a topic deleted and created again is another topic: nothing of the old one stays', () => {
    const gone = first.apply(delta(4, { removedTopicIds: ['orders-id'] }));
    expect(gone.topicByName('orders')).toBeUndefined();
    expect(gone.partitions('orders-id')).toEqual([]);
    const late = gone.apply(delta(5, { partitions: [state(0)] }));
    expect(late.partitions('orders-id')).toEqual([]);
    const again = gone.apply(delta(5, { topics: [topic('orders', 'second')] }));
    expect(again.topicByName('orders')?.topicId).toBe('second');
  });

  it('both in one delta: the new topic keeps the name', () => {
    const next = first.apply(
      delta(4, { removedTopicIds: ['orders-id'], topics: [topic('orders', 'second')] }),
    );
    expect(next.topicByName('orders')?.topicId).toBe('second');
  });

  it('a gap in the sequence is a defect of the caller', () => {
    expect(() => first.apply(delta(5))).toThrow('delta 5 after 3');
  });
});
