import { seededRandom, silentLogger, type TributaryError } from '@tributary/common';
import { SimulatedClock } from '@tributary/testkit';
import { createBrokerRegistry } from '../broker-registry';
import { createControllerElection } from '../controller-election';
import type { SessionEvent } from '../coordinator';
import { createGroupStore } from '../group/coordinated-group-store';
import { createPartitionStateStore } from '../partition-state-store';
import { createProducerIdBlocks } from '../producer-id-blocks';
import { maxWatchedPaths } from '../session/watch-registry';
import { createTopicStore } from '../topic-store';
import { EmbeddedEnsemble } from './embedded-ensemble';
import type { EmbeddedFaults } from './embedded-faults';

const bytes = (text: string): Buffer => Buffer.from(text);

function world(seed: number, faults?: Omit<EmbeddedFaults, 'random'>) {
  const clock = new SimulatedClock();
  const random = seededRandom(seed);
  const ensemble = new EmbeddedEnsemble({
    clock,
    random,
    ...(faults ? { faults: { random, ...faults } } : {}),
  });
  const run = <T>(work: Promise<T>): Promise<T> => clock.settleWithin(work, 600_000);
  return { clock, random, ensemble, run };
}

describe('sessions of the embedded ensemble', () => {
  const connect = async () => {
    const { clock, ensemble } = world(1);
    const client = ensemble.connect({ sessionTimeoutMs: 1_000 });
    const observer = ensemble.connect();
    await client.ready(1);
    await observer.ready(1);
    const events: SessionEvent['type'][] = [];
    client.onSession((event) => events.push(event.type));
    await client.create('/e', bytes(''), { ephemeral: true });
    return { clock, ensemble, client, observer, events };
  };

  test('a client that is back within its timeout keeps its session and ephemerals', async () => {
    const { clock, ensemble, client, observer, events } = await connect();
    const { sessionId } = client;
    ensemble.disconnect(client);
    expect(client.status).toBe('suspended');
    await clock.advance(900);
    expect(client.silentForMs).toBe(900);
    ensemble.reconnect(client);
    await clock.advance(5_000);
    expect(client.silentForMs).toBe(0);
    expect(client.sessionId).toBe(sessionId);
    expect(events).toEqual(['suspended', 'resumed']);
    expect(await observer.get('/e')).toBeDefined();
  });

  test('one that is away for longer learns of its expiry when it comes back, not before', async () => {
    const { clock, ensemble, client, observer, events } = await connect();
    ensemble.disconnect(client);
    await clock.advance(1_001);
    expect(await observer.get('/e')).toBeUndefined();
    expect(events).toEqual(['suspended']);
    ensemble.reconnect(client);
    await clock.advance(100);
    expect(events).toEqual(['suspended', 'expired', 'opened']);
  });

  test('while the whole ensemble is away no session expires', async () => {
    const { clock, ensemble, observer, events } = await connect();
    ensemble.halt();
    await clock.advance(60_000);
    ensemble.resume();
    await clock.advance(100);
    expect(events).toEqual(['suspended', 'resumed']);
    expect(await observer.get('/e')).toBeDefined();
  });

  test('a client that is made while the ensemble is away is connected when it is back', async () => {
    const { clock, ensemble } = await connect();
    ensemble.halt();
    const late = ensemble.connect({ sessionTimeoutMs: 1_000 });
    const ready = late.ready(5_000);
    await clock.advance(2_000);
    ensemble.resume();
    await clock.settleWithin(ready, 100);
    expect(late.status).toBe('connected');
  });

  test('a frozen client notices nothing; thawed within its timeout it goes on, and hears what it missed', async () => {
    const { clock, ensemble, client, observer, events } = await connect();
    const seen: (string | undefined)[] = [];
    client.watchData('/w', (node) => seen.push(node?.data.toString()));
    await clock.advance(1);
    ensemble.freeze(client);
    await observer.create('/w', bytes('news'));
    await clock.advance(900);
    expect(seen).toEqual([undefined]);
    ensemble.thaw(client);
    await clock.advance(1);
    expect(seen).toEqual([undefined, 'news']);
    expect(events).toEqual([]);
    expect(await observer.get('/e')).toBeDefined();
  });

  test('a client that was frozen for longer learns of its expiry when it is thawed', async () => {
    const { clock, ensemble, client, observer, events } = await connect();
    ensemble.freeze(client);
    await clock.advance(1_001);
    expect(await observer.get('/e')).toBeUndefined();
    expect(events).toEqual([]);
    ensemble.thaw(client);
    await clock.advance(100);
    expect(events).toEqual(['suspended', 'expired', 'opened']);
  });

  test('an abandoned client says and hears nothing more, and its session runs out', async () => {
    const { clock, ensemble, client, observer, events } = await connect();
    let settled = false;
    const seen: unknown[] = [];
    client.watchData('/w', (node) => seen.push(node));
    await clock.advance(1);
    ensemble.abandon(client);
    void client.get('/').finally(() => (settled = true));
    await observer.create('/w', bytes(''));
    await clock.advance(60_000);
    expect(settled).toBe(false);
    expect(events).toEqual([]);
    expect(seen).toEqual([undefined]);
    expect(await observer.get('/e')).toBeUndefined();
  });

  test('calls wait for the connection until their deadline', async () => {
    const { clock, ensemble, client } = await connect();
    ensemble.disconnect(client);
    const call = client.set('/e', bytes('x'), 0).catch((error: unknown) => error);
    expect(await clock.settleWithin(call, 5_001)).toMatchObject({
      code: 'COORDINATOR_UNAVAILABLE',
      outcome: 'not written',
    });
  });

  test('the number of watched paths is bounded', async () => {
    const { client } = await connect();
    for (let i = 0; i < maxWatchedPaths; i += 1) client.watchData(`/p-${i}`, () => undefined);
    expect(() => client.watchData('/one-more', () => undefined)).toThrow(
      `more than ${maxWatchedPaths} watched paths`,
    );
    await client.close();
  });
});

