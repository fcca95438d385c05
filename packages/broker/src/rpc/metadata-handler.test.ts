import type { CallContext, PartitionState } from '@tributary/protocol';
import { ClusterImage } from '../metadata/cluster-image';
import { MetadataCache } from '../metadata/metadata-cache';
import { describeCluster } from './admin-describe-cluster';
import { answerMetadata } from './metadata-handler';

const context: CallContext = {
  listener: 'inside',
  peer: '127.0.0.1:1',
  signal: new AbortController().signal,
};

function state(partition: number, leader: number, isr: number[]): PartitionState {
  return {
    topic: 'orders',
    topicId: 'orders-id',
    partition,
    leader,
    leaderEpoch: 4,
    partitionEpoch: 9,
    controllerEpoch: 1,
    isr,
    replicas: [1, 2, 3],
    eligibleLeaders: [],
    offlineReplicas: [],
    addingReplicas: [],
    removingReplicas: [],
  };
}

function cache(): MetadataCache {
  const metadata = new MetadataCache();
  const brokers = [1, 2, 3].map((brokerId) => ({
    brokerId,
    brokerEpoch: 100 + brokerId,
    endpoints: [
      { listener: 'inside', host: `in-${brokerId}`, port: 9292 },
      ...(brokerId < 3 ? [{ listener: 'outside', host: `out-${brokerId}`, port: 9592 }] : []),
    ],
    rack: '',
    eligible: brokerId !== 3,
    duty: 'BROKER_DUTY_IN_SERVICE' as const,
    configs: {},
  }));
  metadata.replace(
    ClusterImage.from({
      controllerId: 2,
      controllerEpoch: 1,
      sequence: 1,
      brokers,
      topics: [{ topic: 'orders', topicId: 'orders-id', configs: {}, deleting: false }],
      partitions: [state(0, 1, [1, 2, 3]), state(1, 2, [2]), state(2, -1, [3])],
    }),
  );
  return metadata;
}

describe('Metadata', () => {
  it('answers from the image, with the endpoints of the listener it came in on', () => {
    const answer = answerMetadata(
      { metadata: cache(), clusterId: 'c' },
      { topics: ['orders'], allTopics: false, listener: '' },
      context,
    );
    expect(answer.controllerId).toBe(2);
    expect(answer.brokers?.map(({ host }) => host)).toEqual(['in-1', 'in-2', 'in-3']);
    expect(answer.topics?.[0]?.partitions?.map(({ leader }) => leader)).toEqual([1, 2, -1]);
  });

  it('or of the one asked for; a broker without it is left out', () => {
    const answer = answerMetadata(
      { metadata: cache(), clusterId: 'c' },
      { topics: [], allTopics: true, listener: 'outside' },
      context,
    );
    expect(answer.brokers?.map(({ host }) => host)).toEqual(['out-1', 'out-2']);
    expect(answer.topics?.map(({ topic }) => topic)).toEqual(['orders']);
  });

  it('a listener that nobody has is an error that names those there are', () => {
    const ask = () =>
      answerMetadata(
        { metadata: cache(), clusterId: 'c' },
        { topics: [], allTopics: false, listener: 'nowhere' },
        context,
      );
    expect(ask).toThrow('no broker has a listener named nowhere');
  });

  it('an unknown topic is an error of that topic alone', () => {
    const answer = answerMetadata(
      { metadata: cache(), clusterId: 'c' },
      { topics: ['orders', 'nope'], allTopics: false, listener: '' },
      context,
    );
    expect(answer.topics?.map(({ error }) => error?.code)).toEqual([undefined, 'UNKNOWN_TOPIC']);
  });
});

describe('DescribeCluster', () => {
  it('counts leaders, replicas, and what is not well', () => {
    const answer = describeCluster(
      { metadata: cache(), clusterId: 'c' },
      { listener: '' },
      context,
    );
    expect(answer).toMatchObject({
      clusterId: 'c',
      controllerId: 2,
      topics: 1,
      partitions: 3,
      offlinePartitions: 1,
      underReplicatedPartitions: 2,
      underMinIsrPartitions: 2,
    });
    expect(answer.brokers?.map(({ leaders, replicas }) => [leaders, replicas])).toEqual([
      [1, 3],
      [1, 3],
      [0, 3],
    ]);
  });
});
