/** A partition that is far behind: moved to the catch-up stream, throttled there, and handed back. */
import { leader } from '../partition/partition-script.fixture';
import type { PartitionState } from '../partition/partition-state';
import { batchOf, TOPIC_ID } from './data-cluster.fixture';
import type { DataLimits } from './data-limits';
import { dataWorld, type World } from './data-world.fixture';
import { streamFor, type StreamKind } from './stream-kind';

/** Batches of these tests have some 80 bytes. */
const limits = {
  catchUpFromBytes: 2_000,
  catchUpUntilBytes: 500,
  catchUpPushBytes: 300,
};

/** Broker 3 was away while partition 0 got `batches` batches; it is out of the ISR, and follows again. */
async function worldWithOneFarBehind(
  batches: number,
  catchUpBytesPerSecond: number | undefined,
  others: Partial<DataLimits> = {},
): Promise<World> {
  const w = await dataWorld([1, 2, 3], { ...limits, ...others, catchUpBytesPerSecond });
  await w.cluster.createTopic([
    [1, 2, 3],
    [1, 2, 3],
  ]);
  w.cluster.crash(3);
  await w.cluster.publish([]);
  await w.until(() => w.isr().join() === '1,2');
  for (let at = 0; at < batches; at += 1) await w.within(w.cluster.produce(1, [`record-${at}`]));
  await w.cluster.startBroker(3);
  return w;
}

const catchesUp = (w: World, partition = 0): boolean =>
  w.cluster
    .manager(3)
    .status()
    .some((one) => one.topicId === TOPIC_ID && one.partition === partition && one.catchingUp);
const isWhole = (w: World): boolean => w.log(3).content.equals(w.log(1).content);
const dialsOf = (w: World, stream: string): number =>
  w.dials.filter((dial) => dial === `b3>b1 ${stream}`).length;

it('it moves to a stream on a connection of its own, and back when it is close: no gap, no double, in the ISR', async () => {
  const w = await worldWithOneFarBehind(100, undefined);
  await w.until(() => catchesUp(w));
  expect(catchesUp(w, 1)).toBe(false);
  let asksTooEarly = false;
  await w.until(() => {
    const asks = w.cluster.asked.some(
      ({ partition, isr }) => partition === 0 && isr.some(({ brokerId }) => brokerId === 3),
    );
    asksTooEarly ||= asks && catchesUp(w);
    return w.isr().join() === '1,2,3';
  });
  expect([asksTooEarly, catchesUp(w)]).toEqual([false, false]);
  expect(isWhole(w)).toBe(true);
  expect(dialsOf(w, 'Replication/CatchUp')).toBe(1);
  await w.within(w.cluster.produce(1, ['after']));
  await w.until(() => isWhole(w));
  expect(w.values(3)).toHaveLength(101);
  await w.close();
});

it('it is throttled, and the others are not: acks=all on another partition with the same brokers goes on at once', async () => {
  const w = await worldWithOneFarBehind(100, 1_000);
  await w.until(() => catchesUp(w));
  await w.clock.advance(2_000);
  const caughtUp = w.log(3).sizeBytes;
  expect(caughtUp).toBeGreaterThan(1_000);
  expect(caughtUp).toBeLessThan(3_500);
  await w.until(() => w.cluster.state(1).isr.length === 3);
  const written = await w.within(w.cluster.produce(1, ['x'], { partition: 1 }), 50);
  expect(written.error).toBeNull();
  expect(w.log(3, 1).logEndOffset).toBe(1);
  await w.close();
});

it('the rate may be raised and lowered while it runs', async () => {
  const w = await worldWithOneFarBehind(100, 100);
  await w.until(() => catchesUp(w));
  await w.clock.advance(5_000);
  const before = w.log(3).sizeBytes;
  expect(before).toBeLessThan(1_500);
  w.cluster.manager(1).setCatchUpRate(undefined);
  await w.until(() => w.isr().join() === '1,2,3', 2_000);
  expect(isWhole(w)).toBe(true);
  await w.close();
});

it('a rate holds for what a broker takes in, too, from whomever', async () => {
  const w = await worldWithOneFarBehind(200, 1_000_000, { catchUpCreditBytes: 2_000 });
  w.cluster.manager(3).setCatchUpRate(500);
  await w.until(() => catchesUp(w));
  await w.clock.advance(4_000);
  // The credit of the attach, and then no more than the rate.
  expect(w.log(3).sizeBytes).toBeLessThan(w.log(1).sizeBytes / 2);
  w.cluster.manager(3).setCatchUpRate(undefined);
  await w.until(() => w.isr().join() === '1,2,3', 5_000);
  expect(isWhole(w)).toBe(true);
  await w.close();
});

