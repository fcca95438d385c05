/** What a broker tells its controllers of how the process before it ended. */
import { TOPIC_ID } from './data-cluster.fixture';
import { dataWorld, type World } from './data-world.fixture';
import { maxToldRegistrations } from './previous-life';

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
  expect(manager.toldLives()).toEqual({
    previousStop: 'STOPPED_BY_MACHINE',
    previousBrokerEpoch: 102,
    earlierBrokerEpochs: [],
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

describe('the registrations that this process has had', () => {
  const registered = (w: World, ...epochs: number[]): void => {
    for (const epoch of epochs) {
      w.cluster.manager(2).setBrokerEpoch(undefined);
      w.cluster.manager(2).setBrokerEpoch(epoch);
    }
  };
  const told = (w: World): readonly number[] =>
    w.cluster.manager(2).toldLives().earlierBrokerEpochs;

  it('the first one has none before it; each session that ends adds one', async () => {
    const w = await dataWorld([1, 2]);
    const first = w.cluster.image().broker(2)?.brokerEpoch;
    expect(told(w)).toEqual([]);
    registered(w, 501);
    expect(told(w)).toEqual([first]);
    registered(w, 502, 502);
    expect(told(w)).toEqual([first, 501]);
    await w.close();
  });

  it('the process after it tells none of them, though the last one stands on its disks', async () => {
    const w = await dataWorld([1, 2]);
    registered(w, 501, 502);
    w.cluster.crash(2);
    w.stores.get(2)!.previousStop = { kind: 'machine', brokerEpoch: 502 };
    await w.cluster.startBroker(2);
    expect(w.cluster.manager(2).toldLives()).toMatchObject({
      previousBrokerEpoch: 502,
      earlierBrokerEpochs: [],
    });
    await w.close();
  });

  it('the oldest are left out when they are too many', async () => {
    const w = await dataWorld([1, 2]);
    const many = Array.from({ length: maxToldRegistrations + 5 }, (_, at) => 501 + at);
    registered(w, ...many);
    expect(told(w)).toEqual(many.slice(-maxToldRegistrations - 1, -1));
    await w.close();
  });
});
