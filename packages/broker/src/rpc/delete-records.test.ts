/** Deletion of records: by the leader, up to the high watermark, followed by its replicas before it is answered. */
import {
  methods,
  type DeleteRecordsPartitionInput,
  type DeleteRecordsResult,
} from '@tributary/protocol';
import { TOPIC, TOPIC_ID } from '../replication/data-cluster.fixture';
import { dataWorld, type World as DataWorld } from '../replication/data-world.fixture';

interface World extends DataWorld {
  write(...values: string[]): Promise<void>;
  trim(
    asked: DeleteRecordsPartitionInput,
    timeoutMs?: number,
    at?: number,
  ): Promise<DeleteRecordsResult>;
}

async function world(replicas: number[]): Promise<World> {
  const w = await dataWorld(replicas);
  const { cluster, clock, within } = w;
  await cluster.createTopic([replicas]);
  await clock.advance(50);
  const named = { topic: TOPIC, topicId: TOPIC_ID, partition: 0, leaderEpoch: -1 };
  return {
    ...w,
    write: async (...values) => {
      for (const value of values) {
        const { error } = await within(cluster.produce(1, [value]));
        if (error) throw new Error(error.message);
      }
    },
    trim: async (asked, timeoutMs = 5_000, at = 1) => {
      const partitions = [{ ...named, ...asked }];
      const call = cluster
        .connection(at)
        .call(methods.admin.deleteRecords, { partitions, timeoutMs }, { timeoutMs: 60_000 });
      return (await within(call)).results[0]!;
    },
  };
}

const starts = (w: World, ids: number[]): number[] => ids.map((id) => w.log(id).logStartOffset);

test('every in-sync replica has deleted when it is answered', async () => {
  const w = await world([1, 2, 3]);
  await w.write('a', 'b', 'c', 'd');
  const result = await w.trim({ beforeOffset: 3 });
  expect(result).toMatchObject({ partition: 0, topicId: TOPIC_ID, logStartOffset: 3, error: null });
  expect(starts(w, [1, 2, 3])).toEqual([3, 3, 3]);
  await w.close();
});

test('-1 is up to the high watermark; what was deleted already changes nothing', async () => {
  const w = await world([1, 2]);
  await w.write('a', 'b');
  expect((await w.trim({ beforeOffset: -1 })).logStartOffset).toBe(2);
  expect((await w.trim({ beforeOffset: 1 })).logStartOffset).toBe(2);
  await w.write('c');
  expect(w.values(2)).toEqual(['c']);
  await w.close();
});

test('above the high watermark nothing is deleted', async () => {
  const w = await world([1]);
  await w.write('a');
  expect((await w.trim({ beforeOffset: 2 })).error).toMatchObject({ code: 'OFFSET_OUT_OF_RANGE' });
  expect((await w.trim({ beforeOffset: -2 })).error).toMatchObject({ code: 'INVALID_ARGUMENT' });
  expect(w.log(1).logStartOffset).toBe(0);
  await w.close();
});

test('only the leader takes it, in the epoch that is meant, and of this topic', async () => {
  const w = await world([1, 2]);
  await w.write('a');
  const code = async (asked: DeleteRecordsPartitionInput, at = 1) =>
    (await w.trim({ beforeOffset: 1, ...asked }, 100, at)).error?.code;
  expect(await code({}, 2)).toBe('NOT_LEADER');
  expect(await code({ leaderEpoch: 1 })).toBe('UNKNOWN_LEADER_EPOCH');
  expect(await code({ topicId: 'BBBBBBBBBBBBBBBBBBBBBQ' })).toBe('TOPIC_ID_MISMATCH');
  expect(await code({ partition: 7 })).toBe('UNKNOWN_PARTITION');
  expect(w.log(1).logStartOffset).toBe(0);
  expect(await code({ topicId: '' })).toBeUndefined();
  await w.close();
});

test('a replica that cannot be reached: TIMEOUT, or done once it has left the ISR', async () => {
  const w = await world([1, 2]);
  await w.write('a', 'b');
  w.network.partition('b1', 'b2');
  const result = await w.trim({ beforeOffset: 1 }, 1_000);
  expect(result.error).toMatchObject({ code: 'TIMEOUT' });
  expect(result.error?.message).toContain('brokers 2');
  expect(starts(w, [1, 2])).toEqual([1, 0]);
  await w.within(w.cluster.produce(1, ['c'], { acks: 1 })); // it lags from now on
  const waiting = await w.trim({ beforeOffset: 2 }, 30_000);
  expect(w.isr()).toEqual([1]);
  expect(waiting).toMatchObject({ logStartOffset: 2, error: null });
  w.network.heal();
  await w.until(() => w.log(2).logStartOffset === 2);
  await w.close();
});

test('a follower that comes back later hears of it with its attach', async () => {
  const w = await world([1, 2]);
  await w.write('a', 'b', 'c');
  await w.clock.advance(50);
  w.cluster.crash(2);
  await w.clock.advance(15_000);
  await w.trim({ beforeOffset: 2 });
  await w.cluster.startBroker(2);
  await w.until(() => w.log(2).logStartOffset === 2);
  expect(w.values(2)).toEqual(['c']);
  await w.close();
});

test('one that lies wholly below the new log start begins anew there', async () => {
  const w = await world([1, 2]);
  await w.write('a');
  await w.clock.advance(50);
  w.cluster.crash(2);
  await w.clock.advance(15_000);
  await w.cluster.change([{ ...w.cluster.state(), partitionEpoch: 9 }]);
  for (const value of ['b', 'c', 'd']) {
    await w.within(w.cluster.produce(1, [value], { acks: 1 }));
  }
  await w.clock.advance(1_000);
  w.log(1).deleteRecordsBefore(3);
  await w.cluster.startBroker(2);
  await w.until(() => w.log(2).logEndOffset === 4);
  expect(starts(w, [1, 2])).toEqual([3, 3]);
  await w.close();
});

test('leadership that ends while it waits: NOT_LEADER', async () => {
  const w = await world([1, 2]);
  await w.write('a');
  w.network.partition('b1', 'b2');
  const waiting = w.trim({ beforeOffset: 1 }, 60_000);
  await w.clock.advance(100);
  await w.cluster.elect(2);
  expect((await waiting).error).toMatchObject({ code: 'NOT_LEADER' });
  await w.close();
});
