/** How far followers are, asked of the leader of their partition. */
import {
  methods,
  type DescribeReplicasPartitionInput,
  type DescribeReplicasResponse,
  type FollowerProgress,
} from '@tributary/protocol';
import { TOPIC, TOPIC_ID } from '../replication/data-cluster.fixture';
import type { DataLimits } from '../replication/data-limits';
import { dataWorld, type World } from '../replication/data-world.fixture';

const named = { topic: TOPIC, topicId: TOPIC_ID, partition: 0, leaderEpoch: -1 };

async function describeAt(
  w: World,
  leader: number,
  ...partitions: DescribeReplicasPartitionInput[]
): Promise<DescribeReplicasResponse> {
  const { describeReplicas } = methods.admin;
  const request = { partitions: partitions.map((asked) => ({ ...named, ...asked })) };
  return w.within(w.cluster.connection(leader).call(describeReplicas, request, { timeoutMs: 60_000 })); // prettier-ignore
}

async function followerOf(w: World, brokerId: number): Promise<FollowerProgress | undefined> {
  const { results } = await describeAt(w, 1, {});
  return results[0]?.followers.find((follower) => follower.brokerId === brokerId);
}

/** Broker 3 was away while 100 batches were written, and follows again on the throttled stream. */
async function worldWithOneFarBehind(limits: Partial<DataLimits>): Promise<World> {
  const catchUp = { catchUpFromBytes: 2_000, catchUpUntilBytes: 500, catchUpPushBytes: 300 };
  const w = await dataWorld([1, 2, 3], { ...catchUp, ...limits });
  await w.cluster.createTopic([[1, 2, 3]]);
  w.cluster.crash(3);
  await w.cluster.publish([]);
  await w.until(() => w.isr().join() === '1,2');
  for (let at = 0; at < 100; at += 1) await w.within(w.cluster.produce(1, [`record-${at}`]));
  await w.cluster.startBroker(3);
  return w;
}

test('a follower in sync has what the leader has', async () => {
  const w = await dataWorld([1, 2]);
  await w.cluster.createTopic([[1, 2]]);
  await w.within(w.cluster.produce(1, ['a', 'b', 'c']));
  const { results } = await describeAt(w, 1, {});
  expect(results).toMatchObject([
    {
      ...{ topic: TOPIC, topicId: TOPIC_ID, partition: 0, leaderEpoch: 0, error: null },
      ...{ logStartOffset: 0, logEndOffset: 3, logBytes: w.log(1).sizeBytes },
      followers: [
        { brokerId: 2, attached: true, logEndOffset: 3, bytesBehind: 0, catchingUp: false },
      ],
    },
  ]);
  await w.close();
});

test('one that catches up: what it has, what it lacks, how fast it comes, and the rate that bounds it', async () => {
  const w = await worldWithOneFarBehind({ catchUpBytesPerSecond: 1_000 });
  await w.clock.advance(4_000);
  const { results, catchUpBytesPerSecond } = await describeAt(w, 1, {});
  expect(catchUpBytesPerSecond).toBe(1_000);
  const behind = results[0]?.followers.find(({ brokerId }) => brokerId === 3);
  const { logEndOffset, sizeBytes } = w.log(3);
  expect(behind).toMatchObject({ attached: true, catchingUp: true, logEndOffset });
  expect(behind?.bytesBehind).toBe(w.log(1).sizeBytes - sizeBytes);
  expect(behind?.bytesPerSecond).toBeGreaterThan(500);
  expect(behind?.bytesPerSecond).toBeLessThan(1_500);
  w.cluster.manager(1).setCatchUpRate(undefined);
  await w.until(() => w.isr().join() === '1,2,3');
  await w.clock.advance(10_000);
  expect(await followerOf(w, 3)).toEqual({
    ...{ brokerId: 3, attached: true, logEndOffset: 100, bytesBehind: 0 },
    ...{ bytesPerSecond: 0, catchingUp: false },
  });
  await w.close();
});

test('of one that does not follow now nothing is told', async () => {
  const w = await worldWithOneFarBehind({ catchUpBytesPerSecond: 100 });
  await w.clock.advance(2_000);
  expect(await followerOf(w, 3)).toMatchObject({ attached: true });
  w.cluster.crash(3);
  await w.clock.advance(1_000);
  const gone = { brokerId: 3, attached: false, logEndOffset: -1, bytesBehind: -1 };
  expect(await followerOf(w, 3)).toMatchObject(gone);
  await w.close();
});

test('only the leader answers, in the epoch that is meant, and of this topic', async () => {
  const w = await dataWorld([1, 2]);
  await w.cluster.createTopic([[1, 2]]);
  const code = async (asked: DescribeReplicasPartitionInput, at = 1) =>
    (await describeAt(w, at, asked)).results[0]?.error?.code;
  expect(await code({}, 2)).toBe('NOT_LEADER');
  expect(await code({ leaderEpoch: 1 })).toBe('UNKNOWN_LEADER_EPOCH');
  expect(await code({ topicId: 'BBBBBBBBBBBBBBBBBBBBBQ' })).toBe('TOPIC_ID_MISMATCH');
  expect(await code({ partition: 7 })).toBe('UNKNOWN_PARTITION');
  await w.close();
});

test('one partition that is refused keeps nothing from the others; by name alone it is this topic', async () => {
  const w = await dataWorld([1, 2]);
  await w.cluster.createTopic([[1, 2], [2, 1]]); // prettier-ignore
  const { results } = await describeAt(w, 1, { partition: 1 }, { topicId: '' });
  expect(results).toMatchObject([
    { partition: 1, error: { code: 'NOT_LEADER' }, followers: [] },
    { partition: 0, topicId: TOPIC_ID, error: null, followers: [{ brokerId: 2 }] },
  ]);
  await w.close();
});

test('too many partitions in a request are refused', async () => {
  const w = await dataWorld([1], { maxPartitionsPerRequest: 1 });
  await w.cluster.createTopic([[1]]);
  await expect(describeAt(w, 1, {}, {})).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  await w.close();
});
