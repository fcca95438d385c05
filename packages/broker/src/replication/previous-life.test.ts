/** What a broker tells its controllers of how the process before it ended. */
import { TOPIC_ID } from './data-cluster.fixture';
import { dataWorld, type World } from './data-world.fixture';

/** Broker 2 had three records committed; its machine went down, and the last two were not synced. */
async function worldAfterMachineCrash(): Promise<World> {
  // One batch at a time.
  const w = await dataWorld([1, 2], { maxPushBytes: 1, attachCreditBytes: 1 });
  await w.cluster.createTopic([[1, 2]]);
  for (const value of ['a', 'b', 'c']) await w.within(w.cluster.produce(1, [value]));
  w.cluster.crash(2);
  w.log(2).truncateTo(1);
  const store = w.stores.get(2)!;
  store.cutBelowHighWatermark.push('orders-0');
  store.previousStop = { kind: 'machine', brokerEpoch: 102 };
  store.brokerEpoch = undefined;
  w.cluster.cutOffFromController(2);
  await w.cluster.startBroker(2);
  return w;
}

it('an unclean stop, and each replica that recovery cut below its HW, are in the hello', async () => {
  const w = await worldAfterMachineCrash();
  const manager = w.cluster.manager(2);
  expect(manager.previousStop()).toEqual({
    previousStop: 'STOPPED_BY_MACHINE',
    previousBrokerEpoch: 102,
  });
  expect(manager.localReplicas()).toMatchObject([
    { topicId: TOPIC_ID, logEndOffset: 1, cutBelowHighWatermark: true, completeAgain: false },
  ]);
  await w.close();
});

it('a replica says that it is complete again once it has all that its leader has', async () => {
  const w = await worldAfterMachineCrash();
  const manager = w.cluster.manager(2);
  w.network.partition('b1', 'b2');
  await w.cluster.reconnectToController(2);
  await w.clock.advance(2_000);
  expect(manager.localReplicas()).toMatchObject([{ logEndOffset: 1, completeAgain: false }]);
  w.network.heal();
  await w.until(() => w.log(2).logEndOffset === 2);
  expect(manager.localReplicas()).toMatchObject([{ logEndOffset: 2, completeAgain: false }]);
  await w.until(() => manager.localReplicas()[0]?.completeAgain === true);
  expect(manager.localReplicas()).toMatchObject([{ logEndOffset: 3, cutBelowHighWatermark: true }]);
  await w.close();
});

it('one that a controller made leader, knowing of the stop, says so also when it leads no more', async () => {
  const w = await worldAfterMachineCrash();
  const manager = w.cluster.manager(2);
  await w.cluster.reconnectToController(2);
  w.network.partition('b1', 'b2');
  await w.cluster.elect(2, { isr: [2] });
  expect(manager.localReplicas()).toMatchObject([{ completeAgain: true }]);
  await w.cluster.elect(1, { isr: [1] });
  expect(manager.localReplicas()).toMatchObject([{ completeAgain: true }]);
  await w.close();
});

it('a registration is noted on the disks with the first image: before that, a crash of this process must not hide the one before', async () => {
  const w = await worldAfterMachineCrash();
  const store = w.stores.get(2)!;
  expect(store.brokerEpoch).toBeUndefined();
  expect(w.cluster.manager(2).previousLife.notedBrokerEpoch).toBe(-1);
  await w.cluster.reconnectToController(2);
  expect(store.brokerEpoch).toBe(w.cluster.image().broker(2)?.brokerEpoch);
  expect(w.cluster.manager(2).previousLife.notedBrokerEpoch).toBe(store.brokerEpoch);
  await w.close();
});
