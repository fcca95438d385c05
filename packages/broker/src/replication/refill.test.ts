/** A byte is wrong on one replica's disk: it is never served, and the replica counts again once it is refilled. */
import { settle } from '@tributary/testkit';
import type { PartitionState } from '@tributary/protocol';
import { TOPIC, TOPIC_ID } from './data-cluster.fixture';
import { dataWorld, type World } from './data-world.fixture';
import { REFILLS_MAX } from './offline-replicas';
import { CatchUp, mayRefill } from './refill';

const KEY = `${TOPIC_ID}/0`;

/** Of three replicas, broker 1 leads; 20 records are committed everywhere. */
async function world(brokers: readonly number[] = [1, 2, 3]): Promise<World> {
  const w = await dataWorld(brokers);
  w.cluster.actsOnOutages = true;
  await w.cluster.createTopic([brokers]);
  for (let i = 0; i < 20; i += 1) await w.within(w.cluster.produce(brokers[0]!, [`${i}`]));
  return w;
}

const values = Array.from({ length: 20 }, (_, i) => `${i}`);

/** A fetch or push meets the damage. */
function readDamaged(w: World, id: number): void {
  w.log(id).damage(7);
  const partition = w.cluster.partition(id);
  expect(() => w.log(id).read(0, 1e6, 20)).toThrow('fails its CRC');
  partition.noticeFailure(w.log(id).failure);
}

/** Deltas are late: the broker does not hear of what the controller does. */
function holdNews(w: World, id: number): () => Promise<void> {
  w.cluster.cutOffFromController(id);
  w.cluster.letAsk(id);
  return () => w.cluster.reconnectToController(id);
}

async function sameEverywhere(w: World, expected: readonly string[]): Promise<void> {
  await w.until(() => w.isr().length === 3, 20_000);
  for (const id of [1, 2, 3]) expect(w.values(id)).toEqual(expected);
  expect(w.log(1).content.equals(w.log(2).content)).toBe(true);
  expect(w.log(1).content.equals(w.log(3).content)).toBe(true);
}

describe('a damaged leader', () => {
  it('leads no more, is refilled from the next one, and leads again when it is asked to', async () => {
    const w = await world();
    readDamaged(w, 1);
    await w.until(() => w.cluster.state().leader === 2, 1_000);
    expect((await w.within(w.cluster.produce(2, ['after']))).error).toBeNull();
    await sameEverywhere(w, [...values, 'after']);
    expect(w.cluster.restored).toEqual([`1: ${KEY}`]);
    await w.cluster.elect(1);
    expect((await w.within(w.cluster.produce(1, ['again']))).error).toBeNull();
    await w.close();
  });

  it('is read while it is found: the client hears STORAGE_ERROR with what to do, never the bytes', async () => {
    const w = await world([1]);
    readDamaged(w, 1);
    const { error } = await w.within(w.cluster.produce(1, ['x']));
    expect(error).toMatchObject({ code: 'STORAGE_ERROR', outcome: 'NOT_WRITTEN' });
    expect(error?.message).toContain(`${TOPIC}-0 is damaged on broker 1: the batch at offset 7`);
    expect(error?.hint).toContain(`trib partition accept-loss ${TOPIC} 0 --broker 1`);
    await w.close();
  });
});

describe('a damaged follower', () => {
  it('leaves the ISR, is refilled, and comes back; the HW does not wait for it', async () => {
    const w = await world();
    readDamaged(w, 3);
    expect(w.isr()).toEqual([1, 2]);
    const before = w.clock.now();
    expect((await w.within(w.cluster.produce(1, ['after']))).error).toBeNull();
    expect(w.clock.now() - before).toBeLessThan(500);
    await sameEverywhere(w, [...values, 'after']);
    await w.close();
  });

  it('what was set aside is removed once it is in the ISR again, and not before', async () => {
    const w = await world();
    w.network.partition('b1', 'b3');
    w.network.partition('b2', 'b3');
    readDamaged(w, 3);
    await w.clock.advance(2_000);
    expect(w.stores.get(3)!.damaged()).toMatchObject([{ topicId: TOPIC_ID }]);
    expect(w.log(3).logEndOffset).toBe(0);
    w.network.heal();
    await sameEverywhere(w, values);
    await w.until(() => w.stores.get(3)!.damaged().length === 0, 5_000);
    await w.close();
  });

  it('a log start above 0: it begins there', async () => {
    const w = await world();
    for (const id of [1, 2]) w.log(id).deleteRecordsBefore(5);
    readDamaged(w, 3);
    await w.until(() => w.isr().length === 3, 20_000);
    expect(w.log(3).logStartOffset).toBe(5);
    expect(w.log(3).content.equals(w.log(1).content)).toBe(true);
    await w.close();
  });

  it('counts as offline until it has everything: it is in no ISR on the way', async () => {
    const w = await world();
    readDamaged(w, 3);
    await settle();
    expect(w.cluster.manager(3).offlineReplicas()).toMatchObject([{ incident: 1 }]);
    await w.until(() => w.cluster.restored.length === 1);
    expect(w.log(3).logEndOffset).toBe(20);
    expect(w.cluster.manager(3).offlineReplicas()).toEqual([]);
    expect(w.cluster.manager(3).restoredReplicas()).toMatchObject([{ incident: 1 }]);
    await w.close();
  });
});

