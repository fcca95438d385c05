/**
 * The fences of each request to a leader, message by message: leader epoch (KIP-320) and topic id, on every stream and
 * unary method; and what a leader does that is shown a higher epoch by anybody.
 */
import type { TributaryError } from '@tributary/common';
import {
  clientHello,
  methods,
  toWireError,
  type FetchDown,
  type FollowDown,
  type ProduceDown,
  type WireError,
} from '@tributary/protocol';
import { batchOf, CLUSTER_ID, TOPIC, TOPIC_ID } from '../replication/data-cluster.fixture';
import { dataWorld, type World } from '../replication/data-world.fixture';

interface Asked {
  readonly leaderEpoch: number;
  readonly topicId?: string;
}

type Ask = (w: World, asked: Asked) => Promise<WireError | null | undefined>;

const named = (asked: Asked): { topic: string; topicId: string; partition: number } & Asked => ({
  topic: TOPIC,
  topicId: TOPIC_ID,
  partition: 0,
  ...asked,
});
const call = { timeoutMs: 10_000 };
const self = clientHello({ clientId: 'test', clusterId: CLUSTER_ID, brokerId: 1 });

/** Every way to ask a leader for something. */
const asks: Record<string, Ask> = {
  'Produce, acks=all': async (w, asked) =>
    (await w.within(w.cluster.produce(1, ['x'], asked))).error,
  'Produce, acks=1': async (w, asked) =>
    (await w.within(w.cluster.produce(1, ['x'], { ...asked, acks: 1 }))).error,
  'Produce on a stream': async (w, asked) => {
    const stream = w.cluster.connection(1).open(methods.broker.produce);
    const received: ProduceDown[] = [];
    stream.handle({ onMessage: (message) => received.push(message), onClose: () => undefined });
    stream.send({ hello: self });
    const entry = { ...named(asked), batch: batchOf(['x']) };
    stream.send({ request: { correlationId: 1, acks: -1, timeoutMs: 5_000, partitions: [entry] } });
    await w.clock.advance(100);
    stream.cut();
    return received.flatMap(({ response }) => response?.results ?? [])[0]?.error;
  },
  FetchOnce: async (w, asked) => {
    const request = { partitions: [{ ...named(asked), offset: 0 }] };
    const asking = w.cluster.connection(1).call(methods.broker.fetchOnce, request, call);
    return (await w.within(asking)).results[0]?.error;
  },
  'Fetch on a stream': async (w, asked) => {
    const stream = w.cluster.connection(1).open(methods.broker.fetch);
    const received: FetchDown[] = [];
    stream.handle({ onMessage: (message) => received.push(message), onClose: () => undefined });
    stream.send({ hello: self });
    const partitions = [{ ...named(asked), offset: 0 }];
    stream.send({ request: { correlationId: 1, partitions } });
    await w.clock.advance(100);
    stream.cut();
    return received.flatMap(({ response }) => response?.results ?? [])[0]?.error;
  },
  ListOffsets: async (w, asked) => {
    const request = { partitions: [{ ...named(asked), spec: 'LATEST' as const }] };
    const asking = w.cluster.connection(1).call(methods.broker.listOffsets, request, call);
    return (await w.within(asking)).results[0]?.error;
  },
  Follow: (w, asked) => attachError(w, asked, 'follow'),
  CatchUp: (w, asked) => attachError(w, asked, 'catchUp'),
};
const clientAsks = Object.keys(asks).filter((name) => name !== 'Follow' && name !== 'CatchUp');

