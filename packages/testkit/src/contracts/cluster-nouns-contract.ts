/// <reference types="jest" />
/**
 * What the nouns of the cluster (broker registry, election, topics, partition states, producer ids) do on any
 * coordinator, the fences first. Run on the embedded one and on a real ensemble.
 */
import { seededRandom, silentLogger, TributaryError, type Clock } from '@tributary/common';
import {
  allBrokers,
  createBrokerRegistry,
  createBrokerSettingsStore,
  createOwedDeletionStore,
  createClusterIdentity,
  createControllerElection,
  createPartitionStateStore,
  createProducerIdBlocks,
  createTopicStore,
  type BrokerRegistration,
  type BrokerRegistryOptions,
  type ControllerFence,
  type Coordinator,
  type DeletionMarker,
  type RegisteredBroker,
  type StoredPartitionState,
  type TopicRecord,
} from '@tributary/coordination';
import type { CoordinatorHarness } from './coordinator-contract';

export interface ClusterNounsHarness extends CoordinatorHarness {
  readonly clock: Clock;
  /** Awaits work that needs time to pass. */
  settle<T>(work: Promise<T>): Promise<T>;
}

function registration(brokerId: number, hostname = 'host-a'): BrokerRegistration {
  const endpoints = [
    { listener: 'INSIDE', host: '10.0.0.1', port: 9292 },
    { listener: 'OUTSIDE', host: 'broker.example', port: 19292 },
  ];
  return { brokerId, endpoints, rack: 'r1', hostname };
}

function topic(topicId = 'id-of-orders-00000001', partitions = 2): TopicRecord {
  const assignment = Array.from({ length: partitions }, (_, index) => [1 + (index % 3), 2, 3]);
  return { topic: 'orders', topicId, assignment, configs: { 'min.insync.replicas': '2' } };
}

function state(
  partition: number,
  fields: Partial<StoredPartitionState> = {},
): StoredPartitionState {
  return {
    topic: 'orders',
    topicId: 'id-of-orders-00000001',
    partition,
    leader: 1,
    leaderEpoch: 0,
    controllerEpoch: 1,
    isr: [1, 2, 3],
    eligibleLeaders: [],
    ...fields,
  };
}

