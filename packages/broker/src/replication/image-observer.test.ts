import type { TopicConfig } from '@tributary/common';
import { ClusterImage } from '../metadata/cluster-image';
import type { Partition } from '../partition/partition';
import type { PartitionEvent } from '../partition/partition-state';
import { defaultDataLimits } from './data-limits';
import { ImageObserver } from './image-observer';

const topicId = 'AAAAAAAAAAAAAAAAAAAAAA';
const topic = { topic: 'orders', topicId, configs: {} };
const broker = (brokerId: number, brokerEpoch = 5): never =>
  ({ brokerId, brokerEpoch, eligible: true, endpoints: [], configs: {} }) as never;
const state = (partition: number, partitionEpoch = 0): never =>
  ({
    ...{ topic: 'orders', topicId, partition, leader: 1, leaderEpoch: 0, partitionEpoch },
    ...{ isr: [1, 2], replicas: [1, 2], addingReplicas: [], removingReplicas: [] },
  }) as never;

const first = ClusterImage.from({
  ...{ controllerId: 1, controllerEpoch: 1, sequence: 0 },
  ...{ brokers: [broker(1), broker(2)], topics: [topic as never] },
  partitions: [state(0), state(1), state(2)],
});
const nothing = {
  ...{ brokers: [], removedBrokers: [], topics: [], removedTopicIds: [] },
  ...{ partitions: [], stopReplicas: [] },
};

function world(): { observer: ImageObserver; told(): string[] } {
  let told: string[] = [];
  const partitions = [0, 1, 2].map((number) => {
    const partition = {
      ...{ topicId, partition: number, config: undefined as TopicConfig | undefined },
      configure: (config: TopicConfig) => (partition.config = config),
      dispatch: (event: PartitionEvent) => told.push(`${number} ${event.kind}`),
    };
    return [`${number}`, partition as unknown as Partition] as const;
  });
  const links = { unfollow: () => undefined };
  const observer = new ImageObserver({
    partitions: new Map(partitions),
    links,
    limits: defaultDataLimits,
  });
  const take = (): string[] => {
    const taken = told;
    told = [];
    return taken;
  };
  return { observer, told: take };
}

test('a delta about one partition is told to that one alone', () => {
  const { observer, told } = world();
  observer.observe(first, false);
  expect(told()).toEqual(['0 cluster', '1 cluster', '2 cluster']);
  const next = first.apply({ ...nothing, sequence: 1, partitions: [state(1, 1)] });
  observer.observe(next, false);
  expect(told()).toEqual(['1 cluster']);
  expect(next.partition(topicId, 1)?.partitionEpoch).toBe(1);
});

test('another life of a broker, other limits and another configuration of the topic are told to all', () => {
  const { observer, told } = world();
  observer.observe(first, false);
  told();
  const { views } = observer;
  const bounced = first.apply({ ...nothing, sequence: 1, brokers: [broker(2, 9)] });
  observer.observe(bounced, false);
  expect(told()).toHaveLength(3);
  expect(observer.views).not.toBe(views);
  observer.observe(bounced, true);
  expect(told()).toHaveLength(3);
  const configs = { 'min.insync.replicas': '1' };
  observer.observe(bounced.apply({ ...nothing, sequence: 2, topics: [{ ...topic, configs }] } as never), false); // prettier-ignore
  expect(told()).toHaveLength(3);
});

test('what the image does not know is told so each time, and told anew when it is back', () => {
  const { observer, told } = world();
  observer.observe(first, false);
  told();
  const gone = first.apply({ ...nothing, sequence: 1, removedTopicIds: [topicId] });
  observer.observe(gone, false);
  observer.observe(gone, false);
  expect(told().filter((line) => line === '0 resign')).toHaveLength(2);
  observer.observe(first, false);
  expect(told()).toEqual(['0 cluster', '1 cluster', '2 cluster']);
});