describe('with faults', () => {
  const seeds = Array.from({ length: 15 }, (_, index) => index + 1);

  test('stale reads: never behind what the session saw, and a barrier ends them', async () => {
    const { ensemble, run } = world(5, { staleReads: 0.7 });
    const writer = ensemble.connect();
    const reader = ensemble.connect();
    await run(writer.create('/n', bytes('0')));
    let stale = 0;
    let last = -1;
    for (let i = 1; i <= 100; i += 1) {
      await run(writer.set('/n', bytes(String(i)), undefined));
      expect((await run(writer.get('/n')))?.data.toString()).toBe(String(i));
      const seen = Number((await run(reader.get('/n')))?.data.toString() ?? -1);
      if (seen < i) stale += 1;
      expect(seen).toBeGreaterThanOrEqual(last);
      last = seen;
      if (i % 10 === 0) {
        await run(reader.barrier());
        expect((await run(reader.get('/n')))?.data.toString()).toBe(String(i));
      }
    }
    expect(stale).toBeGreaterThan(10);
  });

  test.each(seeds)('seed %i: watches end with the last value', async (seed) => {
    const faults = { staleReads: 0.5, lateWatchMs: 100, lostReplies: 0.2 };
    const { clock, ensemble, run } = world(seed, faults);
    const writer = ensemble.connect();
    const reader = ensemble.connect();
    await run(Promise.all([writer.ready(1_000), reader.ready(1_000)]));
    const seen: string[] = [];
    const names: string[][] = [];
    await run(writer.ensurePath('/d'));
    reader.watchData('/d', (node) => seen.push(node?.data.toString() ?? 'none'));
    reader.watchChildren('/d', (children) => names.push(children ?? []));
    for (let i = 0; i < 15; i += 1) {
      await run(writer.set('/d', bytes(String(i)), undefined));
      await run(writer.ensurePath(`/d/${i}`));
      await clock.advance(seed);
    }
    expect(await clock.runUntil(() => seen.at(-1) === '14', 10_000)).toBe(true);
    expect(await clock.runUntil(() => names.at(-1)?.length === 15, 10_000)).toBe(true);
  });

  test.each(seeds)('seed %i: lost replies double nothing', async (seed) => {
    const { ensemble, random, run } = world(seed, { lostReplies: 0.3, staleReads: 0.3 });
    const clients = [1, 2, 3].map(() => ensemble.connect());
    await run(Promise.all(clients.map((client) => client.ready(1_000))));
    const observer = clients[0]!;

    await run(observer.ensurePath('/s'));
    const creations = clients.flatMap((client) =>
      Array.from({ length: 5 }, () => client.create('/s/n-', bytes(''), { sequential: true })),
    );
    await run(Promise.all(creations));
    await run(observer.barrier());
    expect(await run(observer.children('/s'))).toHaveLength(15);

    const blocks = clients.flatMap((client, index) => {
      const ids = createProducerIdBlocks(client, random);
      return Array.from({ length: 5 }, () => ids.next(index));
    });
    const firsts = (await run(Promise.all(blocks))).map(({ first }) => first);
    expect(new Set(firsts).size).toBe(15);

    await run(observer.ensurePath('/counter'));
    let unknown = 0;
    const increment = async (client: typeof observer, who: string): Promise<void> => {
      for (let round = 0; ; round += 1) {
        const node = await client.get('/counter');
        if (!node) continue;
        const value = Number(node.data.toString().split(' ')[0]) + 1;
        try {
          await client.set('/counter', bytes(`${value} ${who} ${round}`), node.stat.version);
          return;
        } catch (error) {
          // Somebody else's turn; perhaps after one of ours that was overwritten.
          if ((error as TributaryError).outcome === 'maybe written') unknown += 1;
        }
      }
    };
    await run(Promise.all(clients.map((client, index) => increment(client, String(index)))));
    await run(observer.barrier());
    const count = Number((await run(observer.get('/counter')))?.data.toString().split(' ')[0]);
    expect(count).toBeGreaterThanOrEqual(3);
    expect(count).toBeLessThanOrEqual(3 + unknown);
  });

  test.each(seeds)(
    'seed %i: one controller per epoch, and every topic and state as reported',
    async (seed) => {
      const { ensemble, random, clock, run } = world(seed, { lostReplies: 0.25, staleReads: 0.3 });
      const clients = [1, 2, 3].map(() => ensemble.connect());
      await run(Promise.all(clients.map((client) => client.ready(1_000))));
      const elections = clients.map((client) => createControllerElection(client, clock, random));
      const results = await run(
        Promise.all(elections.map((election, index) => election.elect(index + 1))),
      );
      const winners = results.flatMap((result, index) => (result.won ? [{ result, index }] : []));
      expect(winners).toHaveLength(1);
      const { result, index } = winners[0]!;
      const controller = clients[index]!;

      const topics = createTopicStore(controller, clock, silentLogger);
      const topic = { topic: 't', topicId: `id-${seed}`, assignment: [[1], [2], [3]], configs: {} };
      await run(topics.create(topic));
      await run(controller.barrier());
      expect(await run(topics.get('t'))).toMatchObject(topic);

      const states = createPartitionStateStore(controller);
      const state = (partition: number, leaderEpoch: number) => ({
        ...{ topic: 't', topicId: topic.topicId, partition, leader: 1, leaderEpoch },
        ...{ controllerEpoch: 1, isr: [1], eligibleLeaders: [] },
      });
      const expected = new Map<number, number | undefined>();
      for (let round = 0; round < 5; round += 1) {
        const writes = [0, 1, 2].map((partition) => ({
          state: state(partition, round),
          expectedPartitionEpoch: expected.get(partition),
        }));
        for (const answer of await run(states.write(result.fence, writes))) {
          if (!answer.ok) throw new Error('nobody else writes');
          expected.set(answer.state.partition, answer.state.partitionEpoch);
        }
      }
      expect([...expected.values()]).toEqual([4, 4, 4]);
      const marker = { topic: 't', topicId: topic.topicId };
      await run(topics.requestDeletion(marker));
      await run(topics.completeDeletion(result.fence, marker));
      await run(controller.barrier());
      expect(await run(topics.names())).toEqual([]);
      expect(await run(topics.deletions())).toEqual([]);
    },
  );

  test.each(seeds)(
    'seed %i: a partition has one owner at a time, offsets never go back',
    async (seed) => {
      const { ensemble, random, clock, run } = world(seed, { lostReplies: 0.2, staleReads: 0.3 });
      const clients = [1, 2].map(() => ensemble.connect());
      await run(Promise.all(clients.map((client) => client.ready(1_000))));
      const stores = clients.map((client) => createGroupStore(client, clock, random));
      const description = { clientId: 'c', host: 'h', topics: ['t'], assignors: ['range'] };
      const members = await run(
        Promise.all(stores.map((store) => store.join('g', description, { leaseMs: 1_000 }))),
      );
      const partition = { topic: 't', topicId: 'id', partition: 0 };
      const generation = await run(members[0]!.assign(-1, []));
      let offset = 0;
      let lastEpoch = -1;
      for (let turn = 0; turn < 10; turn += 1) {
        const member = members[turn % 2]!;
        await run(clients[turn % 2]!.barrier());
        const { ownerEpoch, committed } = await run(member.claim(partition, generation));
        expect(ownerEpoch).toBeGreaterThan(lastEpoch);
        expect(committed?.offset ?? 0).toBe(offset);
        lastEpoch = ownerEpoch;
        offset += 1;
        const commit = { partition, offset, leaderEpoch: 0, metadata: '', ownerEpoch };
        expect(await run(member.commit([commit]))).toEqual([undefined]);
        await run(member.release(partition, ownerEpoch));
        const [refusal] = await run(member.commit([{ ...commit, offset: 999 }]));
        expect(refusal).toMatchObject({ code: 'FENCED_OWNER' });
      }
    },
  );

  test.each(seeds)('seed %i: a broker registers once, whatever is lost', async (seed) => {
    const { ensemble, clock, run } = world(seed, { lostReplies: 0.4 });
    const client = ensemble.connect();
    await run(client.ready(1_000));
    const registry = createBrokerRegistry(client, clock, silentLogger);
    const endpoints = [{ listener: 'L', host: 'h', port: 1 }];
    const broker = { brokerId: 1, endpoints, rack: undefined, hostname: 'h' };
    const brokerEpoch = await run(registry.register(broker));
    expect(await run(registry.list())).toEqual([{ ...broker, brokerEpoch }]);
  });

  test('late requests arrive in order; one whose connection breaks on the way does not', async () => {
    const lateRequests = new Map<string, number>();
    const { clock, ensemble } = world(3, { lateRequests });
    const client = ensemble.connect();
    const observer = ensemble.connect();
    await client.ready(1);
    await observer.ready(1);
    await client.create('/a', bytes('0'));
    lateRequests.set(client.sessionId!, 500);
    const first = client.set('/a', bytes('1'), 0);
    await clock.advance(100);
    lateRequests.clear();
    const second = client.set('/a', bytes('2'), 1);
    await clock.advance(399);
    expect((await observer.get('/a'))?.data.toString()).toBe('0');
    await clock.advance(1);
    expect((await first).version).toBe(1);
    expect((await second).version).toBe(2);

    lateRequests.set(client.sessionId!, 500);
    const third = client.set('/a', bytes('3'), 2);
    await clock.advance(100);
    ensemble.disconnect(client);
    ensemble.reconnect(client);
    await clock.advance(450);
    // What was on its way when the connection broke has not arrived; it was sent again.
    expect((await observer.get('/a'))?.data.toString()).toBe('2');
    await clock.advance(1_000);
    expect((await third).version).toBe(3);
  });
});
