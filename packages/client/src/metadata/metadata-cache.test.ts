import { Deadline, seededRandom, sharedAbort, sleep, TributaryError } from '@tributary/common';
import { SimulatedClock } from '@tributary/testkit';
import type {
  AwaitedLeader,
  BrokerNode,
  ClusterSnapshot,
  MetadataSource,
  TopicView,
} from '../seams';
import { METADATA_MAX_AGE_MS, MetadataCache } from './metadata-cache';

const nodes = [1, 2, 3].map((brokerId): BrokerNode => {
  return { brokerId, brokerEpoch: 1, address: { host: `b${brokerId}`, port: 9292 } };
});

function view(topicId: string, ...leaders: [leader: number, epoch: number][]): TopicView {
  return {
    topic: 'orders',
    topicId,
    configs: {},
    partitions: leaders.map(([leader, leaderEpoch], partition) => ({
      partition,
      leader: nodes[leader - 1],
      leaderEpoch,
      replicas: [1, 2, 3],
      isr: [1, 2, 3],
    })),
  };
}

/** What the cluster says now; counts who asked. */
class FakeSource implements MetadataSource {
  topics: TopicView[] = [];
  reads: (readonly string[] | undefined)[] = [];
  failure: TributaryError | undefined;
  delayMs = 0;
  doubts = 0;
  /** What each look that may wait was for: partition@epoch. */
  looks: string[] = [];
  /** False: as a source that does not know how to wait. */
  waits = true;

  constructor(private readonly clock: SimulatedClock) {}

  async read(topics: readonly string[] | undefined): Promise<ClusterSnapshot> {
    this.reads.push(topics);
    await new Promise<void>((resolve) => this.clock.setTimer(this.delayMs, resolve));
    if (this.failure) throw this.failure;
    const found = this.topics.filter(({ topic }) => topics === undefined || topics.includes(topic));
    return { clusterId: 'c', controllerId: 1, brokers: nodes, topics: found };
  }

  /** Waits as a broker does. */
  async readNext(
    awaited: readonly AwaitedLeader[],
    maxWaitMs: number,
    { signal }: Deadline,
  ): Promise<ClusterSnapshot> {
    this.looks.push(awaited.map(({ partition, leaderEpoch }) => `${partition}@${leaderEpoch}`).join(' ')); // prettier-ignore
    const until = this.clock.now() + maxWaitMs;
    const isThere = (): boolean =>
      awaited.some(({ topic, partition, leaderEpoch }) => {
        const found = this.topics.find((one) => one.topic === topic)?.partitions[partition];
        return found?.leader !== undefined && found.leaderEpoch > leaderEpoch;
      });
    while (this.waits && !this.failure && !isThere() && this.clock.now() < until) {
      await sleep(this.clock, 1, signal);
    }
    return this.read(awaited.map(({ topic }) => topic));
  }

  doubt(): void {
    this.doubts += 1;
  }

  async anyBroker(attempt: number): Promise<BrokerNode> {
    return nodes[attempt % nodes.length] as BrokerNode;
  }

  async close(): Promise<void> {}
}

function setup(waitForTopic = false) {
  const clock = new SimulatedClock();
  const source = new FakeSource(clock);
  const closing = sharedAbort();
  const cache = new MetadataCache(clock, seededRandom(1), source, {
    requestTimeoutMs: 1_000,
    waitForTopic,
    closing: closing.signal,
  });
  const within = (ms: number, signal?: AbortSignal): Deadline => Deadline.after(clock, ms, signal);
  return { clock, source, cache, within, closing };
}

