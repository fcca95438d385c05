/** Mistakes that others made in replication and fetching, by id, where no other file is about the same. See docs/known-bugs.md. */
import { clientHello, methods, type FetchDown, type FollowDown } from '@tributary/protocol';
import { TOPIC, TOPIC_ID } from './data-cluster.fixture';
import { dataWorld } from './data-world.fixture';

it('KAFKA-1211: a follower that comes back with a HW below its end cuts nothing, and leads with what was committed', async () => {
  const w = await dataWorld([1, 2]);
  await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
  for (const value of ['a', 'b']) await w.within(w.cluster.produce(1, [value]));
  w.cluster.crash(2);
  w.network.partition('b1', 'b2');
  await w.cluster.startBroker(2);
  await w.clock.advance(200);
  expect(w.hw(2)).toBe(0);
  w.cluster.crash(1);
  await w.cluster.elect(2, { isr: [2] });
  expect(w.values(2)).toEqual(['a', 'b']);
  expect(w.hw(2)).toBe(2);
  await w.close();
});

it('KAFKA-7164: a follower that missed an epoch cuts its log, though it hears of the same leader again', async () => {
  const w = await dataWorld([1, 2, 3]);
  await w.cluster.createTopic([[1, 2, 3]], { 'min.insync.replicas': '1' });
  await w.within(w.cluster.produce(1, ['a']));
  w.network.partition('b1', 'b2');
  await w.within(w.cluster.produce(1, ['tail'], { acks: 1 }));
  await w.clock.advance(100);
  expect(w.values(3)).toEqual(['a', 'tail']);
  // Broker 2 leads and makes broker 1 drop the tail, then broker 1 leads again; broker 3 hears nothing of it.
  w.cluster.cutOffFromController(3);
  w.network.heal();
  w.network.partition('b3', 'b1');
  w.network.partition('b3', 'b2');
  await w.cluster.elect(2, { isr: [1, 2] });
  await w.until(() => w.values(1).join() === 'a', 5_000);
  await w.cluster.elect(1, { isr: [1, 2] });
  expect((await w.within(w.cluster.produce(1, ['b']))).error).toBeNull();
  expect(w.values(3)).toEqual(['a', 'tail']);
  w.network.heal();
  await w.within(w.cluster.reconnectToController(3));
  await w.until(() => w.values(3).join() === 'a,b', 20_000);
  expect(w.log(3).content.equals(w.log(1).content)).toBe(true);
  await w.close();
});

it('KAFKA-13141: an attach of a log that parts from the leader’s says nothing of what the follower has', async () => {
  const w = await dataWorld([1, 2]);
  await w.cluster.createTopic([[1, 2]], { 'min.insync.replicas': '1' });
  await w.within(w.cluster.produce(1, ['a', 'b']));
  const { brokerEpoch } = w.cluster.manager(2).acceptor();
  w.cluster.crash(2);
  await w.cluster.elect(1);
  await w.within(w.cluster.produce(1, ['c'], { acks: 1 }));
  const before = w.cluster.partition(1).state;
  const stream = w.cluster.connection(1).open(methods.replication.follow);
  const received: FollowDown[] = [];
  stream.handle({ onMessage: (message) => received.push(message), onClose: () => undefined });
  const self = { clientId: 'b2', clusterId: '', senderBrokerId: 2, brokerEpoch, brokerId: 1 };
  stream.send({ hello: clientHello(self) });
  const attach = { topic: TOPIC, topicId: TOPIC_ID, partition: 0, attachId: 1, creditBytes: 1_000 };
  stream.send({ attach: { ...attach, leaderEpoch: 1, logEndOffset: 50, lastEpoch: 0 } });
  await w.clock.advance(100);
  const [answer] = received.flatMap(({ attached }) => attached ?? []);
  expect(answer?.truncate).toMatchObject({ epoch: 0, endOffset: 2 });
  const { state } = w.cluster.partition(1);
  expect(state).toEqual(before);
  expect(w.hw(1)).toBe(2);
  stream.cut();
  await w.close();
});

it('KAFKA-9338: a stream that was good in one leader epoch is fenced in the next, request by request', async () => {
  const w = await dataWorld([1]);
  await w.cluster.createTopic([[1]]);
  await w.within(w.cluster.produce(1, ['a']));
  const stream = w.cluster.connection(1).open(methods.broker.fetch);
  const received: FetchDown[] = [];
  stream.handle({ onMessage: (message) => received.push(message), onClose: () => undefined });
  stream.send({ hello: { minVersion: 1, maxVersion: 1, brokerId: 1, senderBrokerId: -1 } });
  const ask = async (correlationId: number): Promise<string | undefined> => {
    const partitions = [
      { topic: TOPIC, topicId: TOPIC_ID, partition: 0, leaderEpoch: 0, offset: 0 },
    ];
    stream.send({ request: { correlationId, partitions } });
    await w.clock.advance(100);
    const answers = received.flatMap(({ response }) => response ?? []);
    const answer = answers.find((one) => one.correlationId === correlationId);
    return answer?.results[0]?.error?.code ?? `${answer?.results[0]?.batches?.length ?? 0} bytes`;
  };
  expect(await ask(1)).toMatch(/^[1-9][0-9]* bytes$/);
  await w.cluster.elect(1);
  expect(await ask(2)).toBe('FENCED_LEADER_EPOCH');
  stream.cut();
  await w.close();
});
