/** A leader that is cut off from its peers, and from them alone: it hears from the coordinator that others were elected. */
import { silentLogger, TributaryError } from '@tributary/common';
import type { VersionedPartitionState } from '@tributary/coordination';
import { SimulatedClock } from '@tributary/testkit';
import { World } from './broker-world.fixture';
import { LeadershipCheck } from './leadership-check';
import type { Leadership } from './seams';

describe('a whole cluster', () => {
  test('whoever is cut off leads nothing soon after its partitions went to others, and takes no write for them', async () => {
    const world = new World();
    await world.start(1, 2, 3);
    const topicId = await world.createTopic('orders', 6);
    for (const partition of [0, 1, 2, 3, 4, 5]) await world.produce(topicId, partition, 'before');
    const victim = world.leaders().get(0)![0]!;
    const ledBy = (brokerId: number): number =>
      [...world.leaders().values()].filter((leaders) => leaders.includes(brokerId)).length;
    for (const other of [1, 2, 3]) {
      if (other !== victim) world.network.partition(`host-${victim}`, `host-${other}`);
    }
    await world.until(() =>
      world
        .leaders()
        .get(0)!
        .some((leader) => leader !== victim),
    );
    await world.until(() => ledBy(victim) === 0, 2_000);
    await world.until(() => [...world.leaders().values()].every(({ length }) => length === 1));
    expect(world.leaders().size).toBe(6);
    expect(await world.produce(topicId, 0, 'after')).toBe(1);
    world.network.heal();
    await world.until(() => world.ready(victim));
    expect(await world.fetch(topicId, 0)).toEqual(['before', 'after']);
  });
});

describe('the check', () => {
  function world() {
    const clock = new SimulatedClock();
    const led: Leadership[] = [0, 1].map((partition) => ({ topic: 'orders', topicId: 'A', partition, leaderEpoch: 4 })); // prettier-ignore
    const asked: string[] = [];
    const ended: string[] = [];
    const source = { silentMs: 0, failure: undefined as TributaryError | undefined };
    const stored = (partition: number): VersionedPartitionState => ({
      ...{ topic: 'orders', topicId: 'A', partition, leader: 2, leaderEpoch: 5, isr: [2] },
      ...{ controllerEpoch: 1, eligibleLeaders: [], partitionEpoch: 7, writtenAt: 1 },
    });
    const check = new LeadershipCheck({
      clock,
      logger: silentLogger,
      heartbeatTimeoutMs: 3_000,
      controllerSilentForMs: () => source.silentMs,
      states: {
        read: async (topic, only = []) => {
          asked.push(`${topic} ${only.join()}`);
          if (source.failure) throw source.failure;
          return only.map(stored);
        },
      },
      host: () => ({
        leaderships: () => led,
        endLeadership: ({ partition, leaderEpoch }, reason) =>
          ended.push(`${partition} at ${leaderEpoch}: ${reason}`),
      }),
    });
    check.start();
    return { clock, check, source, asked, ended };
  }

  test('asks nothing while a controller is heard', async () => {
    const { clock, source, asked } = world();
    source.silentMs = 2_999;
    await clock.advance(10_000);
    expect(asked).toEqual([]);
  });

  test('asks for what is led, and tells what the coordinator has', async () => {
    const { clock, check, source, asked, ended } = world();
    source.silentMs = 3_000;
    await clock.advance(600);
    expect(asked).toEqual(['orders 0,1']);
    expect(ended).toEqual(['0 at 5: leader epoch 5 began', '1 at 5: leader epoch 5 began']);
    check.stop();
    await clock.advance(5_000);
    expect(asked).toHaveLength(1);
  });

  test('goes on after the coordinator did not answer', async () => {
    const { clock, check, source, asked, ended } = world();
    source.silentMs = 3_000;
    source.failure = new TributaryError('COORDINATOR_UNAVAILABLE', 'no quorum');
    await clock.advance(1_100);
    expect(ended).toEqual([]);
    source.failure = undefined;
    await clock.advance(500);
    expect([asked.length, ended.length]).toEqual([3, 2]);
    check.stop();
  });
});
