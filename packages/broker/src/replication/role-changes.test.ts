import { settle, type MemoryLog } from '@tributary/testkit';
import { TOPIC_ID } from './data-cluster.fixture';
import { dataWorld } from './data-world.fixture';

/** The next leader epochs are not written before the returned function is called. */
function holdEpochs(log: MemoryLog): () => void {
  let release: () => void = () => undefined;
  log.beforeAssignEpoch = () => new Promise((resolve) => (release = resolve));
  return () => {
    log.beforeAssignEpoch = () => Promise.resolve();
    release();
  };
}

describe('change of leader', () => {
  it('loses nothing that was acknowledged; a tail that was not is cut where the epochs part (KAFKA-1211, KIP-101)', async () => {
    const w = await dataWorld([1, 2, 3]);
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
    await w.until(() => w.isr().length === 3, 5_000);
    expect(w.values(1)).toEqual(['a', 'b', 'c']);
    expect(w.log(1).content.equals(w.log(2).content)).toBe(true);
    await w.close();
  });

  it('fails those who wait with NOT_LEADER, maybe written, and says who leads', async () => {
    const w = await dataWorld([1, 2]);
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
    await w.close();
  });

  it.each([
    ['the new leader', [1, 2]],
    ['another follower', [1, 2, 3]],
  ])(
    'a leader to which the controller cannot speak hears it from %s, and resigns',
    async (_who, ids) => {
      const w = await dataWorld(ids);
      await w.cluster.createTopic([ids]);
      await w.within(w.cluster.produce(1, ['a']));
      await w.cluster.unregister(1);
      expect((await w.within(w.cluster.produce(1, ['until then']))).error).toBeNull();
      if (ids.length === 3) w.network.partition('b1', 'b2');
      await w.cluster.elect(2, { isr: ids.slice(1) });
      await w.until(() => w.cluster.partition(1).state.role !== 'leader', 100);
      expect(w.cluster.partition(1).state).toMatchObject({ role: 'offline', leaderEpoch: 1 });
      const { error } = await w.within(w.cluster.produce(1, ['b'], { acks: 1 }));
      expect(error).toMatchObject({ code: 'NOT_LEADER', outcome: 'NOT_WRITTEN' });
      await w.close();
    },
  );

  it('the epoch is on disk before anything is served in it, also when nothing is written (KAFKA-7415)', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    await w.within(w.cluster.produce(1, ['a']));
    const release = holdEpochs(w.log(2));
    const elected = w.cluster.elect(2);
    await settle();
    const early = await w.within(w.cluster.produce(2, ['b']));
    expect(early.error).toMatchObject({ code: 'NOT_LEADER', outcome: 'NOT_WRITTEN' });
    release();
    await w.within(elected);
    expect(w.log(2).epochEnd(1)).toEqual({ epoch: 1, endOffset: 1 });
    expect((await w.within(w.cluster.produce(2, ['b']))).error).toBeNull();
    await w.close();
  });

  it.each(['a newer state comes', 'the session ends'])(
    'a leadership that is overtaken while its epoch is written never begins: %s',
    async (what) => {
      const w = await dataWorld([1, 2]);
      await w.cluster.createTopic([[1, 2]]);
      const release = holdEpochs(w.log(2));
      const first = w.cluster.elect(2);
      await settle();
      const dispatched = jest.spyOn(w.cluster.partition(2), 'dispatch');
      const then = what === 'a newer state comes' ? w.cluster.elect(1) : Promise.resolve();
      if (what === 'the session ends') w.cluster.manager(2).resignAll('session expired');
      release();
      await w.within(Promise.all([first, then]));
      expect(dispatched.mock.calls.map(([{ kind }]) => kind)).not.toContain('lead');
      expect(w.cluster.partition(2).state.role).not.toBe('leader');
      await w.close();
    },
  );

  it('a leader that missed two elections and leads again serves nothing before its new epoch is on disk', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    w.cluster.cutOffFromController(1);
    await w.cluster.elect(2);
    const waiting = w.cluster.produce(1, ['a']);
    await settle();
    const release = holdEpochs(w.log(1));
    const { leaderEpoch, partitionEpoch } = w.cluster.state();
    const back = w.cluster.change([
      {
        ...w.cluster.state(),
        leader: 1,
        leaderEpoch: leaderEpoch + 1,
        partitionEpoch: partitionEpoch + 1,
      },
    ]);
    const told = w.cluster.reconnectToController(1);
    await settle();
    const early = await w.within(w.cluster.produce(1, ['b']));
    expect(early.error).toMatchObject({ code: 'NOT_LEADER', outcome: 'NOT_WRITTEN' });
    expect((await w.within(waiting)).error).toMatchObject({ code: 'NOT_LEADER' });
    release();
    await w.within(Promise.all([back, told]));
    expect(w.cluster.partition(1).state).toMatchObject({ role: 'leader', leaderEpoch: 2 });
    await w.close();
  });

  it('what waited its turn when the registration ended is not taken up by the next one', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[2, 1]]);
    const release = holdEpochs(w.log(1));
    const first = w.cluster.elect(1);
    await settle();
    const manager = w.cluster.manager(1);
    const state = { ...w.cluster.state(), leaderEpoch: 3, partitionEpoch: 3 };
    const waiting = manager.apply([state], w.cluster.image());
    manager.resignAll('session expired');
    manager.setBrokerEpoch(undefined);
    release();
    await w.within(Promise.all([first, waiting]));
    manager.setBrokerEpoch(500);
    await w.clock.advance(100);
    expect(w.cluster.partition(1).state.role).not.toBe('leader');
    await w.close();
  });

  it('a leader that one controller did not name, and the next one does in the same epoch, is followed', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    w.cluster.crash(2);
    const state = w.cluster.state();
    // It doubts that broker 1 lives, and goes before it has elected another.
    await w.cluster.change([{ ...state, leader: -1 }]);
    await w.cluster.startBroker(2);
    expect(w.cluster.partition(2).state).toMatchObject({ role: 'follower', leaderId: -1 });
    await w.cluster.change([state]);
    expect((await w.within(w.cluster.produce(1, ['a']))).error).toBeNull();
    expect(w.values(2)).toEqual(['a']);
    await w.close();
  });

  it('a topic that goes while its leader begins is not led', async () => {
    const w = await dataWorld([1]);
    await w.cluster.createTopic([[1]]);
    w.cluster.crash(1);
    const release = holdEpochs(w.log(1));
    const started = w.cluster.startBroker(1);
    await settle();
    const partition = w.cluster.partition(1);
    w.cluster.forgetTopic(TOPIC_ID);
    await w.cluster.publish([]);
    release();
    await w.within(started);
    expect(partition.state.role).toBe('offline');
    await w.close();
  });

  it('a change that failed half-way is tried again, not taken for known (KAFKA-9307)', async () => {
    const w = await dataWorld([1, 2]);
    w.stores.get(2)!.failNextCreate = 'DISK_FULL';
    await w.cluster.createTopic([[1, 2]]);
    expect(w.stores.get(2)!.get(TOPIC_ID, 0)).toBeUndefined();
    await w.until(() => w.stores.get(2)!.get(TOPIC_ID, 0) !== undefined, 5_000);
    expect((await w.within(w.cluster.produce(1, ['a']))).error).toBeNull();
    await w.close();
  });

  it('the HW of a new leader starts where the follower knew it, and rises with the acknowledgements', async () => {
    const w = await dataWorld([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    await w.clock.advance(50);
    w.cluster.crash(1);
    w.network.partition('b2', 'b3');
    await w.cluster.elect(2, { isr: [2, 3] });
    expect(w.hw(2)).toBe(1);
    await w.close();
  });

  it('a quick double failover leaves the same bytes everywhere (KAFKA-6361, KIP-279)', async () => {
    const w = await dataWorld([1, 2]);
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
    await w.until(() => w.isr().length === 2, 5_000);
    expect(w.values(2)).toEqual(['a', 'b', 'only 1', 'c']);
    expect(w.log(2).content.equals(w.log(1).content)).toBe(true);
    await w.close();
  });
});