/** An attach as broker 2 would send it. */
async function attachError(
  w: World,
  asked: Asked,
  kind: 'follow' | 'catchUp',
  sender: { readonly id: number; readonly brokerEpoch?: number } = { id: 2 },
): Promise<WireError | null | undefined> {
  const stream = w.cluster.connection(1).open(methods.replication[kind]);
  const received: FollowDown[] = [];
  const closed: TributaryError[] = [];
  stream.handle({
    onMessage: (message) => received.push(message),
    onClose: (error) => closed.push(...(error ? [error] : [])),
  });
  const { id, brokerEpoch = w.cluster.image().broker(id)?.brokerEpoch } = sender;
  stream.send({ hello: { ...self, senderBrokerId: id, brokerEpoch } });
  const end = { logEndOffset: 0, lastEpoch: -1, creditBytes: 1 };
  stream.send({ attach: { ...named(asked), ...end, attachId: 10 ** 6 } });
  await w.clock.advance(100);
  stream.cut();
  if (closed[0] && received.length === 0) return toWireError(closed[0]) as WireError;
  return received.flatMap(({ attached }) => attached ?? [])[0]?.error;
}

/** Broker 1 leads in epoch 2. */
async function world(): Promise<World> {
  const w = await dataWorld([1, 2]);
  await w.cluster.createTopic([[1, 2]]);
  await w.cluster.elect(1);
  await w.cluster.elect(1);
  await w.clock.advance(50);
  return w;
}

describe.each(Object.keys(asks))('%s', (name) => {
  const ask = asks[name]!;

  it('a leader epoch that is over: FENCED_LEADER_EPOCH, with who leads now (KAFKA-7395)', async () => {
    const w = await world();
    expect(await ask(w, { leaderEpoch: 1 })).toMatchObject({
      code: 'FENCED_LEADER_EPOCH',
      leader: { leaderId: 1, leaderEpoch: 2 },
    });
    expect(w.log(1).logEndOffset).toBe(0);
    await w.close();
  });

  it('a topic id of another topic of this name: TOPIC_ID_MISMATCH', async () => {
    const w = await world();
    const earlier = 'AAAAAAAAAAAAAAAAAAAAAg';
    const error = await ask(w, { leaderEpoch: 2, topicId: earlier });
    expect(error?.code).toBe('TOPIC_ID_MISMATCH');
    expect(w.log(1).logEndOffset).toBe(0);
    await w.close();
  });
});

describe.each(clientAsks)('a higher leader epoch, shown by %s', (name) => {
  const ask = asks[name]!;

  it('is refused as unknown, and the controller is asked', async () => {
    const w = await world();
    expect((await ask(w, { leaderEpoch: 3 }))?.code).toBe('UNKNOWN_LEADER_EPOCH');
    await w.clock.advance(100);
    expect(w.cluster.asked).toMatchObject([
      { leaderEpoch: 2, isr: [{ brokerId: 1 }, { brokerId: 2 }] },
    ]);
    // However many claims there are, it asks at most twice a second.
    const before = w.clock.now();
    for (let n = 0; n < 20; n += 1) await ask(w, { leaderEpoch: 3 });
    const halfSeconds = Math.ceil((w.clock.now() - before) / 500);
    expect(halfSeconds).toBeLessThan(10);
    expect(w.cluster.asked.length).toBeLessThanOrEqual(1 + halfSeconds);
    // It is not so: a client that is wrong ends no leadership.
    await w.clock.advance(5_000);
    expect(w.cluster.partition(1).state.role).toBe('leader');
    expect((await w.within(w.cluster.produce(1, ['a']))).error).toBeNull();
    await w.close();
  });

  it('and it is so: the leader resigns, and who waits hears NOT_LEADER, maybe written', async () => {
    const w = await world();
    w.cluster.cutOffFromController(1);
    w.cluster.letAsk(1);
    w.network.partition('b1', 'b2');
    const waiting = w.cluster.produce(1, ['a'], { timeoutMs: 60_000 });
    await w.clock.advance(50);
    await w.cluster.elect(2);
    await ask(w, { leaderEpoch: 3 });
    const { error } = await w.within(waiting, 500);
    expect(error).toMatchObject({ code: 'NOT_LEADER', outcome: 'MAYBE_WRITTEN' });
    expect(w.cluster.partition(1).state.role).toBe('offline');
    await w.close();
  });

  it('and no controller can be asked: it resigns after a second, and leads again when one says so', async () => {
    const w = await world();
    w.cluster.cutOffFromController(1);
    w.network.partition('b1', 'b2');
    const waiting = w.cluster.produce(1, ['a'], { timeoutMs: 60_000 });
    await w.clock.advance(50);
    await ask(w, { leaderEpoch: 3 });
    expect(w.cluster.partition(1).state.role).toBe('leader');
    const { error } = await w.within(waiting, 2_000);
    expect(error).toMatchObject({ code: 'NOT_LEADER', outcome: 'MAYBE_WRITTEN' });
    w.network.heal();
    await w.within(w.cluster.reconnectToController(1));
    expect(w.cluster.partition(1).state).toMatchObject({ role: 'leader', leaderEpoch: 2 });
    await w.close();
  });
});

