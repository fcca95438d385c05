/**
 * `flush=sync` from the producer to the device: what is acknowledged is on the disks of the whole ISR (acks=all) or
 * of the leader (acks=1), so that no power failure takes it, also not one of all machines at once. Each of these fails
 * when an acknowledgement, or the high watermark, goes before the sync.
 */
import { methods, type ProduceResult } from '@tributary/protocol';
import { TOPIC, TOPIC_ID } from './data-cluster.fixture';
import { DiskWorld } from './disk-world.fixture';

const SYNC = { flush: 'sync', 'min.insync.replicas': '1' };

async function world(replicas: readonly (readonly number[])[], seed = 11): Promise<DiskWorld> {
  const w = await DiskWorld.of([...new Set(replicas.flat())], { seed });
  await w.within(w.cluster.createTopic(replicas, SYNC));
  await w.clock.advance(1_000);
  return w;
}

/** Its answer as soon as there is one. */
function send(
  w: DiskWorld,
  value: string,
  acks: number,
  partition = 0,
): { result?: ProduceResult } {
  const asked: { result?: ProduceResult } = {};
  const options = { acks, partition, timeoutMs: 60_000 };
  w.cluster.produce(1, [value], options).then(
    (result) => (asked.result = result),
    () => undefined, // the broker is gone: never answered
  );
  return asked;
}

const isAcked = ({ result }: { result?: ProduceResult }): boolean => result?.error === null;

/** What a consumer gets from the leader without waiting. */
async function readBytes(w: DiskWorld, partition = 0): Promise<number> {
  const asked = { topic: TOPIC, topicId: TOPIC_ID, partition, leaderEpoch: -1, offset: 0 };
  const call = w.cluster
    .connection(1)
    .call(methods.broker.fetchOnce, { partitions: [asked] }, { timeoutMs: 5_000 });
  return (await w.within(call)).results[0]?.batches?.length ?? 0;
}

const highWatermark = (w: DiskWorld, partition = 0): number =>
  w.cluster.partition(1, partition).state.highWatermark;

describe('while the disk of the leader hangs', () => {
  it('neither acks=all nor acks=1 are answered, the HW stands still, and nothing is read', async () => {
    const w = await world([[1, 2]]);
    const goOn = w.holdSyncs(1);
    const answers = [send(w, 'all', -1), send(w, 'leader', 1)];
    await w.clock.advance(5_000);
    // Two calls of their own: either may come first.
    expect(w.values(1).toSorted()).toEqual(['all', 'leader']);
    expect(w.values(2)).toEqual(w.values(1));
    expect(answers.map(isAcked)).toEqual([false, false]);
    expect(highWatermark(w)).toBe(0);
    expect(await readBytes(w)).toBe(0);
    goOn();
    await w.clock.advance(100);
    expect(answers.map(isAcked)).toEqual([true, true]);
    expect(highWatermark(w)).toBe(2);
    expect(await readBytes(w)).toBeGreaterThan(0);
    await w.close();
  });

  it('a leader that is its whole ISR commits nothing either', async () => {
    const w = await world([[1]]);
    const goOn = w.holdSyncs(1);
    const answer = send(w, 'a', -1);
    await w.clock.advance(5_000);
    expect([isAcked(answer), highWatermark(w)]).toEqual([false, 0]);
    goOn();
    await w.clock.advance(100);
    expect([isAcked(answer), highWatermark(w)]).toEqual([true, 1]);
    await w.close();
  });

  it('acks=0 asks for nothing and is answered at once; a deadline says what is known', async () => {
    const w = await world([[1]]);
    const goOn = w.holdSyncs(1);
    await w.within(w.cluster.produceWithoutAnswer(1, ['none']), 1_000);
    for (const acks of [1, -1]) {
      const { error } = await w.within(w.cluster.produce(1, ['x'], { acks, timeoutMs: 500 }));
      expect(error).toMatchObject({ code: 'TIMEOUT', outcome: 'MAYBE_WRITTEN' });
      expect(error?.message).toContain("the leader's disk has what is below 0 (flush=sync)");
    }
    goOn();
    await w.clock.advance(100);
    expect(highWatermark(w)).toBe(3);
    await w.close();
  });

  it('the end of leadership ends the wait of acks=1, as of acks=all', async () => {
    const w = await world([[1, 2]]);
    w.holdSyncs(1);
    const answers = [send(w, 'all', -1), send(w, 'leader', 1)];
    await w.clock.advance(100);
    await w.within(w.cluster.elect(2));
    await w.clock.advance(100);
    for (const { result } of answers) {
      expect(result?.error).toMatchObject({ code: 'NOT_LEADER', outcome: 'MAYBE_WRITTEN' });
    }
    expect(w.cluster.manager(1).budget.waiting).toBe(0);
    await w.close();
  });

  it('more waiters for acks=1 than the broker may have are refused', async () => {
    const w = await DiskWorld.of([1], { limits: { maxWaiters: 2 } });
    await w.within(w.cluster.createTopic([[1]], SYNC));
    const goOn = w.holdSyncs(1);
    const answers = [1, 2, 3].map((value) => send(w, `${value}`, 1));
    await w.clock.advance(100);
    const refused = answers.flatMap(({ result }) => result?.error?.code ?? []);
    expect(refused).toEqual(['OVERLOADED']);
    goOn();
    await w.clock.advance(100);
    await w.close();
  });
});

