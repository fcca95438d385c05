import { Deadline } from '@tributary/common';
import type { CallContext, MetadataResponseInput, PartitionState } from '@tributary/protocol';
import { SimulatedClock } from '@tributary/testkit';
import { ClusterImage } from '../metadata/cluster-image';
import { MetadataCache } from '../metadata/metadata-cache';
import { describeCluster } from './admin-describe-cluster';
import {
  answerMetadata,
  maxAwaitedInAll,
  maxAwaitedLeaders,
  maxLeaderWaitMs,
  maxLeaderWaits,
  metadataHandler,
} from './metadata-handler';

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

describe('a topic that is named again and again', () => {
  it('is answered once', () => {
    const answer = answerMetadata(
      { metadata: cache(), clusterId: 'c' },
      { topics: ['orders', 'nope', 'orders', 'nope'], allTopics: false, listener: '' },
      context,
    );
    expect(answer.topics?.map(({ topic }) => topic)).toEqual(['orders', 'nope']);
  });
});

describe('Metadata that waits for a leader', () => {
  function world() {
    const clock = new SimulatedClock();
    const metadata = cache();
    const handler = metadataHandler({ metadata, clusterId: 'c', clock });
    if (!('unary' in handler)) throw new Error('it is a unary method');
    const awaited = [
      { topic: 'orders', partition: 0, leaderEpoch: 4 },
      { topic: 'orders', partition: 2, leaderEpoch: 4 },
    ];
    const ask = (more: object = {}): { leaders: number[] | undefined } => {
      const answer: { leaders: number[] | undefined } = { leaders: undefined };
      const request = { topics: ['orders'], allTopics: false, listener: '', awaited, maxWaitMs: 500, ...more }; // prettier-ignore
      void handler.unary(request, context).then((given) => {
        const { topics } = given as MetadataResponseInput;
        answer.leaders = topics?.[0]?.partitions?.map(({ leader }) => leader ?? -1) ?? [];
      });
      return answer;
    };
    const lead = (changed: PartitionState): void => {
      const { controllerEpoch, sequence } = metadata.image;
      metadata.replace(
        ClusterImage.from({
          ...{ controllerId: 2, controllerEpoch, sequence: sequence + 1 },
          brokers: [...metadata.image.brokers()],
          topics: [...metadata.image.topics()],
          partitions: [0, 1, 2].map((partition) =>
            partition === changed.partition
              ? changed
              : metadata.image.partition('orders-id', partition)!,
          ),
        }),
      );
    };
    return { clock, metadata, handler, ask, lead };
  }

  it('comes with the image that names one in a later epoch, of any of those it waits for', async () => {
    const { clock, ask, lead } = world();
    const answer = ask();
    await clock.advance(100);
    lead({ ...state(2, -1, [3]), leaderEpoch: 5 });
    lead({ ...state(0, 1, [1, 2]), partitionEpoch: 10 });
    await clock.advance(100);
    expect(answer.leaders).toBeUndefined();
    lead({ ...state(2, 3, [3]), leaderEpoch: 6 });
    await clock.advance(1);
    expect(answer.leaders).toEqual([1, 2, 3]);
  });

  it('comes at once where the image knows of one, where the topic is gone, and where no wait is asked for', async () => {
    const { clock, ask } = world();
    const answers = [
      ask({ awaited: [{ topic: 'orders', partition: 1, leaderEpoch: 3 }] }),
      ask({ awaited: [{ topic: 'gone', partition: 0, leaderEpoch: 3 }] }),
      ask({ maxWaitMs: 0 }),
      ask({ awaited: [] }),
    ];
    await clock.advance(1);
    for (const { leaders } of answers) expect(leaders).toEqual([1, 2, -1]);
  });

  it('comes without one when the wait is over, which has a limit', async () => {
    const { clock, ask } = world();
    const [short, long] = [ask(), ask({ maxWaitMs: 1_000_000 })];
    await clock.advance(499);
    expect(short.leaders).toBeUndefined();
    await clock.advance(1);
    expect(short.leaders).toEqual([1, 2, -1]);
    await clock.advance(maxLeaderWaitMs - 501);
    expect(long.leaders).toBeUndefined();
    await clock.advance(1);
    expect(long.leaders).toEqual([1, 2, -1]);
  });

  it('does not wait where too many do already, and for too many partitions not at all', async () => {
    const { clock, handler, ask } = world();
    const answers = Array.from({ length: maxLeaderWaits + 1 }, () => ask());
    await clock.advance(1);
    expect(answers.filter(({ leaders }) => leaders !== undefined)).toHaveLength(1);
    const awaited = Array(maxAwaitedLeaders + 1).fill({ topic: 'orders', partition: 0, leaderEpoch: 0 }); // prettier-ignore
    const request = { topics: [], allTopics: false, listener: '', awaited, maxWaitMs: 500 };
    await expect(handler.unary(request, context)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
    await clock.advance(1_000);
    const again = ask();
    await clock.advance(1);
    expect(again.leaders).toBeUndefined();
    await clock.advance(500);
  });

  it('does not wait either where all that wait would look for too many leaders in each new image', async () => {
    const { clock, ask } = world();
    const awaited = Array(maxAwaitedLeaders).fill({ topic: 'orders', partition: 0, leaderEpoch: 4 }); // prettier-ignore
    const large = Array.from({ length: maxAwaitedInAll / maxAwaitedLeaders }, () =>
      ask({ awaited }),
    );
    const more = ask();
    await clock.advance(1);
    expect(large.filter(({ leaders }) => leaders !== undefined)).toHaveLength(0);
    expect(more.leaders).toEqual([1, 2, -1]);
    await clock.advance(500);
    const again = ask();
    await clock.advance(1);
    expect(again.leaders).toBeUndefined();
    await clock.advance(500);
  });

  it('leaves room for commands that wait until an image shows what they did', async () => {
    const { clock, metadata, ask } = world();
    for (let n = 0; n <= maxLeaderWaits; n += 1) ask({ maxWaitMs: maxLeaderWaitMs });
    const deadline = Deadline.after(clock, 100);
    const command = metadata.waitFor(() => false, deadline, 'what it did');
    await expect(clock.settleWithin(command, 200)).rejects.toMatchObject({ code: 'TIMEOUT' });
    await clock.advance(1_000);
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
