import { silentLogger, seededRandom } from '@tributary/common';
import { decodeBatch, splitBatches } from '@tributary/record';
import {
  MemoryLogStore,
  settle,
  SimulatedClock,
  SimulatedNetwork,
  type MemoryLog,
} from '@tributary/testkit';
import { DataCluster, TOPIC_ID, batchOf } from './data-cluster.fixture';
import type { DataLimits } from './data-limits';

interface World {
  readonly clock: SimulatedClock;
  readonly network: SimulatedNetwork;
  readonly cluster: DataCluster;
  readonly stores: Map<number, MemoryLogStore>;
  log(id: number, partition?: number): MemoryLog;
  values(id: number): string[];
  /** Lets the work end, in simulated time. */
  within<T>(work: Promise<T>, ms?: number): Promise<T>;
  until(condition: () => boolean, ms?: number): Promise<void>;
}

async function world(brokers: number[], limits: Partial<DataLimits> = {}): Promise<World> {
  const clock = new SimulatedClock();
  const random = seededRandom(7);
  const network = new SimulatedNetwork({ clock, random });
  const stores = new Map<number, MemoryLogStore>();
  const store = (id: number): MemoryLogStore => {
    const known = stores.get(id) ?? new MemoryLogStore();
    stores.set(id, known);
    return known;
  };
  const cluster = new DataCluster(
    {
      clock,
      random,
      logger: silentLogger,
      transport: (machine) => network.transport(machine),
      crash: (machine) => network.crash(machine),
      store,
    },
    limits,
  );
  for (const id of brokers) await cluster.startBroker(id);
  const log = (id: number, partition = 0): MemoryLog => {
    const found = stores.get(id)?.get(TOPIC_ID, partition);
    if (!found) throw new Error(`broker ${id} has no log`);
    return found;
  };
  return {
    clock,
    network,
    cluster,
    stores,
    log,
    values: (id) =>
      splitBatches(log(id).content)
        .flatMap((batch) => decodeBatch(batch))
        .map(({ value }) => value?.toString() ?? ''),
    within: (work, ms = 60_000) => clock.settleWithin(work, ms),
    async until(condition, ms = 60_000) {
      if (!(await clock.runUntil(condition, ms))) throw new Error('it did not come to that');
    },
  };
}

const isr = ({ cluster }: World): number[] => [...cluster.state().isr].sort();
const hw = ({ cluster }: World, id: number): number => cluster.partition(id).state.highWatermark;

describe('push replication', () => {
  it('acks=all is answered when every in-sync replica has the record, and all logs are the same bytes', async () => {
    const w = await world([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    const first = await w.within(w.cluster.produce(1, ['a', 'b']));
    const second = await w.within(w.cluster.produce(1, ['c']));
    expect([first.baseOffset, second.baseOffset]).toEqual([0, 2]);
    expect(first.error).toBeNull();
    for (const id of [2, 3]) expect(w.log(id).content.equals(w.log(1).content)).toBe(true);
    expect(hw(w, 1)).toBe(3);
    await w.cluster.close();
  });

  it('followers hear of the HW also when nothing is produced any more', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    await w.clock.advance(20);
    expect(hw(w, 2)).toBe(1);
    await w.cluster.close();
  });

  it('what is appended in one tick travels in one push', async () => {
    const w = await world([1, 2]);
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
    await w.cluster.close();
  });

  it('a follower far behind does not hold up the other partitions of its stream', async () => {
    const w = await world([1, 2], { attachCreditBytes: 2_000, maxPushBytes: 1_000 });
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
    await w.cluster.close();
  });

  it('a broken stream is made again within 50 ms, and replication goes on', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    await w.within(w.cluster.produce(1, ['a']));
    w.network.partition('b1', 'b2');
    await w.clock.advance(6_000);
    w.network.heal();
    const again = w.cluster.produce(1, ['b']);
    expect((await w.within(again, 5_000)).error).toBeNull();
    expect(w.values(2)).toEqual(['a', 'b']);
    await w.cluster.close();
  });
});