it('records that are written meanwhile come, too, and it keeps off the ISR until it is handed back', async () => {
  const w = await worldWithOneFarBehind(100, 4_000);
  await w.until(() => catchesUp(w));
  for (let at = 0; catchesUp(w); at += 1) {
    expect(w.isr()).toEqual([1, 2]);
    expect((await w.within(w.cluster.produce(1, [`late-${at}`]))).error).toBeNull();
    await w.clock.advance(100);
  }
  await w.until(() => w.isr().join() === '1,2,3');
  expect(isWhole(w)).toBe(true);
  await w.close();
});

it('one that the HW waits for is never throttled: a member of the ISR stays on the ordinary stream', async () => {
  const w = await dataWorld([1, 2], { ...limits, catchUpBytesPerSecond: 1 });
  await w.cluster.createTopic([[1, 2]]);
  w.network.partition('b1', 'b2');
  const writes = Array.from({ length: 60 }, (_, at) => w.cluster.produce(1, [`record-${at}`]));
  await w.clock.advance(1_000);
  w.network.heal();
  for (const write of writes) expect((await w.within(write)).error).toBeNull();
  expect(w.dials.filter((dial) => dial.endsWith('CatchUp'))).toEqual([]);
  await w.close();
});

it('an election in the middle: it follows the new leader, and has what that one has', async () => {
  const w = await worldWithOneFarBehind(100, 1_000);
  await w.until(() => catchesUp(w));
  await w.clock.advance(1_000);
  await w.cluster.elect(2, { isr: [1, 2] });
  w.cluster.manager(2).setCatchUpRate(undefined);
  await w.until(() => w.isr().join() === '1,2,3');
  expect(w.log(3).content.equals(w.log(2).content)).toBe(true);
  await w.close();
});

it('the catch-up stream breaks in the middle: it goes on from where it was', async () => {
  const w = await worldWithOneFarBehind(100, 2_000);
  await w.until(() => catchesUp(w));
  await w.clock.advance(1_000);
  w.network.partition('b1', 'b3');
  await w.clock.advance(6_000);
  w.network.heal();
  await w.until(() => w.isr().join() === '1,2,3');
  expect(isWhole(w)).toBe(true);
  expect(dialsOf(w, 'Replication/CatchUp')).toBeGreaterThan(1);
  await w.close();
});

it('a log that parted is cut before it is moved', async () => {
  const w = await dataWorld([1, 2, 3], { ...limits, catchUpBytesPerSecond: 8_000 });
  await w.cluster.createTopic([[1, 2, 3]]);
  await w.within(w.cluster.produce(1, ['common']));
  w.cluster.crash(3);
  w.log(3).appendAsLeader(batchOf(['never committed']), { leaderEpoch: 0 });
  await w.cluster.elect(2, { isr: [1, 2] });
  for (let at = 0; at < 100; at += 1) await w.within(w.cluster.produce(2, [`newer-${at}`]));
  await w.cluster.startBroker(3);
  await w.until(() => catchesUp(w));
  await w.until(() => w.isr().join() === '1,2,3');
  expect(w.log(3).content.equals(w.log(2).content)).toBe(true);
  await w.close();
});

describe('which stream', () => {
  const on = (
    now: StreamKind,
    bytesBehind: number,
    brokerId = 3,
    state: PartitionState = leader,
  ): StreamKind => streamFor(state, { brokerId, bytesBehind }, now, limits);

  it('between the two limits a partition stays where it is', () => {
    expect([on('replication', 2_000), on('replication', 2_001)]).toEqual([
      'replication',
      'catch-up',
    ]);
    expect([on('catch-up', 501), on('catch-up', 500)]).toEqual(['catch-up', 'replication']);
  });

  it('members of the ISR, and one that is about to be one, are on the ordinary stream', () => {
    expect(on('replication', 1e9, 2)).toBe('replication');
    expect(on('catch-up', 1e9, 2)).toBe('replication');
    const pending = { requestId: 1, isr: [1, 2, 3], members: [], retryAt: undefined };
    const joining = { ...leader, pending };
    expect(on('catch-up', 1e9, 3, joining)).toBe('replication');
  });

  it('limits the wrong way round do not send it to and fro', () => {
    const wrong = { catchUpFromBytes: 100, catchUpUntilBytes: 1_000 };
    const at = (now: StreamKind): StreamKind =>
      streamFor(leader, { brokerId: 3, bytesBehind: 500 }, now, wrong);
    expect([at('replication'), at('catch-up')]).toEqual(['catch-up', 'catch-up']);
  });
});