describe('reading on demand', () => {
  test('a topic is read once, then cached', async () => {
    const { clock, source, cache, within } = setup();
    source.topics = [view('A', [1, 1])];
    expect(cache.cached('orders')).toBeUndefined();
    const found = await clock.settleWithin(cache.topic('orders', within(100)), 100);
    expect(found).toBe(cache.cached('orders'));
    await cache.topic('orders', within(100));
    expect(source.reads).toEqual([['orders']]);
  });

  test('one read in flight; who asks meanwhile shares the next one', async () => {
    const { clock, source, cache, within } = setup();
    source.delayMs = 10;
    const first = cache.refresh(['a'], within(100));
    await clock.advance(5);
    const others = ['b', 'c', 'b'].map((topic) => cache.refresh([topic], within(100)));
    await clock.settleWithin(Promise.all([first, ...others]), 100);
    expect(source.reads).toEqual([['a'], ['b', 'c']]);
  });

  test('a topic in use is read again after a while, once, beside what goes on', async () => {
    const { clock, source, cache, within } = setup();
    source.topics = [view('a', [1, 1])];
    await clock.settleWithin(cache.topic('orders', within(100)), 1_000);
    cache.refreshIfOld('orders');
    await clock.advance(METADATA_MAX_AGE_MS);
    expect(source.reads).toHaveLength(1);
    source.topics = [view('a', [1, 1], [2, 1])];
    for (let time = 0; time < 3; time += 1) cache.refreshIfOld('orders');
    expect(cache.cached('orders')?.partitions).toHaveLength(1);
    await clock.advance(1_000);
    expect(cache.cached('orders')?.partitions).toHaveLength(2);
    expect(source.reads).toHaveLength(2);
  });

  test('a failed read fails its callers, not the next read', async () => {
    const { clock, source, cache, within } = setup();
    source.failure = new TributaryError('UNAVAILABLE', 'down');
    await expect(clock.settleWithin(cache.refresh(['a'], within(100)), 100)).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    });
    source.failure = undefined;
    await clock.settleWithin(cache.refresh(['a'], within(100)), 100);
  });

  test('a topic that does not exist: UNKNOWN_TOPIC after a short grace', async () => {
    const { clock, cache, within } = setup();
    await expect(
      clock.settleWithin(cache.topic('orders', within(60_000)), 2_000),
    ).rejects.toMatchObject({ code: 'UNKNOWN_TOPIC', details: { topic: 'orders' } });
  });

  test('a topic that appears within the grace, or is waited for, is found', async () => {
    for (const [waitForTopic, afterMs] of [
      [false, 1_000],
      [true, 20_000],
    ] as const) {
      const { clock, source, cache, within } = setup(waitForTopic);
      const found = cache.topic('orders', within(60_000));
      await clock.advance(afterMs);
      source.topics = [view('A', [1, 1])];
      await expect(clock.settleWithin(found, 2_000)).resolves.toMatchObject({ topicId: 'A' });
    }
  });

  test('an unreachable cluster is retried until the deadline, and then told as such', async () => {
    const { clock, source, cache, within } = setup();
    source.failure = new TributaryError('UNAVAILABLE', 'no broker answers at b1');
    await expect(
      clock.settleWithin(cache.topic('orders', within(5_000)), 5_010),
    ).rejects.toMatchObject({ code: 'UNAVAILABLE' });
    expect(source.reads.length).toBeGreaterThan(4);
  });

  test('an abort ends the wait at once', async () => {
    const { clock, cache, within } = setup(true);
    const abort = new AbortController();
    const wait = cache.topic('orders', within(60_000, abort.signal));
    await clock.advance(100);
    abort.abort();
    await expect(wait).rejects.toMatchObject({ code: 'CANCELLED' });
  });
});