describe('the in-sync replicas', () => {
  it('a silent follower leaves after the lag time, and the waiting write is answered then (KAFKA-13091)', async () => {
    const w = await world([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.crash(3);
    const start = w.clock.now();
    const write = w.cluster.produce(1, ['b'], { timeoutMs: 30_000 });
    expect((await w.within(write)).error).toBeNull();
    expect(isr(w)).toEqual([1, 2]);
    expect(w.clock.now() - start).toBeGreaterThan(9_000);
    expect(w.clock.now() - start).toBeLessThan(12_000);
    await w.cluster.close();
  });

  it('an idle partition keeps its ISR, however long (KAFKA-7152)', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    await w.clock.advance(120_000);
    expect(w.cluster.asked).toEqual([]);
    // The marks kept its caught-up time fresh: one more record does not throw it out.
    w.network.setDelay({ minMs: 400, maxMs: 400 });
    expect((await w.within(w.cluster.produce(1, ['b']))).error).toBeNull();
    expect(isr(w)).toEqual([1, 2]);
    await w.cluster.close();
  });

  it('a follower that returns catches up and joins, also when nothing is produced', async () => {
    const w = await world([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.crash(3);
    await w.cluster.change([{ ...w.cluster.state(), isr: [1, 2], partitionEpoch: 1 }]);
    await w.within(w.cluster.produce(1, ['b']));
    await w.cluster.startBroker(3);
    await w.until(() => isr(w).length === 3, 5_000);
    expect(w.values(3)).toEqual(['a', 'b']);
    await w.cluster.close();
  });

  it('nobody joins who is not eligible; as soon as it is, it does', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    await w.cluster.setEligible(2, false);
    await w.cluster.elect(1, { isr: [1] });
    await w.clock.advance(5_000);
    expect(isr(w)).toEqual([1]);
    await w.cluster.setEligible(2, true);
    await w.until(() => isr(w).length === 2, 5_000);
    await w.cluster.close();
  });

  it('asks again until a controller answers', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    w.cluster.controllerDown = true;
    await w.cluster.elect(1, { isr: [1] });
    await w.clock.advance(5_000);
    const questions = w.cluster.asked.length;
    expect(questions).toBeGreaterThan(5);
    expect(questions).toBeLessThan(15);
    w.cluster.controllerDown = false;
    await w.until(() => isr(w).length === 2, 2_000);
    await w.cluster.close();
  });

  it('under min ISR: acks=all is refused up front, the HW is frozen, and both go on afterwards (KAFKA-15583)', async () => {
    const w = await world([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.crash(2);
    w.cluster.crash(3);
    await w.cluster.change([{ ...w.cluster.state(), isr: [1], partitionEpoch: 5 }]);
    const refused = await w.within(w.cluster.produce(1, ['b']));
    expect(refused.error).toMatchObject({ code: 'NOT_ENOUGH_REPLICAS', outcome: 'NOT_WRITTEN' });
    const alone = await w.within(w.cluster.produce(1, ['c'], { acks: 1 }));
    expect(alone.error).toBeNull();
    expect(hw(w, 1)).toBe(1);
    expect(w.cluster.manager(1).status()[0]).toMatchObject({ underMinIsr: true, isr: [1] });
    await w.cluster.startBroker(2);
    await w.until(() => hw(w, 1) === 2, 5_000);
    expect((await w.within(w.cluster.produce(1, ['d']))).error).toBeNull();
    await w.cluster.close();
  });

  it('a write that waits while the ISR falls below min ISR ends as maybe written', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.crash(2);
    const write = w.cluster.produce(1, ['b'], { timeoutMs: 2_000 });
    await w.clock.advance(10);
    await w.cluster.change([{ ...w.cluster.state(), isr: [1], partitionEpoch: 5 }]);
    const { error } = await w.within(write);
    expect(error).toMatchObject({ code: 'TIMEOUT', outcome: 'MAYBE_WRITTEN' });
    expect(error?.message).toContain('1 of at least 2 replicas are in sync');
    await w.cluster.close();
  });
});

describe('change of leader', () => {
  it('loses nothing that was acknowledged; a tail that was not is cut where the epochs part (KIP-101)', async () => {
    const w = await world([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a', 'b']));
    // Only the leader gets these.
    w.network.partition('b1', 'b2');
    w.network.partition('b1', 'b3');
    await w.within(w.cluster.produce(1, ['lost 1', 'lost 2'], { acks: 1 }));
    w.cluster.crash(1);
    w.network.heal();
    await w.cluster.elect(2, { isr: [2, 3] });
    expect((await w.within(w.cluster.produce(2, ['c']))).baseOffset).toBe(2);
    await w.cluster.startBroker(1);
    await w.until(() => isr(w).length === 3, 5_000);
    expect(w.values(1)).toEqual(['a', 'b', 'c']);
    expect(w.log(1).content.equals(w.log(2).content)).toBe(true);
    await w.cluster.close();
  });

  it('fails those who wait with NOT_LEADER, maybe written, and says who leads', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    w.network.partition('b1', 'b2');
    const write = w.cluster.produce(1, ['a']);
    await w.clock.advance(20);
    await w.cluster.elect(2);
    const { error } = await w.within(write);
    expect(error).toMatchObject({
      code: 'NOT_LEADER',
      outcome: 'MAYBE_WRITTEN',
      leader: { leaderId: 2, leaderEpoch: 1, host: 'b2', port: 9292 },
    });
    await w.cluster.close();
  });

  it('the epoch is on disk before anything is served in it, also when nothing is written (KAFKA-7415)', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    let release: () => void = () => undefined;
    w.log(2).beforeAssignEpoch = () => new Promise((resolve) => (release = resolve));
    const elected = w.cluster.elect(2);
    await settle();
    const early = await w.within(w.cluster.produce(2, ['b']));
    expect(early.error).toMatchObject({ code: 'NOT_LEADER', outcome: 'NOT_WRITTEN' });
    release();
    await w.within(elected);
    expect(w.log(2).epochEnd(1)).toEqual({ epoch: 1, endOffset: 1 });
    expect((await w.within(w.cluster.produce(2, ['b']))).error).toBeNull();
    await w.cluster.close();
  });

  it('a leadership that is overtaken while its epoch is written never begins', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    let release: () => void = () => undefined;
    w.log(2).beforeAssignEpoch = () => new Promise((resolve) => (release = resolve));
    const first = w.cluster.elect(2);
    await settle();
    const second = w.cluster.elect(1);
    w.cluster.manager(2).resignAll('session expired');
    release();
    await w.within(Promise.all([first, second]));
    expect(w.cluster.partition(2).state).toMatchObject({ role: 'follower', leaderId: 1 });
    await w.cluster.close();
  });

  it('a change that failed half-way is tried again, not taken for known (KAFKA-9307)', async () => {
    const w = await world([1, 2]);
    w.stores.get(2)!.failNextCreate = 'DISK_FULL';
    await w.cluster.createTopic([[1, 2]]);
    expect(w.stores.get(2)!.get(TOPIC_ID, 0)).toBeUndefined();
    await w.until(() => w.stores.get(2)!.get(TOPIC_ID, 0) !== undefined, 5_000);
    expect((await w.within(w.cluster.produce(1, ['a']))).error).toBeNull();
    await w.cluster.close();
  });

  it('the HW of a new leader starts where the follower knew it, and rises with the acknowledgements', async () => {
    const w = await world([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    await w.clock.advance(50);
    w.cluster.crash(1);
    w.network.partition('b2', 'b3');
    await w.cluster.elect(2, { isr: [2, 3] });
    expect(hw(w, 2)).toBe(1);
    await w.cluster.close();
  });

  it('a quick double failover leaves the same bytes everywhere (KIP-279)', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    await w.within(w.cluster.produce(1, ['a', 'b']));
    w.network.partition('b1', 'b2');
    await w.within(w.cluster.produce(1, ['only 1'], { acks: 1 }));
    w.cluster.crash(1);
    await w.cluster.elect(2, { isr: [2] });
    await w.within(w.cluster.produce(2, ['only 2', 'too'], { acks: 1 }));
    w.cluster.crash(2);
    await w.cluster.startBroker(1);
    await w.cluster.elect(1, { isr: [1] });
    await w.within(w.cluster.produce(1, ['c'], { acks: 1 }));
    w.network.heal();
    await w.cluster.startBroker(2);
    await w.until(() => isr(w).length === 2, 5_000);
    expect(w.values(2)).toEqual(['a', 'b', 'only 1', 'c']);
    expect(w.log(2).content.equals(w.log(1).content)).toBe(true);
    await w.cluster.close();
  });
});

describe('fences', () => {
  it('a leader that a follower shows a higher epoch resigns at once', async () => {
    const w = await world([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]], { 'min.insync.replicas': '1' });
    w.network.partition('b1', 'b2');
    w.network.partition('b1', 'b3');
    await w.clock.advance(6_000);
    // Broker 1 hears nothing of the election; broker 3 still dials it, by a state of its own making.
    w.cluster.cutOffFromController(1);
    const waiting = w.cluster.produce(1, ['zombie'], { timeoutMs: 60_000 });
    await w.clock.advance(10);
    const before = w.cluster.state();
    const epochs = { leaderEpoch: 5, partitionEpoch: 9 };
    const image = w.cluster.image();
    await w.cluster.manager(3).apply([{ ...before, ...epochs, leader: 1 }], image);
    w.network.heal();
    const { error } = await w.within(waiting);
    expect(error).toMatchObject({ code: 'NOT_LEADER', outcome: 'MAYBE_WRITTEN' });
    expect(w.cluster.partition(1).state).toMatchObject({ role: 'offline', leaderEpoch: 5 });
    await w.cluster.close();
  });

  it('a zombie leader cannot commit: its followers have left, its question is refused', async () => {
    const w = await world([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.cutOffFromController(1);
    await w.cluster.elect(2);
    const zombie = await w.within(w.cluster.produce(1, ['b'], { timeoutMs: 30_000 }));
    expect(zombie.error?.code).toBe('TIMEOUT');
    // The new leader went on without it.
    expect(isr(w)).toEqual([2, 3]);
    expect((await w.within(w.cluster.produce(2, ['c']))).error).toBeNull();
    await w.cluster.reconnectToController(1);
    await w.until(() => w.values(1).join() === 'a,c', 20_000);
    await w.cluster.close();
  });

  it('an older state of the same partition is ignored (KAFKA-1188)', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    const old = w.cluster.state();
    await w.cluster.elect(2);
    await w.cluster
      .manager(2)
      .apply([{ ...old, leader: 1, partitionEpoch: 99 }], w.cluster.image());
    expect(w.cluster.partition(2).state).toMatchObject({ role: 'leader', leaderEpoch: 1 });
    await w.cluster.close();
  });

  it('a state with an epoch below the log is ignored after a restart', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    const old = w.cluster.state();
    await w.cluster.elect(2);
    await w.within(w.cluster.produce(2, ['a']));
    w.cluster.crash(1);
    await w.cluster.change([old]);
    await w.cluster.startBroker(1);
    expect(w.cluster.partition(1).state.role).toBe('offline');
    await w.cluster.close();
  });

  it('a follower of another broker epoch than the image says is turned away', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    w.cluster.manager(2).setBrokerEpoch(3);
    await w.clock.advance(1_000);
    expect((await w.within(w.cluster.produce(1, ['a'], { acks: 1 }))).error).toBeNull();
    await w.clock.advance(1_000);
    expect(w.log(2).logEndOffset).toBe(0);
    await w.cluster.close();
  });
});