describe('races', () => {
  it('the ISR still contains it: nothing is set aside', async () => {
    const w = await world();
    const hear = holdNews(w, 3);
    readDamaged(w, 3);
    await w.clock.advance(2_000);
    expect(w.stores.get(3)!.damaged()).toEqual([]);
    expect(w.log(3).logEndOffset).toBe(20);
    await hear();
    await sameEverywhere(w, values);
    await w.close();
  });

  it('a stale image, without it and with an incident that is over: nothing is set aside', async () => {
    const w = await world();
    readDamaged(w, 3);
    const stale = { ...w.cluster.state(), isr: [1, 2] };
    await sameEverywhere(w, values);
    const hear = holdNews(w, 3);
    readDamaged(w, 3);
    expect(stale.offlineReplicas).toMatchObject([{ brokerId: 3, incident: 1 }]);
    await w.cluster.manager(3).apply([stale], w.cluster.image());
    await w.clock.advance(1_000);
    expect(w.log(3).logEndOffset).toBe(20);
    await hear();
    await sameEverywhere(w, values);
    await w.close();
  });

  it('the controller goes while it is refilled: the next one hears of it and keeps it out', async () => {
    const w = await world();
    w.network.partition('b1', 'b3');
    readDamaged(w, 3);
    await w.clock.advance(1_000);
    expect(w.log(3).logEndOffset).toBe(0);
    w.cluster.failOver();
    expect(w.cluster.state().offlineReplicas).toMatchObject([{ brokerId: 3, incident: 1 }]);
    w.network.heal();
    await sameEverywhere(w, values);
    await w.close();
  });

  it('the controller goes before it heard of it: nothing happens before the next one does', async () => {
    const w = await world();
    w.cluster.controllerDown = true;
    readDamaged(w, 3);
    await w.clock.advance(1_000);
    expect(w.log(3).logEndOffset).toBe(20);
    w.cluster.controllerDown = false;
    w.cluster.failOver();
    await sameEverywhere(w, values);
    await w.close();
  });

  it('its broker starts again while it is refilled: it is a follower that is behind, out of the ISR', async () => {
    const w = await world();
    w.network.partition('b1', 'b3');
    readDamaged(w, 3);
    await w.clock.advance(1_000);
    w.cluster.crash(3);
    w.network.heal();
    await w.cluster.startBroker(3);
    expect(w.isr()).toEqual([1, 2]);
    w.cluster.failOver();
    await sameEverywhere(w, values);
    await w.until(() => w.stores.get(3)!.damaged().length === 0, 5_000);
    await w.close();
  });

  it('the leader goes while it is refilled: it goes on with the next one', async () => {
    const w = await world();
    w.network.partition('b1', 'b3');
    readDamaged(w, 3);
    await w.clock.advance(1_000);
    await w.cluster.elect(2);
    await sameEverywhere(w, values);
    await w.close();
  });

  it('the last member of the ISR: nothing is set aside, nobody leads', async () => {
    const w = await world();
    await w.cluster.elect(1, { isr: [1] });
    w.cluster.crash(2);
    w.cluster.crash(3);
    readDamaged(w, 1);
    await w.clock.advance(5_000);
    expect(w.cluster.state()).toMatchObject({ leader: -1, isr: [1] });
    expect(w.log(1).logEndOffset).toBe(20);
    expect(w.stores.get(1)!.damaged()).toEqual([]);
    await w.close();
  });

  it('all replicas damaged in different places, found one after the other: each is refilled by those left', async () => {
    const w = await world();
    for (const [id, offset] of [
      [1, 3],
      [2, 9],
      [3, 15],
    ] as const) {
      // prettier-ignore
      const { leader } = w.cluster.state();
      w.log(id).damage(offset);
      expect(() => w.log(id).read(0, 1e6, 20)).toThrow('fails its CRC');
      w.cluster.partition(id).noticeFailure(w.log(id).failure);
      await sameEverywhere(w, values);
      expect(w.cluster.state().leader).not.toBe(id === leader ? id : -1);
    }
    await w.close();
  });

  it('the one it is refilled from turns out to be damaged, too: the third one serves both', async () => {
    const w = await world();
    w.log(2).damage(12);
    readDamaged(w, 1);
    // Broker 2 leads now, and finds its damage when it reads for broker 1.
    await w.until(() => w.cluster.state().leader === 3, 5_000);
    await sameEverywhere(w, values);
    await w.close();
  });
});