describe('leaders', () => {
  async function known(...leaders: [number, number][]) {
    const world = setup();
    world.source.topics = [view('A', ...leaders)];
    await world.clock.settleWithin(world.cache.topic('orders', world.within(100)), 100);
    world.source.reads = [];
    const leader = async (partition = 0, ms = 1_000): Promise<string> => {
      const work = world.cache.leader('orders', partition, world.within(ms));
      const found = await world.clock.settleWithin(work, ms + 10);
      return `${found.leader.brokerId}@${found.leaderEpoch}`;
    };
    return { ...world, leader };
  }
  const refused = (leaderId: number, leaderEpoch: number): TributaryError =>
    new TributaryError('NOT_LEADER', 'not me', { leader: { leaderId, leaderEpoch } });
  const gone = new TributaryError('UNAVAILABLE', 'gone');

  test('from the cache, without a read', async () => {
    const { source, leader } = await known([1, 4]);
    expect(await leader()).toBe('1@4');
    expect(source.reads).toEqual([]);
  });

  test('a hint of a higher epoch is taken without a read', async () => {
    const { source, cache, leader } = await known([1, 4]);
    cache.reportFailure('orders', 0, 4, refused(2, 5));
    expect(await leader()).toBe('2@5');
    expect(source.reads).toEqual([]);
  });

  test('a hint may name a broker that is not known yet', async () => {
    const { cache, leader } = await known([1, 4]);
    const hint = { leaderId: 9, leaderEpoch: 5, host: 'b9', port: 1 };
    cache.reportFailure('orders', 0, 4, new TributaryError('NOT_LEADER', '', { leader: hint }));
    expect(await leader()).toBe('9@5');
    expect(cache.cached('orders')?.partitions[0]?.leader?.address).toEqual({ host: 'b9', port: 1 });
  });

  test('a hint of the same or a lower epoch only makes the leader suspect', async () => {
    const { source, cache, leader } = await known([1, 4]);
    cache.reportFailure('orders', 0, 4, refused(2, 4));
    expect(await leader()).toBe('1@4');
    expect(source.reads).toHaveLength(1);
  });

  test('who named a leader that is none is in doubt: it may have been cut off from the controller', async () => {
    const { source, cache, leader } = await known([1, 4]);
    expect(source.doubts).toBe(0);
    cache.reportFailure('orders', 0, 4, new TributaryError('NOT_LEADER', 'not me any more'));
    expect(source.doubts).toBe(1);
    source.topics = [view('A', [2, 5])];
    expect(await leader()).toBe('2@5');
  });

  test('only the partition that failed is looked up anew', async () => {
    const { source, cache, leader } = await known([1, 4], [2, 7]);
    source.topics = [view('A', [3, 5], [2, 7])];
    cache.reportFailure('orders', 0, 4, gone);
    expect(await leader(1)).toBe('2@7');
    expect(source.reads).toEqual([]);
    expect(await leader(0)).toBe('3@5');
    expect(source.reads).toEqual([['orders']]);
  });

  test('a late report about an older epoch changes nothing', async () => {
    const { source, cache, leader } = await known([1, 4]);
    cache.reportFailure('orders', 0, 3, gone);
    expect(await leader()).toBe('1@4');
    expect(source.reads).toEqual([]);
  });

  test('a lower leader epoch of the same topic id is never accepted', async () => {
    const { clock, source, cache, within, leader } = await known([1, 4], [2, 7]);
    source.topics = [view('A', [3, 3], [3, 8])];
    await clock.settleWithin(cache.refresh(['orders'], within(100)), 100);
    expect(await leader(0)).toBe('1@4');
    expect(await leader(1)).toBe('3@8');
  });

  test('not even when the topic was out of sight for a while', async () => {
    const { clock, source, cache, within, leader } = await known([1, 4]);
    source.topics = [];
    await clock.settleWithin(cache.refresh(['orders'], within(100)), 100);
    expect(cache.cached('orders')).toBeUndefined();
    source.topics = [view('A', [3, 3])];
    expect(await leader()).toBe('1@4');
  });

  test('a new topic id replaces the topic, whatever its epochs; the old one never comes back', async () => {
    const { clock, source, cache, within, leader } = await known([1, 4]);
    source.topics = [view('B', [2, 0])];
    await clock.settleWithin(cache.refresh(['orders'], within(100)), 100);
    expect(await leader()).toBe('2@0');
    source.topics = [view('A', [1, 9])];
    await clock.settleWithin(cache.refresh(['orders'], within(100)), 100);
    expect(cache.cached('orders')?.topicId).toBe('B');
  });

  test('without a leader it waits for one', async () => {
    const { clock, source, cache, within } = await known([9, 4]); // nobody has id 9
    const found = cache.leader('orders', 0, within(10_000));
    await clock.advance(3_000);
    source.topics = [view('A', [2, 5])];
    await expect(clock.settleWithin(found, 300)).resolves.toMatchObject({ leaderEpoch: 5 });
  });

  test('no leader until the deadline: LEADER_NOT_AVAILABLE', async () => {
    const { leader } = await known([9, 4]);
    await expect(leader(0, 2_000)).rejects.toMatchObject({ code: 'LEADER_NOT_AVAILABLE' });
  });

  test('the same when the deadline falls into a read', async () => {
    const { leader, source } = await known([9, 4]);
    source.delayMs = 700;
    await expect(leader(0, 2_000)).rejects.toMatchObject({ code: 'LEADER_NOT_AVAILABLE' });
  });

  test('a partition that is not there, even after a fresh read: UNKNOWN_PARTITION', async () => {
    const { source, leader } = await known([1, 4]);
    await expect(leader(1)).rejects.toMatchObject({ code: 'UNKNOWN_PARTITION' });
    expect(source.reads).toHaveLength(1);
  });

  test('after a failure its next leader is known as soon as there is one, and who pauses is called', async () => {
    const { clock, source, cache, leader } = await known([1, 4], [1, 4], [3, 8]);
    const heard: string[] = [];
    for (const partition of [0, 1]) {
      cache.reportFailure('orders', partition, 4, gone);
      cache.onLeader({ topic: 'orders', partition, leaderEpoch: 4 }, () =>
        heard.push(`${partition} after ${clock.now()} ms`),
      );
    }
    await clock.advance(30);
    expect(heard).toEqual([]);
    source.topics = [view('A', [2, 5], [3, 5], [3, 8])];
    await clock.advance(2);
    expect(heard.map((one) => one.slice(0, 7))).toEqual(['0 after', '1 after']);
    expect([await leader(0), await leader(1)]).toEqual(['2@5', '3@5']);
    expect(source.looks[0]).toBe('0@4 1@4');
  });

  test('an answer that knows nothing of a partition takes nothing away from it', async () => {
    const { clock, source, cache, leader } = await known([1, 4], [2, 7]);
    const blank = { ...view('A', [9, 0]).partitions[0]!, partition: 1, leaderEpoch: -1 };
    const fresh = view('A', [3, 5], [2, 7]);
    source.topics = [{ ...fresh, partitions: [fresh.partitions[0]!, blank] }];
    cache.reportFailure('orders', 0, 4, gone);
    await clock.advance(100);
    expect([await leader(0), await leader(1)]).toEqual(['3@5', '2@7']);
  });

  test('looks that waited in vain go to another source, and end with the client', async () => {
    const { clock, source, cache, closing } = await known([1, 4]);
    cache.reportFailure('orders', 0, 4, gone);
    await clock.advance(1_000);
    expect(source.doubts).toBeGreaterThan(3);
    closing.abort();
    const { length } = source.looks;
    await clock.advance(5_000);
    expect(source.looks).toHaveLength(length);
  });
});