describe('what lies on the disks', () => {
  it('the log of an earlier topic of the same name is moved aside, not served', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['old']));
    w.cluster.forgetTopic(TOPIC_ID);
    await w.cluster.createTopic([[1, 2]], {}, 'another-id');
    expect(w.cluster.partition(1, 0, 'another-id').log.logEndOffset).toBe(0);
    expect(w.stores.get(1)!.strays()).toMatchObject([{ topicId: TOPIC_ID }]);
    const late = await w.within(w.cluster.produce(1, ['late']));
    expect(late.error?.code).toBe('TOPIC_ID_MISMATCH');
    await w.cluster.close();
  });

  it('a replica that the image does not know is not served, and kept', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    w.cluster.forgetTopic(TOPIC_ID);
    await w.cluster.publish([]);
    const late = await w.within(w.cluster.produce(1, ['late']));
    expect(late.error?.code).toBe('UNKNOWN_TOPIC');
    expect(w.log(1)).toBeDefined();
    await w.cluster.close();
  });

  it('data goes only by StopReplica, fenced by broker epoch and leader epoch (KIP-380, KIP-570)', async () => {
    const w = await world([1, 2]);
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
    await w.cluster.close();
  });

  it('HWs are written every few seconds and at close, and a restart begins with them', async () => {
    const w = await world([1, 2]);
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
    await w.cluster.close();
  });

  it('an I/O error takes the partition offline here, with one error line; others go on', async () => {
    const w = await world([1]);
    await w.cluster.createTopic([[1], [1]]);
    w.log(1).failNextAppend = 'STORAGE_ERROR';
    const failed = await w.within(w.cluster.produce(1, ['a']));
    expect(failed.error).toMatchObject({ code: 'STORAGE_ERROR', outcome: 'MAYBE_WRITTEN' });
    expect(w.cluster.partition(1).state).toMatchObject({ role: 'offline', failed: true });
    // KAFKA-10778: nothing is appended after an I/O error.
    expect((await w.within(w.cluster.produce(1, ['b']))).error?.code).toBe('STORAGE_ERROR');
    expect((await w.within(w.cluster.produce(1, ['c'], { partition: 1 }))).error).toBeNull();
    expect(w.cluster.manager(1).localReplicas()).toHaveLength(1);
    await w.cluster.close();
  });

  it('a full disk refuses, and goes on when there is room', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    w.log(1).failNextAppend = 'DISK_FULL';
    const refused = await w.within(w.cluster.produce(1, ['a']));
    expect(refused.error).toMatchObject({ code: 'DISK_FULL', outcome: 'NOT_WRITTEN' });
    w.log(2).failNextAppend = 'DISK_FULL';
    expect((await w.within(w.cluster.produce(1, ['b']))).error).toBeNull();
    expect(w.values(2)).toEqual(['b']);
    await w.cluster.close();
  });

  it('leadership is not taken before the broker is registered, and is then', async () => {
    const w = await world([1, 2]);
    w.cluster.manager(1).setBrokerEpoch(undefined);
    await w.cluster.createTopic([[1, 2]]);
    expect(w.cluster.partition(1).state.role).toBe('offline');
    w.cluster.manager(1).setBrokerEpoch(200);
    await settle();
    expect(w.cluster.partition(1).state.role).toBe('leader');
    await w.cluster.close();
  });

  it('closes without leaving a timer behind', async () => {
    const w = await world([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    await w.cluster.close();
    await w.clock.advance(30_000);
    expect(w.clock.pendingTimers).toBe(0);
  });
});