describe('while the disk of a follower hangs', () => {
  it('acks=1 is answered and acks=all is not, until the device has it', async () => {
    const w = await world([[1, 2]]);
    const goOn = w.holdSyncs(2);
    const [all, leader] = [send(w, 'all', -1), send(w, 'leader', 1)];
    await w.clock.advance(5_000);
    expect(w.values(2).toSorted()).toEqual(['all', 'leader']);
    expect([isAcked(all), isAcked(leader), highWatermark(w)]).toEqual([false, true, 0]);
    goOn();
    await w.clock.advance(100);
    expect([isAcked(all), highWatermark(w)]).toEqual([true, 2]);
    await w.close();
  });

  it('it leaves the ISR after the lag time, and comes back by what it has on the device', async () => {
    const w = await world([[1, 2]]);
    const goOn = w.holdSyncs(2);
    const answer = send(w, 'a', -1);
    await w.clock.runUntil(() => w.isr().length === 1, 20_000);
    await w.clock.advance(100);
    expect([isAcked(answer), highWatermark(w)]).toEqual([true, 1]);
    await w.clock.advance(10_000);
    expect(w.isr()).toEqual([1]);
    goOn();
    await w.clock.runUntil(() => w.isr().length === 2, 5_000);
    expect(w.isr()).toEqual([1, 2]);
    await w.close();
  });
});

describe('KAFKA-15046: a slow sync blocks neither appends nor reads nor what keeps a broker alive', () => {
  it('the other partitions of the same brokers and streams go on', async () => {
    const w = await world([
      [1, 2],
      [1, 2],
    ]);
    await w.produce(1, 'before');
    const goOn = [w.holdSyncs(1, 'orders-0'), w.holdSyncs(2, 'orders-0')];
    const stuck = Array.from({ length: 20 }, (_, at) => send(w, `${at} ${'x'.repeat(300)}`, -1));
    const others = Array.from({ length: 20 }, (_, at) => send(w, `${at}`, -1, 1));
    await w.clock.advance(1_000);
    expect(others.every(isAcked)).toBe(true);
    expect(stuck.some(isAcked)).toBe(false);
    // It is appended, replicated and read all the same.
    expect(w.values(2)).toHaveLength(21);
    expect(await readBytes(w)).toBeGreaterThan(0);
    // Marks and their answers go on, so that nobody is taken for dead while nothing hangs.
    await w.clock.advance(60_000);
    expect([...w.cluster.state(1).isr].sort()).toEqual([1, 2]);
    for (const end of goOn) end();
    await w.clock.advance(1_000);
    expect(w.values(2)).toHaveLength(21);
    await w.close();
  });

  it('a disk that hangs stops the credit of its partition at the leader, no more is pushed than that', async () => {
    const limits = { attachCreditBytes: 4_000, maxPushBytes: 1_000 };
    const w = await DiskWorld.of([1, 2], { limits });
    await w.within(w.cluster.createTopic([[1, 2]], SYNC));
    const goOn = w.holdSyncs(2);
    for (let at = 0; at < 40; at += 1) send(w, `${at}`.padEnd(300), 1);
    await w.clock.advance(1_000);
    expect(w.values(1)).toHaveLength(40);
    const pushed = w.values(2).length;
    expect(pushed).toBeGreaterThan(5);
    expect(pushed).toBeLessThan(20);
    goOn();
    await w.clock.advance(1_000);
    expect(w.values(2)).toHaveLength(40);
    await w.close();
  });
});