export function describeClusterNounsContract(
  name: string,
  makeHarness: () => Promise<ClusterNounsHarness>,
): void {
  describe(`cluster nouns: ${name}`, () => {
    let harness: ClusterNounsHarness;
    let coordinator: Coordinator;
    let seeds = 0;

    beforeEach(async () => {
      harness = await makeHarness();
      coordinator = await harness.connect();
    });
    afterEach(() => harness.close());

    const random = () => seededRandom((seeds += 1));
    const election = (of = coordinator) => createControllerElection(of, harness.clock, random());
    const topics = (of = coordinator) => createTopicStore(of, harness.clock, silentLogger);
    const states = (of = coordinator) => createPartitionStateStore(of);
    const registry = (of = coordinator, options?: BrokerRegistryOptions) =>
      createBrokerRegistry(of, harness.clock, silentLogger, options);

    const win = async (brokerId: number, of = coordinator): Promise<ControllerFence> => {
      const result = await harness.settle(election(of).elect(brokerId));
      if (!result.won) throw new Error(`not elected: ${JSON.stringify(result.current)}`);
      return result.fence;
    };

    const failure = async (work: Promise<unknown>): Promise<TributaryError> => {
      try {
        await harness.settle(work);
      } catch (error) {
        return error as TributaryError;
      }
      throw new Error('did not fail');
    };

    const expire = async (victim: Coordinator): Promise<void> => {
      const observer = await harness.connect();
      const before = victim.sessionId;
      await observer.endSession(victim.sessionTicket!);
      await harness.until(() => victim.status === 'connected' && victim.sessionId !== before);
      await coordinator.barrier();
    };

    describe('fences', () => {
      test('controller epoch: every write of an older controller is refused', async () => {
        const old = await harness.connect();
        const oldFence = await win(1, old);
        await topics(old).create(topic());
        await states(old).write(oldFence, [{ state: state(0), expectedPartitionEpoch: undefined }]);
        await expire(old);
        const fence = await win(2);
        expect(fence.controllerEpoch).toBe(oldFence.controllerEpoch + 1);

        const write = { state: state(0, { leader: 3 }), expectedPartitionEpoch: 0 };
        expect(await failure(states(old).write(oldFence, [write]))).toMatchObject({
          code: 'STALE_CONTROLLER_EPOCH',
          outcome: 'not written',
        });
        const marker = { topic: 'orders', topicId: topic().topicId };
        expect(await failure(topics(old).completeDeletion(oldFence, marker))).toMatchObject({
          code: 'STALE_CONTROLLER_EPOCH',
        });
        await harness.settle(election(old).resign(oldFence));
        expect(await election().current()).toEqual({
          brokerId: 2,
          controllerEpoch: fence.controllerEpoch,
        });
        expect(await states().read('orders')).toMatchObject([{ ...state(0), partitionEpoch: 0 }]);
      });

      test('controller epoch: version 0 of /controller_epoch fences, too', async () => {
        const never: ControllerFence = { controllerEpoch: 0, epochVersion: 0 };
        await topics().create(topic());
        await win(1);
        const write = { state: state(0), expectedPartitionEpoch: undefined };
        expect(await failure(states().write(never, [write]))).toMatchObject({
          code: 'STALE_CONTROLLER_EPOCH',
        });
        expect(await states().read('orders')).toEqual([]);
      });

      test('election: of many at once one wins, the others learn who', async () => {
        const clients = [coordinator, await harness.connect(), await harness.connect()];
        const results = await harness.settle(
          Promise.all(clients.map((client, index) => election(client).elect(index + 1))),
        );
        const winners = results.filter((result) => result.won);
        expect(winners).toHaveLength(1);
        const current = await election().current();
        for (const result of results) {
          if (!result.won) expect(result.current).toEqual(current);
        }
        expect(current?.controllerEpoch).toBe(1);
      });

      test('partition epoch: a stale compare-and-set is refused and shown what is there, at epoch 0 too', async () => {
        const fence = await win(1);
        await topics().create(topic());
        const create = [0, 1].map((partition) => ({
          state: state(partition),
          expectedPartitionEpoch: undefined,
        }));
        const made = await states().write(fence, create);
        expect(made).toEqual([
          { ok: true, state: { ...state(0), partitionEpoch: 0 } },
          { ok: true, state: { ...state(1), partitionEpoch: 0 } },
        ]);
        const shrunk = state(0, { isr: [1, 2] });
        await states().write(fence, [{ state: shrunk, expectedPartitionEpoch: 0 }]);
        const stale = await states().write(fence, [
          { state: state(0, { isr: [1] }), expectedPartitionEpoch: 0 },
          { state: state(1, { isr: [1, 3] }), expectedPartitionEpoch: 0 },
          { state: state(1, { isr: [9] }), expectedPartitionEpoch: undefined },
        ]);
        expect(stale).toEqual([
          { ok: false, current: expect.objectContaining({ ...shrunk, partitionEpoch: 1 }) },
          { ok: true, state: { ...state(1, { isr: [1, 3] }), partitionEpoch: 1 } },
          { ok: false, current: expect.objectContaining({ partition: 1 }) },
        ]);
      });

      test('broker id: a second broker with the same id is refused, naming the host of the first', async () => {
        const first = await harness.connect();
        const epoch = await registry(first).register(registration(7, 'host-of-the-first'));
        const impatient = await harness.connect({ sessionTimeoutMs: 1_000 });
        const second = registry(impatient).register(registration(7, 'host-of-the-second'));
        const error = await failure(second);
        expect(error).toMatchObject({ code: 'BROKER_ID_IN_USE' });
        expect(error.message).toContain('host-of-the-first');
        expect((await registry().list()).map((broker) => broker.brokerEpoch)).toEqual([epoch]);
      });

      test('a state that was read tells which brokers have registered since it was written', async () => {
        const fence = await win(1);
        await topics().create(topic());
        const earlier = await registry().register(registration(1));
        await states().write(fence, [{ state: state(0), expectedPartitionEpoch: undefined }]);
        const later = await registry(await harness.connect()).register(registration(2));
        const [read] = await states().read('orders');
        expect(read?.writtenAt).toBeGreaterThan(earlier);
        expect(read?.writtenAt).toBeLessThan(later);
      });

      test('producer ids: no block is given twice', async () => {
        const clients = [coordinator, await harness.connect(), await harness.connect()];
        const requests = clients.flatMap((client, index) => {
          const blocks = createProducerIdBlocks(client, random());
          return Array.from({ length: 5 }, () => blocks.next(index));
        });
        const blocks = await harness.settle(Promise.all(requests));
        const firsts = blocks.map(({ first }) => first).sort((a, b) => a - b);
        expect(firsts).toEqual(Array.from({ length: 15 }, (_, index) => index * 1_000));
        expect(new Set(blocks.map(({ size }) => size))).toEqual(new Set([1_000]));
      });
    });

    describe('brokers', () => {
      test('the broker epoch is the czxid of the registration; all fields come back', async () => {
        const brokerEpoch = await registry().register(registration(3));
        const node = await coordinator.get('/brokers/ids/3');
        expect(brokerEpoch).toBe(node?.stat.czxid);
        expect(await registry().list()).toEqual([{ ...registration(3), brokerEpoch }]);
        // Registering again in the same session changes nothing.
        expect(await registry().register(registration(3))).toBe(brokerEpoch);
      });

      test('a node left by an earlier session of the same process is replaced at once', async () => {
        const broker = await harness.connect();
        const brokers = registry(broker);
        const before = await brokers.register(registration(3));
        // The servers have not noticed the end of the old session yet; its node stands in the way.
        const ghost = await harness.connect();
        await coordinator.remove('/brokers/ids/3');
        await registry(ghost).register(registration(3));
        const past = [ghost.sessionId!];
        const after = await registry(broker, { pastSessionIds: past }).register(registration(3));
        expect(after).toBeGreaterThan(before);
      });

      test('watch: who comes, goes, and bounces (same id, higher epoch)', async () => {
        const seen: RegisteredBroker[][] = [];
        registry().watch((brokers) => seen.push(brokers));
        await harness.until(() => seen.length === 1);
        const broker = await harness.connect();
        const first = await registry(broker).register(registration(1));
        await harness.until(() => seen.at(-1)?.[0]?.brokerEpoch === first);
        await expire(broker);
        await registry(broker).register(registration(1));
        await harness.until(() => (seen.at(-1)?.[0]?.brokerEpoch ?? 0) > first);
        await broker.close();
        await harness.until(() => seen.at(-1)?.length === 0);
      });

      test('the cluster id is made once', async () => {
        const clients = [coordinator, await harness.connect()];
        const ids = await Promise.all(
          clients.map((client) => createClusterIdentity(client, random()).getOrCreate()),
        );
        expect(new Set(ids).size).toBe(1);
        expect(ids[0]).toMatch(/^[A-Za-z0-9_-]{22}$/);
      });
    });

    describe('election', () => {
      test('the epoch goes up each time; who resigns lets the next one in', async () => {
        const seen: (number | undefined)[] = [];
        election().watch((current) => seen.push(current?.brokerId));
        const first = await win(1);
        expect(first).toEqual({ controllerEpoch: 1, epochVersion: 1 });
        const other = await harness.connect();
        expect(await harness.settle(election(other).elect(2))).toEqual({
          won: false,
          current: { brokerId: 1, controllerEpoch: 1 },
        });
        await harness.settle(election().resign(first));
        expect(await win(2, other)).toEqual({ controllerEpoch: 2, epochVersion: 2 });
        await harness.until(() => seen.at(-1) === 2);
        // An election whose success never got through is repeated: a new epoch, never the same twice.
        expect(await win(2, other)).toEqual({ controllerEpoch: 3, epochVersion: 3 });
        // The fence of the first no longer holds, so it removes nothing.
        await harness.settle(election().resign(first));
        expect(await election().current()).toEqual({ brokerId: 2, controllerEpoch: 3 });
      });
    });

    describe('settings of brokers', () => {
      const store = (of = coordinator) => createBrokerSettingsStore(of);
      const drained = { brokerId: 3, configs: { a: '1' }, duty: 'drained' } as const;

      test('are created, compared and set, and read', async () => {
        const fence = await win(1);
        expect(await store().readAll()).toEqual([]);
        expect(await store().write(fence, drained, undefined)).toEqual({ ...drained, version: 0 });
        const all = { brokerId: allBrokers, configs: { b: '2' }, duty: 'in service' } as const;
        await store().write(fence, all, undefined);
        expect(await failure(store().write(fence, drained, undefined))).toMatchObject({
          code: 'BAD_VERSION',
        });
        expect(await store().write(fence, drained, 0)).toMatchObject({ version: 1 });
        expect(await store().readAll()).toEqual([
          { ...drained, version: 1 },
          { ...all, version: 0 },
        ]);
      });

      test('an older controller writes none', async () => {
        const old = await harness.connect();
        const oldFence = await win(1, old);
        await expire(old);
        await win(2);
        expect(await failure(store(old).write(oldFence, drained, undefined))).toMatchObject({
          code: 'STALE_CONTROLLER_EPOCH',
        });
        expect(await store().readAll()).toEqual([]);
      });
    });

    describe('topics', () => {
      const marker: DeletionMarker = { topic: 'orders', topicId: topic().topicId };

      test('a topic is created with its config, read back, listed and watched', async () => {
        const seen: string[][] = [];
        topics().watchNames((names) => seen.push(names));
        await topics().create(topic());
        expect(await topics().get('orders')).toMatchObject({ ...topic(), version: 0 });
        expect(await topics().get('other')).toBeUndefined();
        expect(await topics().names()).toEqual(['orders']);
        await harness.until(() => seen.at(-1)?.[0] === 'orders');
        expect(await failure(topics().create(topic('another-id')))).toMatchObject({
          code: 'TOPIC_EXISTS',
        });
        expect(await failure(topics().create({ ...topic(), topic: 'a/b' }))).toMatchObject({
          code: 'INVALID_TOPIC',
        });
      });

      test('a deletion is asked for by id, and seen by the controller', async () => {
        const seen: DeletionMarker[][] = [];
        topics().watchDeletions((markers) => seen.push(markers));
        expect(await failure(topics().requestDeletion(marker))).toMatchObject({
          code: 'UNKNOWN_TOPIC',
        });
        await topics().create(topic());
        const wrong = { ...marker, topicId: 'another-id' };
        expect(await failure(topics().requestDeletion(wrong))).toMatchObject({
          code: 'TOPIC_ID_MISMATCH',
        });
        await topics().requestDeletion(marker);
        await topics().requestDeletion(marker);
        expect(await topics().deletions()).toEqual([marker]);
        await harness.until(() => seen.at(-1)?.[0]?.topicId === marker.topicId);
        const again = await failure(topics().create(topic('another-id')));
        expect(again).toMatchObject({ code: 'TOPIC_EXISTS' });
        expect(again.message).toContain('still being deleted');
      });

      test('a completed deletion leaves nothing, in many multis, also when it was begun before', async () => {
        const fence = await win(1);
        const many = topic(undefined, 230);
        await topics().create(many);
        const writes = many.assignment.map((_, partition) => ({
          state: state(partition),
          expectedPartitionEpoch: undefined,
        }));
        const results = await states().write(fence, writes);
        expect(results.every(({ ok }) => ok)).toBe(true);
        await topics().requestDeletion(marker);
        // An earlier controller got this far.
        await coordinator.remove('/brokers/topics/orders/partitions/5/state');
        await coordinator.remove('/brokers/topics/orders/partitions/5');
        await coordinator.remove('/config/topics/orders');

        await topics().completeDeletion(fence, marker);
        expect(await coordinator.children('/brokers/topics')).toEqual([]);
        expect(await coordinator.children('/config/topics')).toEqual([]);
        expect(await coordinator.children('/admin/delete_topics')).toEqual([]);
        await topics().completeDeletion(fence, marker);
      });

      test('what brokers that are away still have is noted as the topic goes, until it is settled', async () => {
        const store = createOwedDeletionStore(coordinator, harness.clock);
        expect(await store.readAll()).toEqual([]);
        const fence = await win(1);
        await topics().create(topic());
        await topics().requestDeletion(marker);
        const owed = [3, 4].map((brokerId) => ({ ...marker, brokerId, partitions: [0, 2] }));
        let isGone = false;
        topics().watchDeletion(marker, () => (isGone = true));
        await topics().completeDeletion(fence, marker, owed);
        await harness.until(() => isGone);
        const found = await store.readAll();
        const noted = found.map(({ ageMs: _, ...rest }) => rest);
        expect(noted.sort((a, b) => a.brokerId - b.brokerId)).toEqual(owed);
        expect(found.every(({ ageMs }) => ageMs >= 0)).toBe(true);
        await store.settle(fence, owed[0]!);
        await store.settle(fence, owed[0]!);
        expect((await store.readAll()).map(({ brokerId }) => brokerId)).toEqual([4]);
        const stale = { ...fence, epochVersion: fence.epochVersion - 1 };
        expect(await failure(store.settle(stale, owed[1]!))).toMatchObject({
          code: 'STALE_CONTROLLER_EPOCH',
        });
      });

      test('an update is compared and set: assignment, moves and settings at once', async () => {
        const fence = await win(1);
        await topics().create(topic());
        const before = (await topics().get('orders'))!;
        const after = {
          ...before,
          assignment: [[1, 2, 3, 4], ...before.assignment.slice(1), [2, 3, 1]],
          reassignments: new Map([[0, { adding: [4], removing: [1] }]]),
          owed: new Map([[1, [5]]]),
          configs: { flush: 'sync' },
        };
        const written = await topics().update(fence, before, after);
        expect(written).toEqual({ ...after, version: 1, configVersion: 1 });
        expect(await topics().get('orders')).toEqual(written);
        expect(await failure(topics().update(fence, before, after))).toMatchObject({
          code: 'BAD_VERSION',
          outcome: 'not written',
        });
        const done = { ...written, reassignments: new Map(), owed: new Map() };
        expect(await topics().update(fence, written, done)).toMatchObject({
          version: 2,
          configVersion: 1,
        });
      });

      test('an update of an older controller is refused, as is one of an earlier incarnation', async () => {
        const old = await harness.connect();
        const oldFence = await win(1, old);
        await topics().create(topic());
        const before = (await topics().get('orders'))!;
        await expire(old);
        const fence = await win(2);
        const after = { ...before, configs: {} };
        expect(await failure(topics(old).update(oldFence, before, after))).toMatchObject({
          code: 'STALE_CONTROLLER_EPOCH',
        });
        const marker = { topic: 'orders', topicId: topic().topicId };
        await topics().requestDeletion(marker);
        await topics().completeDeletion(fence, marker);
        expect(await failure(topics().update(fence, before, after))).toMatchObject({
          code: 'BAD_VERSION',
        });
      });

      test('a deletion does not touch the next incarnation of the name', async () => {
        const fence = await win(1);
        await topics().create(topic());
        await topics().requestDeletion(marker);
        await topics().completeDeletion(fence, marker);
        await topics().create(topic('id-of-orders-00000002'));
        await topics().completeDeletion(fence, marker);
        expect(await topics().get('orders')).toMatchObject(topic('id-of-orders-00000002'));
        const next = { topic: 'orders', topicId: 'id-of-orders-00000002' };
        await topics().requestDeletion(next);
        await topics().completeDeletion(fence, marker);
        expect(await topics().deletions()).toEqual([next]);
      });

      test('a state of another incarnation is not created', async () => {
        const fence = await win(1);
        await topics().create(topic('id-of-orders-00000002'));
        const write = { state: state(0), expectedPartitionEpoch: undefined };
        expect(await states().write(fence, [write])).toEqual([{ ok: false, current: undefined }]);
        const unknown = { state: state(0, { topic: 'gone' }), expectedPartitionEpoch: undefined };
        expect(await states().write(fence, [unknown])).toEqual([{ ok: false, current: undefined }]);
      });
    });

    describe('a reply is lost', () => {
      /** The multis of `coordinator` never arrive: `instead` is done, and `error` is all that is heard. */
      const losing = (instead: () => Promise<unknown>, error: TributaryError): Coordinator =>
        new Proxy(coordinator, {
          get(target, property) {
            if (property !== 'multi') return Reflect.get(target, property, target) as unknown;
            return async () => {
              await instead();
              throw error;
            };
          },
        });
      const lost = new TributaryError('COORDINATOR_UNAVAILABLE', 'lost', { outcome: 'maybe written' }); // prettier-ignore
      const prepared = async () => {
        const fence = await win(1);
        await topics().create(topic());
        const create = { state: state(0), expectedPartitionEpoch: undefined };
        await states().write(fence, [create]);
        return fence;
      };

      test('what another one wrote in that version is not taken for the own write', async () => {
        const fence = await prepared();
        const theirs = { state: state(0, { isr: [1, 3] }), expectedPartitionEpoch: 0 };
        const slow = losing(() => states().write(fence, [theirs]), lost);
        const ours = { state: state(0, { isr: [1, 2] }), expectedPartitionEpoch: 0 };
        expect(await harness.settle(states(slow).write(fence, [ours]))).toEqual([
          { ok: false, current: expect.objectContaining({ isr: [1, 3], partitionEpoch: 1 }) },
        ]);
        const before = (await topics().get('orders'))!;
        const other = losing(
          () => topics().update(fence, before, { ...before, configs: { flush: 'sync' } }),
          lost,
        );
        const after = { ...before, assignment: [[3, 2, 1], ...before.assignment.slice(1)] };
        expect(await failure(topics(other).update(fence, before, after))).toMatchObject({
          code: 'BAD_VERSION',
        });
      });

      test('with the session: the outcome is unknown, and nothing is written in the next one', async () => {
        const fence = await prepared();
        let sent = 0;
        const expired = new TributaryError('SESSION_EXPIRED', 'over', { outcome: 'maybe written' });
        const slow = losing(async () => void (sent += 1), expired);
        const write = { state: state(0, { isr: [1, 2] }), expectedPartitionEpoch: 0 };
        expect(await failure(states(slow).write(fence, [write]))).toMatchObject({
          code: 'COORDINATOR_UNAVAILABLE',
          outcome: 'maybe written',
        });
        expect(sent).toBe(1);
      });
    });

    test('partition states: hundreds in one call, losers among them, each with its own answer', async () => {
      const fence = await win(1);
      await topics().create(topic(undefined, 250));
      const all = Array.from({ length: 250 }, (_, partition) => ({
        state: state(partition),
        expectedPartitionEpoch: undefined,
      }));
      await states().write(fence, all);
      const bumped = all.map((write, partition) => ({
        state: { ...write.state, leaderEpoch: 1 },
        expectedPartitionEpoch: partition % 50 === 0 ? 9 : 0,
      }));
      const results = await states().write(fence, bumped);
      expect(results.map(({ ok }, partition) => ok === (partition % 50 !== 0))).toEqual(
        all.map(() => true),
      );
      const read = await states().read('orders');
      expect(read.map(({ partition }) => partition)).toEqual(all.map((_, index) => index));
      expect(read.filter(({ leaderEpoch }) => leaderEpoch === 1)).toHaveLength(245);
    });
  });
}
