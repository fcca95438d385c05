import { batchOf } from './data-cluster.fixture';
import { dataWorld } from './data-world.fixture';

describe('push replication', () => {
  it('acks=all is answered when every in-sync replica has the record, and all logs are the same bytes', async () => {
    const w = await dataWorld([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    const first = await w.within(w.cluster.produce(1, ['a', 'b']));
    const second = await w.within(w.cluster.produce(1, ['c']));
    expect([first.baseOffset, second.baseOffset]).toEqual([0, 2]);
    expect(first.error).toBeNull();
    for (const id of [2, 3]) expect(w.log(id).content.equals(w.log(1).content)).toBe(true);
    expect(w.hw(1)).toBe(3);
    await w.close();
  });

  it('followers hear of the HW also when nothing is produced any more', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    await w.clock.advance(20);
    expect(w.hw(2)).toBe(1);
    await w.close();
  });

  it('what is appended in one tick travels in one push', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.clock.advance(100);
    let appends = 0;
    const log = w.log(2);
    const append = log.appendAsFollower.bind(log);
    log.appendAsFollower = (batches) => {
      appends += 1;
      append(batches);
    };
    const partition = w.cluster.partition(1);
    for (let at = 0; at < 10; at += 1) partition.append(batchOf([`${at}`]), undefined);
    await w.until(() => w.log(2).logEndOffset === 10);
    expect(appends).toBe(1);
    await w.close();
  });

  it('a follower far behind does not hold up the other partitions of its stream', async () => {
    const w = await dataWorld([1, 2], { attachCreditBytes: 2_000, maxPushBytes: 1_000 });
    await w.cluster.createTopic([
      [1, 2],
      [1, 2],
    ]);
    await w.clock.advance(100);
    w.network.setDelay({ minMs: 50, maxMs: 50 });
    for (let at = 0; at < 200; at += 1) {
      w.cluster.partition(1, 0).append(batchOf(['x'.repeat(900)]), undefined);
    }
    w.cluster.partition(1, 1).append(batchOf(['y']), undefined);
    await w.until(() => w.log(2, 1).logEndOffset === 1);
    expect(w.log(2, 0).logEndOffset).toBeLessThan(10);
    await w.until(() => w.log(2, 0).logEndOffset === 200);
    expect(w.log(2).content.equals(w.log(1).content)).toBe(true);
    await w.close();
  });

  it('a broken stream is made again within 50 ms, and replication goes on', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    await w.within(w.cluster.produce(1, ['a']));
    w.network.partition('b1', 'b2');
    await w.clock.advance(6_000);
    w.network.heal();
    const again = w.cluster.produce(1, ['b']);
    expect((await w.within(again, 5_000)).error).toBeNull();
    expect(w.values(2)).toEqual(['a', 'b']);
    await w.close();
  });
});

it('with its stream the attach of a follower ends, and what was said on it admits nobody', async () => {
  const w = await dataWorld([1, 2, 3]);
  await w.cluster.createTopic([[1, 2, 3]]);
  await w.within(w.cluster.produce(1, ['a']));
  const leader = w.cluster.partition(1);
  expect([...leader.attachments.keys()].sort()).toEqual([2, 3]);
  w.cluster.crash(3);
  await w.until(() => leader.attachments.size === 1, 1_000);
  expect(leader.state).toMatchObject({
    followers: [
      { brokerId: 2, attached: true, acknowledged: true },
      { brokerId: 3, attached: false, acknowledged: false },
    ],
  });
  await w.close();
});

describe('the in-sync replicas', () => {
  it('a silent follower leaves after the lag time, and the waiting write is answered then (KAFKA-13091)', async () => {
    const w = await dataWorld([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.crash(3);
    const start = w.clock.now();
    const write = w.cluster.produce(1, ['b'], { timeoutMs: 30_000 });
    expect((await w.within(write)).error).toBeNull();
    expect(w.isr()).toEqual([1, 2]);
    expect(w.clock.now() - start).toBeGreaterThan(9_000);
    expect(w.clock.now() - start).toBeLessThan(12_000);
    await w.close();
  });

  it('an idle partition keeps its ISR, however long (KAFKA-7152)', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    await w.clock.advance(120_000);
    expect(w.cluster.asked).toEqual([]);
    // The marks kept its caught-up time fresh: one more record does not throw it out.
    w.network.setDelay({ minMs: 400, maxMs: 400 });
    expect((await w.within(w.cluster.produce(1, ['b']))).error).toBeNull();
    expect(w.isr()).toEqual([1, 2]);
    await w.close();
  });

  it('a follower that returns catches up and joins, also when nothing is produced', async () => {
    const w = await dataWorld([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.crash(3);
    await w.cluster.change([{ ...w.cluster.state(), isr: [1, 2], partitionEpoch: 1 }]);
    await w.within(w.cluster.produce(1, ['b']));
    await w.cluster.startBroker(3);
    await w.until(() => w.isr().length === 3, 5_000);
    expect(w.values(3)).toEqual(['a', 'b']);
    await w.close();
  });

  it('nobody joins who is not eligible; as soon as it is, it does', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    await w.cluster.setEligible(2, false);
    await w.cluster.elect(1, { isr: [1] });
    await w.clock.advance(5_000);
    expect(w.isr()).toEqual([1]);
    await w.cluster.setEligible(2, true);
    await w.until(() => w.isr().length === 2, 5_000);
    await w.close();
  });

  it('asks again until a controller answers', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    w.cluster.controllerDown = true;
    await w.cluster.elect(1, { isr: [1] });
    await w.clock.advance(5_000);
    const questions = w.cluster.asked.length;
    expect(questions).toBeGreaterThan(5);
    expect(questions).toBeLessThan(15);
    w.cluster.controllerDown = false;
    await w.until(() => w.isr().length === 2, 2_000);
    await w.close();
  });

  it('under min ISR: acks=all is refused up front, the HW is frozen, and both go on afterwards (KAFKA-15583)', async () => {
    const w = await dataWorld([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.crash(2);
    w.cluster.crash(3);
    await w.cluster.change([{ ...w.cluster.state(), isr: [1], partitionEpoch: 5 }]);
    const refused = await w.within(w.cluster.produce(1, ['b']));
    expect(refused.error).toMatchObject({ code: 'NOT_ENOUGH_REPLICAS', outcome: 'NOT_WRITTEN' });
    const alone = await w.within(w.cluster.produce(1, ['c'], { acks: 1 }));
    expect(alone.error).toBeNull();
    expect(w.hw(1)).toBe(1);
    expect(w.cluster.manager(1).status()[0]).toMatchObject({ underMinIsr: true, isr: [1] });
    await w.cluster.startBroker(2);
    await w.until(() => w.hw(1) === 2, 5_000);
    expect((await w.within(w.cluster.produce(1, ['d']))).error).toBeNull();
    await w.close();
  });

  it('a write that waits while the ISR falls below min ISR ends as maybe written', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.crash(2);
    const write = w.cluster.produce(1, ['b'], { timeoutMs: 2_000 });
    await w.clock.advance(10);
    await w.cluster.change([{ ...w.cluster.state(), isr: [1], partitionEpoch: 5 }]);
    const { error } = await w.within(write);
    expect(error).toMatchObject({ code: 'TIMEOUT', outcome: 'MAYBE_WRITTEN' });
    expect(error?.message).toContain('1 of at least 2 replicas are in sync');
    await w.close();
  });
});
