/** When `consume --exit-at-end` ends, and that it never takes silence for an end. */
import { TributaryError } from '@tributary/common';
import type { Client, Consumer } from '@tributary/client';
import { EndWatch } from './end-watch';

const TOPIC = 'orders';

class FakeCluster {
  /** undefined: no leader tells. */
  ends: (bigint | undefined)[] = [];
  leaderless: TributaryError | undefined;
  positions = new Map<number, bigint>();
  stopped = false;
  probes = 0;

  readonly client = {
    admin: () => ({
      describeTopic: async () => ({
        partitions: this.ends.map((endOffset, partition) =>
          endOffset === undefined ? { partition } : { partition, startOffset: 0n, endOffset },
        ),
      }),
      listOffsets: async (_: string, query: string, { partitions }: { partitions: number[] }) => {
        this.probes += 1;
        if (this.leaderless) throw this.leaderless;
        return partitions.map((partition) => ({
          partition,
          offset: query === 'earliest' ? 0n : 7n,
        }));
      },
    }),
  } as unknown as Client;

  readonly consumer = {
    assignment: () => this.ends.map((_, partition) => ({ topic: TOPIC, partition })),
    position: (_: string, partition: number) => this.positions.get(partition),
    stop: async () => {
      this.stopped = true;
    },
  } as unknown as Consumer;

  watch(options: { partition?: number; timeoutMs?: number } = {}): Promise<EndWatch> {
    const { partition, timeoutMs = 1000 } = options;
    return EndWatch.start(this.client, this.consumer, TOPIC, {
      group: undefined,
      partition,
      timeoutMs,
    });
  }
}

const noLeader = new TributaryError('LEADER_NOT_AVAILABLE', 'partition 1 of topic orders has no leader'); // prettier-ignore

beforeEach(() => jest.useFakeTimers());
afterEach(() => jest.useRealTimers());

test('all partitions are read up to their ends: it stops', async () => {
  const cluster = new FakeCluster();
  cluster.ends = [3n, 0n];
  const watch = await cluster.watch();
  await jest.advanceTimersByTimeAsync(200);
  expect(cluster.stopped).toBe(false);
  cluster.positions.set(0, 3n);
  await jest.advanceTimersByTimeAsync(200);
  expect([cluster.stopped, watch.failure]).toEqual([true, undefined]);
});

test('a partition without a leader at the start is an error, not an end', async () => {
  const cluster = new FakeCluster();
  cluster.ends = [3n, undefined];
  cluster.leaderless = noLeader;
  await expect(cluster.watch()).rejects.toBe(noLeader);
  const other = await cluster.watch({ partition: 0 }); // it has nothing to do with that one
  other.stop();
});

test('a leader that is elected meanwhile tells the end after all', async () => {
  const cluster = new FakeCluster();
  cluster.ends = [undefined];
  await cluster.watch();
  cluster.positions.set(0, 6n);
  await jest.advanceTimersByTimeAsync(200);
  expect(cluster.stopped).toBe(false);
  cluster.positions.set(0, 7n);
  await jest.advanceTimersByTimeAsync(200);
  expect(cluster.stopped).toBe(true);
});

test('at a standstill the leaders are asked: one that is gone ends it, one that is there does not', async () => {
  const cluster = new FakeCluster();
  cluster.ends = [3n];
  const watch = await cluster.watch({ timeoutMs: 1000 });
  await jest.advanceTimersByTimeAsync(1500);
  expect([cluster.probes, cluster.stopped]).toEqual([1, false]);
  cluster.leaderless = noLeader;
  await jest.advanceTimersByTimeAsync(1500);
  expect([cluster.stopped, watch.failure]).toEqual([true, noLeader]);
});