describe('a higher leader epoch, shown by a follower', () => {
  it.each(['follow', 'catchUp'] as const)('on %s: the leader resigns at once', async (kind) => {
    const w = await world();
    w.cluster.cutOffFromController(1);
    const error = await attachError(w, { leaderEpoch: 3 }, kind);
    expect(error?.code).toBe('NOT_LEADER');
    expect(w.cluster.partition(1).state).toMatchObject({ role: 'offline', leaderEpoch: 3 });
    await w.close();
  });
});

describe('a leadership that the coordinator knows to be over', () => {
  it('ends only for a later epoch of the same topic', async () => {
    const w = await world();
    const manager = w.cluster.manager(1);
    const [led] = manager.leaderships();
    expect(led).toMatchObject({ topicId: TOPIC_ID, partition: 0, leaderEpoch: 2 });
    manager.endLeadership(led!, 'the same epoch');
    manager.endLeadership({ ...led!, leaderEpoch: 1 }, 'an older one');
    manager.endLeadership({ ...led!, topicId: 'another', leaderEpoch: 9 }, 'of another topic');
    expect(w.cluster.partition(1).state.role).toBe('leader');
    manager.endLeadership({ ...led!, leaderEpoch: 3 }, 'leader epoch 3 began');
    expect(w.cluster.partition(1).state.role).not.toBe('leader');
    expect(manager.leaderships()).toEqual([]);
    await w.close();
  });
});

describe('a follower', () => {
  it('that is asked as the leader of an epoch that it does not know says so: it may be about to lead it', async () => {
    const w = await world();
    const code = async (leaderEpoch: number): Promise<string | undefined> => {
      const asking = w.cluster.produce(2, ['a'], { leaderEpoch });
      return (await w.within(asking, 1_000)).error?.code;
    };
    expect(w.cluster.partition(2).state).toMatchObject({ role: 'follower', leaderEpoch: 2 });
    expect(await code(3)).toBe('UNKNOWN_LEADER_EPOCH');
    expect(await code(2)).toBe('NOT_LEADER');
    expect(await code(1)).toBe('NOT_LEADER');
    await w.close();
  });
});

describe.each(['follow', 'catchUp'] as const)('who may %s', (kind) => {
  it('a broker of the assignment, in the life that the image knows or a later one', async () => {
    const w = await dataWorld([1, 2, 3]);
    await w.cluster.createTopic([[1, 2]]);
    const epoch = w.cluster.image().broker(2)!.brokerEpoch;
    const code = async (id: number, brokerEpoch?: number): Promise<string | undefined> => {
      const sender = { id, ...(brokerEpoch === undefined ? {} : { brokerEpoch }) };
      return (await attachError(w, { leaderEpoch: 0 }, kind, sender))?.code;
    };
    expect(await code(3)).toBe('INELIGIBLE_REPLICA');
    expect(await code(9, 5)).toBe('UNKNOWN_BROKER');
    expect(await code(-1, epoch)).toBe('INVALID_ARGUMENT');
    expect(await code(2, epoch - 1)).toBe('FENCED_BROKER_EPOCH');
    expect(await code(2, epoch + 1)).toBeUndefined();
    await w.close();
  });

  it('not without naming a leader epoch', async () => {
    const w = await world();
    expect((await attachError(w, { leaderEpoch: -1 }, kind))?.code).toBe('INVALID_ARGUMENT');
    await w.close();
  });
});