it('a sync that fails in the background takes the leader offline at once, and the controller hears of it', async () => {
  const w = await world([[1, 2]]);
  const answer = send(w, 'a', -1);
  w.disk(1).failNext('datasync', { path: '.log' });
  await w.clock.advance(100);
  expect(w.cluster.failed).toEqual([expect.stringContaining('1: ')]);
  expect(answer.result?.error).toMatchObject({ outcome: 'MAYBE_WRITTEN' });
  await w.close();
});

it('the setting changes while the topic is in use, both ways', async () => {
  const w = await world([[1, 2]]);
  const goOn = [w.holdSyncs(1), w.holdSyncs(2)];
  const waiting = [send(w, 'a', -1), send(w, 'b', 1)];
  await w.clock.advance(100);
  expect(waiting.map(isAcked)).toEqual([false, false]);
  await w.within(w.cluster.configure({ ...SYNC, flush: 'os' }));
  await w.clock.advance(100);
  expect(waiting.map(isAcked)).toEqual([true, true]);
  await w.produce(1, 'c');
  expect(highWatermark(w)).toBe(3);
  await w.within(w.cluster.configure(SYNC));
  const later = [send(w, 'd', -1), send(w, 'e', 1)];
  await w.clock.advance(100);
  expect(later.map(isAcked)).toEqual([false, false]);
  expect(highWatermark(w)).toBe(3);
  for (const end of goOn) end();
  await w.clock.advance(1_000);
  expect(later.map(isAcked)).toEqual([true, true]);
  expect(highWatermark(w)).toBe(5);
  await w.close();
});

it.each([1, 2, 3, 4, 5, 6, 7, 8])(
  'seed %i: all machines lose their power at once: whatever was acknowledged is there, on every member of the ISR',
  async (seed) => {
    const w = await world([[1, 2, 3]], seed);
    const { random, clock } = w;
    for (const id of w.ids) {
      w.disk(id).syncTime = () =>
        new Promise((resolve) => void clock.setTimer(random.next() * 20, resolve));
    }
    const sent: { value: string; acks: number; answer: { result?: ProduceResult } }[] = [];
    for (let at = 0; at < 60; at += 1) {
      const value = `${at} ${'x'.repeat(random.next() * 400)}`;
      const acks = random.next() < 0.5 ? 1 : -1;
      sent.push({ value, acks, answer: send(w, value, acks) });
      await clock.advance(random.next() * 10);
    }
    const acked = sent.filter(({ answer }) => isAcked(answer));
    const isr = w.isr();
    for (const id of w.ids) w.crash(id, true);
    for (const id of w.ids) w.disk(id).syncTime = () => Promise.resolve();
    for (const id of w.ids) await w.start(id);
    const found = w.ids.map((id) => new Set(w.values(id)));
    for (const { value, acks } of acked) {
      const holders = w.ids.filter((_, at) => found[at]?.has(value));
      expect({ value, holders }).toEqual({
        value,
        holders: expect.arrayContaining(acks === 1 ? [1] : isr) as number[],
      });
    }
    expect(acked.length).toBeGreaterThan(20);
    await w.close();
  },
);

it('a cut that a leader asked for and that never came does not keep what is there from counting', async () => {
  const w = await world([[1, 2]]);
  for (const value of ['a', 'b', 'c']) await w.produce(1, value);
  const { log } = w.cluster.partition(2);
  const announced = async (): Promise<void> => {
    await w.within(log.prepareCut(1) ?? Promise.resolve());
    await w.clock.advance(100);
    expect(log.durableEndOffset).toBe(1);
  };
  // The stream breaks before the cut; the next attach is accepted.
  await announced();
  w.network.partition('b1', 'b2');
  await w.clock.advance(30_000);
  w.network.heal();
  await w.clock.advance(20_000);
  expect(log.durableEndOffset).toBe(3);
  // Or it becomes the leader itself.
  await announced();
  await w.within(w.cluster.elect(2));
  await w.clock.advance(100);
  expect(log.durableEndOffset).toBe(3);
  await w.close();
});
