import { silentLogger } from '@tributary/common';
import { methods, type MessageStream } from '@tributary/protocol';
import { Broker } from './broker';
import { defaultControlLimits } from './control-limits';
import { RecordedReplicas, sessionTimeoutMs, TestCluster } from './control-cluster.fixture';

describe('three brokers, control plane only', () => {
  it('elect a controller, which images all of them', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    expect(cluster.controllerId).toBe(1);
    const { image } = cluster.node(3).replicas();
    expect(image?.brokers().map(({ brokerId, eligible }) => [brokerId, eligible])).toEqual([
      [1, true],
      [2, true],
      [3, true],
    ]);
  });

  it('a topic created through any broker has leaders when the call returns', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const created = await cluster.createTopic(2, 'orders', 6, 3);
    expect(created).toMatchObject({ topic: 'orders', partitions: 6, replicationFactor: 3 });
    const leaders = Array.from({ length: 6 }, (_, p) => cluster.partition(2, 'orders', p)?.leader);
    expect([...leaders].sort()).toEqual([1, 1, 2, 2, 3, 3]);
    await expect(cluster.createTopic(3, 'orders', 6, 3)).rejects.toMatchObject({
      code: 'TOPIC_EXISTS',
    });
  });

  it('a leader that crashes is replaced long before its session ends', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    await cluster.createTopic(1, 'orders', 3, 3);
    const partition = [0, 1, 2].find((p) => cluster.partition(1, 'orders', p)?.leader === 3)!;
    const before = cluster.clock.now();
    cluster.crash(3);
    await cluster.until(() => cluster.partition(2, 'orders', partition)?.leader !== 3);
    expect(cluster.clock.now() - before).toBeLessThan(500);
    const state = cluster.partition(2, 'orders', partition);
    expect(state?.leaderEpoch).toBe(1);
    expect(state?.isr).not.toContain(3);
  });

  it('a topic deleted and created again is another topic, quickly', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const first = await cluster.createTopic(1, 'orders', 2, 3);
    const before = cluster.clock.now();
    await cluster.deleteTopic(2, 'orders');
    const second = await cluster.createTopic(3, 'orders', 2, 3);
    expect(cluster.clock.now() - before).toBeLessThan(500);
    expect(second.topicId).not.toBe(first.topicId);
    for (const id of [1, 2, 3]) {
      expect(cluster.node(id).replicas().stopped.sort()).toEqual(['orders-0', 'orders-1']);
    }
    await cluster.until(() => cluster.partition(1, 'orders', 0)?.topicId === second.topicId);
  });

  it('a deletion waits for a dead broker until its registration ends; it deletes when it returns, whatever has the name by then', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const first = await cluster.createTopic(1, 'orders', 1, 3);
    cluster.crash(3);
    await cluster.deleteTopic(1, 'orders');
    expect(cluster.clock.now()).toBeGreaterThan(sessionTimeoutMs / 2);
    const second = await cluster.createTopic(1, 'orders', 1, 2);
    await cluster.start(3);
    await cluster.until(() => cluster.node(3).replicas().stopped.length > 0);
    await cluster.clock.advance(5_000);
    expect(cluster.node(3).replicas().stoppedIds).toEqual([first.topicId]);
    expect(cluster.partition(3, 'orders', 0)?.topicId).toBe(second.topicId);
    // Confirmed: the next life is not asked again.
    cluster.crash(3);
    await cluster.start(3);
    await cluster.clock.advance(5_000);
    expect(cluster.node(3).replicas().stoppedIds).toEqual([]);
  });

  it('an expired session ends all leaderships; the broker returns with another epoch', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const { broker, coordinator, replicas } = cluster.node(2);
    const epoch = broker.status().brokerEpoch!;
    cluster.ensemble.expire(coordinator.sessionId!);
    await cluster.until(() => (broker.status().brokerEpoch ?? epoch) > epoch);
    expect(replicas().resigned).toHaveLength(1);
    expect(replicas().epochs).toEqual([epoch, undefined, broker.status().brokerEpoch]);
    const seen = () => cluster.node(1).replicas().image?.broker(2);
    await cluster.until(() => seen()?.brokerEpoch === broker.status().brokerEpoch);
    await cluster.until(() => seen()?.eligible === true && cluster.ready(2));
  });

  it('the session of the controller expires: a new term begins, and all follow it', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const { controllerEpoch } = cluster.node(1).broker.status();
    cluster.ensemble.expire(cluster.node(1).coordinator.sessionId!);
    const followed = (id: number): boolean =>
      (cluster.node(id).broker.status().controllerEpoch ?? 0) > controllerEpoch!;
    await cluster.until(() => [1, 2, 3].every((id) => followed(id) && cluster.ready(id)));
    expect(cluster.node(1).broker.status().controllerId).toBe(cluster.controllerId);
  });

  it('contact with the coordinator lost for everybody and back: nothing moves', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    await cluster.createTopic(1, 'orders', 3, 3);
    const before = [0, 1, 2].map((p) => cluster.partition(1, 'orders', p));
    cluster.ensemble.halt();
    await cluster.clock.advance(3 * sessionTimeoutMs);
    cluster.ensemble.resume();
    await cluster.clock.advance(3 * sessionTimeoutMs);
    expect([0, 1, 2].map((p) => cluster.partition(1, 'orders', p))).toEqual(before);
    expect(cluster.controllerId).toBe(1);
    await cluster.createTopic(2, 'payments', 1, 3);
  });

  it('with the coordinator or the controller alone no broker is isolated, however long the other is silent', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const isolated = (): number[] => [1, 2, 3].filter((id) => cluster.node(id).replicas().isolated);
    cluster.ensemble.halt();
    await cluster.clock.advance(3 * defaultControlLimits.zombieGraceMs);
    expect(isolated()).toEqual([]);
    cluster.ensemble.resume();
    await cluster.clock.advance(1_000);
    for (const other of [1, 2]) cluster.network.partition('host-3', `host-${other}`);
    await cluster.clock.advance(3 * defaultControlLimits.zombieGraceMs);
    expect(isolated()).toEqual([]);
  });

  it('without coordinator and controller a broker is isolated, until it is in contact again', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    cluster.ensemble.disconnect(cluster.node(3).coordinator);
    await cluster.clock.advance(4_000);
    expect(cluster.node(3).replicas().isolated).toBe(false);
    for (const other of [1, 2]) cluster.network.partition('host-3', `host-${other}`);
    await cluster.until(() => cluster.node(3).replicas().isolated, 12_000);
    cluster.network.heal();
    cluster.ensemble.reconnect(cluster.node(3).coordinator);
    await cluster.until(() => !cluster.node(3).replicas().isolated);
  });

  it('a broker that falls silent loses its leaderships though its session lives', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    await cluster.createTopic(1, 'orders', 3, 3);
    const led = [0, 1, 2].filter((p) => cluster.partition(1, 'orders', p)?.leader === 3);
    expect(led.length).toBeGreaterThan(0);
    for (const other of [1, 2]) cluster.network.partition('host-3', `host-${other}`);
    await cluster.until(
      () => led.every((p) => cluster.partition(2, 'orders', p)?.leader !== 3),
      4_500,
    );
    cluster.network.heal();
    await cluster.until(() => cluster.node(1).replicas().image?.broker(3)?.eligible === true);
  });

  it('a controller that hears nobody any more resigns, and another one takes over', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    await cluster.createTopic(1, 'orders', 3, 3);
    for (const other of [2, 3]) cluster.network.partition('host-1', `host-${other}`);
    await cluster.until(() => [2, 3].includes(cluster.controllerId ?? 0), 5_000);
    const partitions = [0, 1, 2];
    await cluster.until(
      () => partitions.every((p) => [2, 3].includes(cluster.partition(2, 'orders', p)!.leader)),
      5_000,
    );
    const why = cluster
      .node(1)
      .broker.decisions()
      .map((entry) => entry.why);
    expect(why).toContain('most brokers are silent');
  });

  it('ISR changes go to the controller and come back as a delta', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    await cluster.createTopic(1, 'orders', 1, 3);
    const state = cluster.partition(1, 'orders', 0)!;
    const { replicas, broker } = cluster.node(state.leader);
    await cluster.until(() => cluster.partition(state.leader, 'orders', 0) !== undefined);
    const other = state.isr.find((id) => id !== state.leader)!;
    const epochs = new Map(
      [...cluster.nodes].map(([id, node]) => [id, node.broker.status().brokerEpoch!]),
    );
    const isr = [state.leader, other].map((id) => ({ brokerId: id, brokerEpoch: epochs.get(id)! }));
    const changed = await cluster.clock.settleWithin(
      replicas().alterer.alterPartition({ ...state, isr }),
      1_000,
    );
    expect(changed.isr).toEqual([state.leader, other]);
    await cluster.until(() => cluster.partition(3, 'orders', 0)?.isr.length === 2);
    const stale = { ...state, isr: isr.slice(0, 1) };
    await expect(
      cluster.clock.settleWithin(replicas().alterer.alterPartition(stale), 1_000),
    ).rejects.toMatchObject({ code: 'INVALID_PARTITION_EPOCH' });
    expect(broker.status().registered).toBe(true);
  });

  it('a graceful stop hands leaderships over, then leaves; the controller resigns last', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    await cluster.createTopic(1, 'orders', 3, 3);
    const { broker } = cluster.node(1);
    const before = cluster.clock.now();
    await cluster.clock.settleWithin(broker.stop({ graceful: true }), 4_000);
    cluster.nodes.delete(1);
    expect(cluster.clock.now() - before).toBeLessThan(2_000);
    for (const p of [0, 1, 2]) expect(cluster.partition(2, 'orders', p)?.leader).not.toBe(1);
    await cluster.until(() => cluster.controllerId !== undefined, 1_000);
  });

  it('a controller of an older epoch, or one that means another life, is refused', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const { brokerEpoch } = cluster.node(2).broker.status();
    const refusal = (controllerEpoch: number, expectedBrokerEpoch: number): Promise<unknown> =>
      cluster.call(2, async (connection) => {
        const hello = { minVersion: 1, maxVersion: 1, brokerId: -1, senderBrokerId: 9 };
        const stream = connection.open(methods.control.session);
        const first = firstMessage(stream);
        stream.send({
          hello: { hello, controllerId: 9, expectedBrokerEpoch },
          body: 'hello',
          controllerEpoch,
        });
        return first;
      });
    expect(await refusal(0, brokerEpoch!)).toMatchObject({
      error: { code: 'STALE_CONTROLLER_EPOCH' },
    });
    expect(await refusal(99, brokerEpoch! - 1)).toMatchObject({
      error: { code: 'FENCED_BROKER_EPOCH' },
    });
  });

  it('a made-up controller epoch on a control stream does not keep the true controller out', async () => {
    const cluster = new TestCluster();
    await cluster.start(1, 2, 3);
    const controllerId = cluster.controllerId!;
    const { controllerEpoch } = cluster.node(controllerId).broker.status();
    const other = [1, 2, 3].find((id) => id !== controllerId)!;
    const { brokerEpoch } = cluster.node(other).broker.status();
    await cluster.call(other, async (connection) => {
      const hello = { minVersion: 1, maxVersion: 1, brokerId: -1, senderBrokerId: 9 };
      const stream = connection.open(methods.control.session);
      const first = firstMessage(stream);
      stream.send({
        hello: { hello, controllerId: 9, expectedBrokerEpoch: brokerEpoch! },
        body: 'hello',
        controllerEpoch: 1_000_000,
      });
      return first;
    });
    await cluster.until(() => cluster.ready(other));
    await cluster.clock.advance(sessionTimeoutMs * 2);
    expect(cluster.node(other).broker.status().notReadyReasons).toEqual([]);
    const now = cluster.node(controllerId).broker.status();
    expect(now).toMatchObject({ isController: true, controllerEpoch });
    await cluster.createTopic(other, 'orders', 3, 3);
  });

  it('who does not name itself as the controller is refused, and its epoch does not count', async () => {
    const cluster = new TestCluster();
    await cluster.start(1);
    const { brokerEpoch } = cluster.node(1).broker.status();
    const answer = await cluster.call(1, async (connection) => {
      const hello = { minVersion: 1, maxVersion: 1, brokerId: -1, senderBrokerId: -1 };
      const stream = connection.open(methods.control.session);
      const first = firstMessage(stream);
      stream.send({
        hello: { hello, controllerId: 1, expectedBrokerEpoch: brokerEpoch! },
        body: 'hello',
        controllerEpoch: 1_000_000,
      });
      return first;
    });
    expect(answer).toMatchObject({ error: { code: 'INVALID_ARGUMENT' } });
    expect(cluster.node(1).broker.status()).toMatchObject({ isController: true });
    expect(cluster.ready(1)).toBe(true);
  });

  it('an id that is in use is refused after one session timeout, naming the host', async () => {
    const cluster = new TestCluster();
    await cluster.start(1);
    const address = { host: 'host-9', port: 9292 };
    const other = new Broker({
      brokerId: 1,
      listeners: [{ name: 'inside', bind: address, advertised: address }],
      interBrokerListener: 'inside',
      hostname: 'host-9',
      clock: cluster.clock,
      random: cluster.random,
      logger: silentLogger,
      transport: cluster.network.transport('host-9'),
      coordinator: cluster.ensemble.connect({ sessionTimeoutMs }),
      dataPlane: (context) => new RecordedReplicas(context.alterer),
    });
    await expect(cluster.clock.settleWithin(other.start(), 20_000)).rejects.toMatchObject({
      code: 'BROKER_ID_IN_USE',
      message: expect.stringContaining('host-1'),
    });
  });
});

function firstMessage(stream: MessageStream<never, unknown> | MessageStream<object, unknown>) {
  return new Promise<unknown>((resolve, reject) => {
    stream.handle({ onMessage: resolve, onClose: reject });
  });
}