describe.each(['follow', 'catchUp'] as const)('%s: a higher leader epoch', (kind) => {
  const claim = { leaderEpoch: 1_000_000 };

  it('shown by a broker epoch that never registered does not end the leadership', async () => {
    const w = await world();
    const brokerEpoch = w.cluster.image().broker(2)!.brokerEpoch + 1_000;
    const error = await attachError(w, claim, kind, { id: 2, brokerEpoch });
    expect(error?.code).toBe('UNKNOWN_LEADER_EPOCH');
    await w.clock.advance(2_000);
    expect(w.cluster.partition(1).state).toMatchObject({ role: 'leader', leaderEpoch: 2 });
    expect((await w.within(w.cluster.produce(1, ['a']), 1_000)).error).toBeNull();
    await w.close();
  });

  it('shown by a registered follower ends it', async () => {
    const w = await world();
    expect((await attachError(w, claim, kind))?.code).toBe('NOT_LEADER');
    expect(w.cluster.partition(1).state.role).not.toBe('leader');
    await w.close();
  });
});

describe('attach ids', () => {
  it('an attach that was overtaken by a newer one of the same life, on another stream, is refused', async () => {
    const w = await world();
    const [newest] = [...w.cluster.partition(1).attachments.values()];
    const brokerEpoch = w.cluster.image().broker(2)?.brokerEpoch;
    const stream = w.cluster.connection(1).open(methods.replication.follow);
    const received: FollowDown[] = [];
    stream.handle({ onMessage: (message) => received.push(message), onClose: () => undefined });
    stream.send({ hello: { ...self, senderBrokerId: 2, brokerEpoch } });
    const attach = { ...named({ leaderEpoch: 2 }), logEndOffset: 0, lastEpoch: -1, creditBytes: 1 };
    stream.send({ attach: { ...attach, attachId: newest!.attachId - 1 } });
    await w.clock.advance(100);
    const [answer] = received.flatMap(({ attached }) => attached ?? []);
    expect(answer?.error?.code).toBe('STALE_ATTACH');
    expect([...w.cluster.partition(1).attachments.values()]).toEqual([newest]);
    stream.cut();
    await w.close();
  });

  it('an acknowledgement of another attach id, or of another leader epoch, is dropped', async () => {
    const w = await world();
    w.cluster.crash(2);
    const brokerEpoch = w.cluster.image().broker(2)?.brokerEpoch;
    const stream = w.cluster.connection(1).open(methods.replication.follow);
    stream.handle({ onMessage: () => undefined, onClose: () => undefined });
    stream.send({ hello: { ...self, senderBrokerId: 2, brokerEpoch } });
    const attach = { ...named({ leaderEpoch: 2 }), logEndOffset: 0, lastEpoch: -1 };
    stream.send({ attach: { ...attach, attachId: 500, creditBytes: 10_000 } });
    await w.clock.advance(20);
    const waiting = w.cluster.produce(1, ['a'], { timeoutMs: 1_000 });
    await w.clock.advance(20);
    const ack = { topicId: TOPIC_ID, partition: 0, leaderEpoch: 2, attachId: 500, logEndOffset: 1 };
    stream.send({ acknowledge: { ...ack, attachId: 499 } });
    stream.send({ acknowledge: { ...ack, leaderEpoch: 1 } });
    await w.clock.advance(20);
    expect(w.hw(1)).toBe(0);
    stream.send({ acknowledge: ack });
    expect((await w.within(waiting, 100)).error).toBeNull();
    stream.cut();
    await w.close();
  });
});