describe('limits', () => {
  it('a disk full of damage: after some refills it is taken for failed until the next start', async () => {
    const w = await world();
    for (let i = 0; i < REFILLS_MAX; i += 1) {
      readDamaged(w, 3);
      await sameEverywhere(w, values);
    }
    readDamaged(w, 3);
    await w.clock.advance(10_000);
    expect(w.isr()).toEqual([1, 2]);
    expect(w.log(3).failure).toBeDefined();
    await w.close();
  });

  it('an I/O error is no damage: offline until the next start', async () => {
    const w = await world();
    w.log(3).failNextAppend = 'STORAGE_ERROR';
    await w.within(w.cluster.produce(1, ['x']), 20_000);
    await w.clock.advance(10_000);
    expect(w.isr()).toEqual([1, 2]);
    expect(w.stores.get(3)!.damaged()).toEqual([]);
    expect(w.cluster.manager(3).status()[0]).toMatchObject({ role: 'offline', outage: 'failed' });
    await w.close();
  });
});

describe('what is lost at the start', () => {
  async function lostAtStart(damaged: boolean): Promise<World> {
    const w = await world();
    w.cluster.crash(3);
    const log = w.log(3);
    await w.stores.get(3)!.moveAside(TOPIC_ID, 0);
    const { topic, topicId, partition } = log;
    w.stores.get(3)!.lostReplicas = [
      { topic, topicId, partition, reason: 'it has no segment', damaged },
    ];
    await w.cluster.startBroker(3);
    w.cluster.failOver();
    return w;
  }

  it('damaged: offline from the first image on, then refilled', async () => {
    const w = await lostAtStart(true);
    expect(w.cluster.failed).toEqual([`3: ${KEY}`]);
    await sameEverywhere(w, values);
    await w.close();
  });

  it('found before this broker has registered, when nobody looks after the log: refilled, too', async () => {
    const w = await world();
    w.cluster.crash(3);
    w.log(3).damage(7);
    expect(() => w.log(3).read(0, 1e6, 20)).toThrow('fails its CRC');
    await w.cluster.startBroker(3);
    w.cluster.failOver();
    await sameEverywhere(w, values);
    expect(w.cluster.restored).toEqual([`3: ${KEY}`]);
    await w.close();
  });

  it('its disk does not answer: offline', async () => {
    const w = await lostAtStart(false);
    await w.clock.advance(10_000);
    expect(w.isr()).toEqual([1, 2]);
    expect(w.cluster.manager(3).status()).toMatchObject([
      { role: 'offline', outage: 'failed', reason: 'it has no segment' },
    ]);
    await w.close();
  });
});

describe('mayRefill', () => {
  const outage = { topic: 't', topicId: 'id', partition: 0, kind: 'damaged', reason: 'x', incident: 4 } as const; // prettier-ignore
  const permitted: PartitionState = {
    topic: 't',
    topicId: 'id',
    partition: 0,
    leader: 1,
    leaderEpoch: 0,
    partitionEpoch: 0,
    controllerEpoch: 1,
    isr: [1, 2],
    replicas: [1, 2, 3],
    eligibleLeaders: [],
    offlineReplicas: [{ brokerId: 3, incident: 4, reason: 'x' }],
    addingReplicas: [],
    removingReplicas: [],
  };

  it.each<[string, Partial<PartitionState>, boolean]>([
    ['another leads, no seat, this incident', {}, true],
    ['nobody leads', { leader: -1 }, false],
    ['it leads', { leader: 3 }, false],
    ['it is in the ISR', { isr: [1, 3] }, false],
    ['it may be elected', { eligibleLeaders: [3] }, false],
    ['the controller has not heard of it', { offlineReplicas: [] }, false],
    ['it has heard of an earlier one', { offlineReplicas: [{ brokerId: 3, incident: 3, reason: 'x' }] }, false], // prettier-ignore
  ])('%s', (_, change, expected) => {
    expect(mayRefill(outage, { ...permitted, ...change }, 3)).toBe(expected);
  });
});

describe('CatchUp', () => {
  it('is complete at what the leader had when the attach began, not at a HW that lags behind its epoch', () => {
    const catchUp = new CatchUp();
    expect(catchUp.heard({ attachId: 1, logEndOffset: 100, highWatermark: 40 }, 50)).toBe(false);
    expect(catchUp.heard({ attachId: 1, logEndOffset: 300, highWatermark: 40 }, 100)).toBe(true);
  });

  it('another attach, maybe to another leader, has another end', () => {
    const catchUp = new CatchUp();
    catchUp.heard({ attachId: 1, logEndOffset: 100, highWatermark: 0 }, 0);
    expect(catchUp.heard({ attachId: 2, logEndOffset: 200, highWatermark: 0 }, 100)).toBe(false);
    expect(catchUp.heard({ attachId: 2, logEndOffset: 250, highWatermark: 220 }, 200)).toBe(false);
    expect(catchUp.heard({ attachId: 2, logEndOffset: 250, highWatermark: 220 }, 220)).toBe(true);
  });
});
