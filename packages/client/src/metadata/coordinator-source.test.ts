/** What a `zookeeper:` client does for the next leader of a partition: it is told by a watch, and reads no more than it wants. */
import { Deadline, silentLogger } from '@tributary/common';
import {
  createBrokerRegistry,
  createClusterIdentity,
  createControllerElection,
  createPartitionStateStore,
  createTopicStore,
  type PartitionStateStore,
} from '@tributary/coordination';
import { EmbeddedHarness } from '@tributary/testkit';
import type { AwaitedLeader } from '../seams';
import { CoordinatorSource, MAX_WATCHED_PARTITIONS, type ClusterNouns } from './coordinator-source';

const PARTITIONS = 40;

async function world() {
  const harness = new EmbeddedHarness();
  const { clock, random } = harness;
  const coordinator = await harness.connect();
  const topics = createTopicStore(coordinator, clock, silentLogger);
  const states = createPartitionStateStore(coordinator);
  const registry = createBrokerRegistry(coordinator, clock, silentLogger);
  const election = createControllerElection(coordinator, clock, random);
  const identity = createClusterIdentity(coordinator, random);
  const elected = await harness.settle(election.elect(1));
  if (!elected.won) throw new Error('nobody else is there');
  for (const brokerId of [1, 2]) {
    const endpoints = [{ listener: 'outside', host: `b${brokerId}`, port: 9292 }];
    const client = createBrokerRegistry(await harness.connect(), clock, silentLogger);
    await harness.settle(client.register({ brokerId, endpoints, rack: undefined, hostname: 'h' }));
  }
  const assignment = Array.from({ length: PARTITIONS }, () => [1, 2]);
  await harness.settle(topics.create({ topic: 'orders', topicId: 'A', assignment, configs: {} }));
  const lead = async (leader: number, leaderEpoch: number, partitions: readonly number[]) => {
    const known = new Map((await states.read('orders')).map((one) => [one.partition, one]));
    const writes = partitions.map((partition) => ({
      state: {
        ...{ topic: 'orders', topicId: 'A', partition, leader, leaderEpoch },
        ...{ controllerEpoch: 1, isr: [1, 2], eligibleLeaders: [] },
      },
      expectedPartitionEpoch: known.get(partition)?.partitionEpoch,
    }));
    await states.write(elected.fence, writes);
  };
  await harness.settle(lead(1, 0, [...assignment.keys()]));
  const reads: (readonly number[] | undefined)[] = [];
  const counted: PartitionStateStore = {
    read: (topic, only) => {
      reads.push(only);
      return states.read(topic, only);
    },
    watch: (topic, partition, onChange) => states.watch(topic, partition, onChange),
    write: (fence, writes) => states.write(fence, writes),
  };
  const clusterId = (): Promise<string> => identity.getOrCreate();
  const nouns: ClusterNouns = { registry, topics, states: counted, election, clusterId };
  const source = new CoordinatorSource(clock, () => Promise.resolve(nouns), {
    listener: 'outside',
  });
  return { harness, clock, source, lead, reads };
}

const awaited = (...partitions: number[]): AwaitedLeader[] =>
  partitions.map((partition) => ({ topic: 'orders', partition, leaderEpoch: 0 }));

describe('the next leader', () => {
  test('is told when there is one, long before the wait is over', async () => {
    const { harness, clock, source, lead, reads } = await world();
    const began = clock.now();
    const next = source.readNext(awaited(3, 7), 250, Deadline.after(clock, 1_000));
    await clock.advance(100);
    expect(reads).toEqual([]);
    await harness.settle(lead(2, 1, [3, 7]));
    const { topics } = await harness.settle(next);
    expect(clock.now() - began).toBeLessThan(200);
    const found = topics[0]!.partitions;
    expect([3, 7].map((partition) => found[partition]?.leader?.brokerId)).toEqual([2, 2]);
    await harness.close();
  });

  test('only the partitions in question are read; of the others it knows nothing', async () => {
    const { harness, clock, source, reads } = await world();
    const next = source.readNext(awaited(3), 250, Deadline.after(clock, 1_000));
    const { topics } = await harness.settle(next);
    expect(reads).toEqual([[3]]);
    expect(topics[0]!.partitions).toHaveLength(PARTITIONS);
    expect(topics[0]!.partitions[3]).toMatchObject({ leaderEpoch: 0, leader: { brokerId: 1 } });
    expect(topics[0]!.partitions[4]).toMatchObject({ leaderEpoch: -1, leader: undefined });
    await harness.close();
  });

  test('of very many partitions some are watched, and all are read', async () => {
    const { harness, clock, source, lead } = await world();
    const all = [...Array(PARTITIONS).keys()];
    expect(all.length).toBeGreaterThan(MAX_WATCHED_PARTITIONS);
    const next = source.readNext(awaited(...all), 250, Deadline.after(clock, 1_000));
    await clock.advance(20);
    await harness.settle(lead(2, 1, all));
    const { topics } = await harness.settle(next);
    expect(new Set(topics[0]!.partitions.map(({ leader }) => leader?.brokerId))).toEqual(
      new Set([2]),
    );
    await harness.close();
  });
});
