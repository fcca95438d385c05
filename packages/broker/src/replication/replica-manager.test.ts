import { settle } from '@tributary/testkit';
import { TOPIC_ID } from './data-cluster.fixture';
import { dataWorld } from './data-world.fixture';

describe('what lies on the disks', () => {
  it('the log of an earlier topic of the same name is moved aside, not served', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['old']));
    w.cluster.forgetTopic(TOPIC_ID);
    await w.cluster.createTopic([[1, 2]], {}, 'another-id');
    expect(w.cluster.partition(1, 0, 'another-id').log.logEndOffset).toBe(0);
    expect(w.stores.get(1)!.strays()).toMatchObject([{ topicId: TOPIC_ID }]);
    const late = await w.within(w.cluster.produce(1, ['late']));
    expect(late.error?.code).toBe('TOPIC_ID_MISMATCH');
    await w.close();
  });

  it('a replica that the image does not know is not served, and kept', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    w.cluster.forgetTopic(TOPIC_ID);
    await w.cluster.publish([]);
    const late = await w.within(w.cluster.produce(1, ['late']));
    expect(late.error?.code).toBe('UNKNOWN_TOPIC');
    expect(w.values(1)).toEqual([]);
    for (const id of [1, 2]) {
      expect(w.cluster.manager(id).status()).toMatchObject([
        { topicId: TOPIC_ID, role: 'offline', reason: expect.stringMatching(/^stray: /) },
      ]);
    }
    // Also after a restart, when no image names it: listed, followed nowhere, told to the controller.
    w.cluster.crash(2);
    await w.cluster.startBroker(2);
    expect(w.cluster.manager(2).status()).toMatchObject([{ role: 'offline' }]);
    expect(w.cluster.manager(2).localReplicas()).toMatchObject([{ topicId: TOPIC_ID }]);
    await w.close();
  });

  it('a StopReplica for an earlier topic of this name leaves the new one alone', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    const manager = w.cluster.manager(1);
    const { brokerEpoch } = manager.acceptor();
    const earlier = { topic: 'orders', topicId: 'earlier', partition: 0, leaderEpoch: 9 };
    const [result] = await manager.stopReplicas([{ ...earlier, brokerEpoch, deleteData: true }]);
    expect(result).toMatchObject({ topicId: 'earlier', error: null });
    expect((await w.within(w.cluster.produce(1, ['a']))).error).toBeNull();
    expect(w.stores.get(1)!.get(TOPIC_ID, 0)).toBe(w.log(1));
    await w.close();
  });

  it('data goes only by StopReplica, fenced by broker epoch and leader epoch (KIP-380, KIP-570, KAFKA-9539)', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.cluster.elect(2);
    const manager = w.cluster.manager(1);
    const brokerEpoch = manager.acceptor().brokerEpoch;
    const request = { topic: 'orders', topicId: TOPIC_ID, partition: 0, deleteData: true };
    const stop = async (leaderEpoch: number, epoch: number): Promise<unknown> =>
      (await manager.stopReplicas([{ ...request, leaderEpoch, brokerEpoch: epoch }]))[0];
    expect(await stop(9, brokerEpoch - 1)).toMatchObject({
      error: { code: 'FENCED_BROKER_EPOCH' },
    });
    expect(await stop(0, brokerEpoch)).toMatchObject({ error: { code: 'FENCED_LEADER_EPOCH' } });
    expect(w.log(1)).toBeDefined();
    expect(await stop(1, brokerEpoch)).toMatchObject({ dataDeleted: true, error: null });
    expect(w.stores.get(1)!.deleted).toHaveLength(1);
    expect(await stop(1, brokerEpoch)).toMatchObject({ dataDeleted: true });
    await w.close();
  });

  it('one that is stopped and not deleted keeps its data, and takes no role in that epoch or an older one (KAFKA-9539)', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    await w.within(w.cluster.produce(1, ['a']));
    const manager = w.cluster.manager(1);
    const { brokerEpoch } = manager.acceptor();
    const which = { topic: 'orders', topicId: TOPIC_ID, partition: 0, leaderEpoch: 4 };
    const [result] = await manager.stopReplicas([{ ...which, brokerEpoch, deleteData: false }]);
    expect(result).toMatchObject({ dataDeleted: false, error: null });
    expect(w.values(1)).toEqual(['a']);
    const state = { ...w.cluster.state(), partitionEpoch: 9 };
    await manager.apply([{ ...state, leaderEpoch: 3 }], w.cluster.image());
    expect(w.cluster.partition(1).state.role).toBe('offline');
    await manager.apply([{ ...state, leaderEpoch: 5 }], w.cluster.image());
    expect(w.cluster.partition(1).state.role).toBe('leader');
    await w.close();
  });

  it('HWs are written every few seconds and at close, and a restart begins with them', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a', 'b']));
    await w.clock.advance(5_100);
    expect(w.stores.get(1)!.checkpointedHighWatermark(TOPIC_ID, 0)).toBe(2);
    await w.within(w.cluster.produce(1, ['c']));
    await w.cluster.manager(1).close();
    expect(w.stores.get(1)!.checkpointedHighWatermark(TOPIC_ID, 0)).toBe(3);
    w.cluster.crash(1);
    await w.cluster.startBroker(1);
    expect(w.cluster.manager(1).localReplicas()).toMatchObject([
      { topicId: TOPIC_ID, logEndOffset: 3, lastEpoch: 0, highWatermark: 3 },
    ]);
    await w.close();
  });

  it('an I/O error takes the partition offline here, with one error line; others go on (KAFKA-10778)', async () => {
    const w = await dataWorld([1]);
    await w.cluster.createTopic([[1], [1]]);
    w.log(1).failNextAppend = 'STORAGE_ERROR';
    const failed = await w.within(w.cluster.produce(1, ['a']));
    expect(failed.error).toMatchObject({ code: 'STORAGE_ERROR', outcome: 'MAYBE_WRITTEN' });
    expect(w.cluster.partition(1).state).toMatchObject({ role: 'offline', failed: true });
    // KAFKA-10778: nothing is appended after an I/O error.
    expect((await w.within(w.cluster.produce(1, ['b']))).error?.code).toBe('STORAGE_ERROR');
    expect((await w.within(w.cluster.produce(1, ['c'], { partition: 1 }))).error).toBeNull();
    expect(w.cluster.manager(1).localReplicas()).toHaveLength(1);
    // The controller hears of it once, and each later one with its image.
    expect(w.cluster.failed).toEqual([`1: ${TOPIC_ID}/0`]);
    expect(w.cluster.manager(1).offlineReplicas()).toMatchObject([
      { topicId: TOPIC_ID, partition: 0 },
    ]);
    await w.close();
  });

  it('a log that cannot be made is told to the controller, too, and not tried again before the next start', async () => {
    const w = await dataWorld([1, 2]);
    w.stores.get(2)!.failNextCreate = 'STORAGE_ERROR';
    await w.cluster.createTopic([[1, 2]]);
    await w.clock.advance(5_000);
    expect(w.cluster.failed).toEqual([`2: ${TOPIC_ID}/0`]);
    expect(w.cluster.manager(2).offlineReplicas()).toHaveLength(1);
    expect(w.stores.get(2)!.get(TOPIC_ID, 0)).toBeUndefined();
    w.cluster.crash(2);
    await w.cluster.startBroker(2);
    expect(w.cluster.manager(2).offlineReplicas()).toEqual([]);
    await w.close();
  });

  it('a full disk refuses, and goes on when there is room', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    w.log(1).failNextAppend = 'DISK_FULL';
    const refused = await w.within(w.cluster.produce(1, ['a']));
    expect(refused.error).toMatchObject({ code: 'DISK_FULL', outcome: 'NOT_WRITTEN' });
    w.log(2).failNextAppend = 'DISK_FULL';
    expect((await w.within(w.cluster.produce(1, ['b']))).error).toBeNull();
    expect(w.values(2)).toEqual(['b']);
    await w.close();
  });

  it('leadership is not taken before the broker is registered, and is then', async () => {
    const w = await dataWorld([1, 2]);
    w.cluster.manager(1).setBrokerEpoch(undefined);
    await w.cluster.createTopic([[1, 2]]);
    expect(w.cluster.partition(1).state.role).toBe('offline');
    w.cluster.manager(1).setBrokerEpoch(200);
    await settle();
    expect(w.cluster.partition(1).state.role).toBe('leader');
    await w.close();
  });

  it('closes without leaving a timer behind', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    await w.close();
    await w.clock.advance(30_000);
    expect(w.clock.pendingTimers).toBe(0);
  });
});