describe('fences', () => {
  it('a leader that a follower shows a higher epoch resigns at once', async () => {
    const w = await dataWorld([1, 2, 3]);
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
    await w.close();
  });

  it('a zombie leader cannot commit: its followers have left, its question is refused', async () => {
    const w = await dataWorld([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    await w.within(w.cluster.produce(1, ['a']));
    w.cluster.cutOffFromController(1);
    // Nor do the followers' goodbyes reach it.
    w.network.partition('b1', 'b2');
    w.network.partition('b1', 'b3');
    await w.cluster.elect(2);
    const zombie = await w.within(w.cluster.produce(1, ['b'], { timeoutMs: 30_000 }));
    expect(zombie.error?.code).toBe('TIMEOUT');
    // The new leader went on without it.
    expect(w.isr()).toEqual([2, 3]);
    expect((await w.within(w.cluster.produce(2, ['c']))).error).toBeNull();
    w.network.heal();
    await w.cluster.reconnectToController(1);
    await w.until(() => w.values(1).join() === 'a,c', 20_000);
    await w.close();
  });

  it('a leader that the assignment leaves out leads no more, and who waits hears so', async () => {
    const w = await dataWorld([1, 2, 3]);
    await w.cluster.createTopic([[1, 2, 3]]);
    w.network.partition('b1', 'b2');
    w.network.partition('b1', 'b3');
    const waiting = w.cluster.produce(1, ['a'], { timeoutMs: 60_000 });
    await w.clock.advance(10);
    const now = { leader: 2, isr: [2, 3], replicas: [2, 3], leaderEpoch: 1, partitionEpoch: 1 };
    await w.cluster.change([{ ...w.cluster.state(), ...now }]);
    const { error } = await w.within(waiting, 100);
    expect(error).toMatchObject({ code: 'NOT_LEADER', outcome: 'MAYBE_WRITTEN' });
    const late = await w.within(w.cluster.produce(1, ['b'], { acks: 1 }));
    expect(late.error).toMatchObject({ code: 'NOT_LEADER', outcome: 'NOT_WRITTEN' });
    await w.close();
  });

  it('an older state of the same partition is ignored (KAFKA-1188)', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    const old = w.cluster.state();
    await w.cluster.elect(2);
    await w.cluster
      .manager(2)
      .apply([{ ...old, leader: 1, partitionEpoch: 99 }], w.cluster.image());
    expect(w.cluster.partition(2).state).toMatchObject({ role: 'leader', leaderEpoch: 1 });
    await w.close();
  });

  it('a state with an epoch below the log is ignored after a restart', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]]);
    const old = w.cluster.state();
    await w.cluster.elect(2);
    await w.within(w.cluster.produce(2, ['a']));
    w.cluster.crash(1);
    await w.cluster.change([old]);
    await w.cluster.startBroker(1);
    expect(w.cluster.partition(1).state.role).toBe('offline');
    await w.close();
  });

  it('a follower of another broker epoch than the image says is turned away', async () => {
    const w = await dataWorld([1, 2]);
    await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
    w.cluster.manager(2).setBrokerEpoch(3);
    await w.clock.advance(1_000);
    expect((await w.within(w.cluster.produce(1, ['a'], { acks: 1 }))).error).toBeNull();
    await w.clock.advance(1_000);
    expect(w.log(2).logEndOffset).toBe(0);
    await w.close();
  });
});
