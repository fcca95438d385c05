/** What people do while things break: topics are deleted and created again. Each is a call to the admin that may fail. */
import { CHURN_TOPIC, pick, type SeedPlan } from '../seed-plan';
import type { Timer } from '@tributary/common';
import type { ClusterModel } from '../checker/cluster-model';
import type { TopicModel } from '../checker/topic-model';
import type { FaultInForce, FaultKind } from './fault';
import type { FaultWorld } from './fault-world';

const TIMEOUT_MS = 5_000;
/** Less than the keepalive of the simulated network: no connection breaks. */
const HELD_MS = 4_800;
const DOWN_MS = 8_000;
const POLL_MS = 20;

export const topicFaults: readonly FaultKind[] = [
  {
    name: 'topic-deleted',
    weight: 14,
    start(world) {
      if (!world.parts.plan.churns || !world.parts.model.current(CHURN_TOPIC)) return undefined;
      const admin = world.parts.admin.admin();
      admin.deleteTopic(CHURN_TOPIC, { timeoutMs: TIMEOUT_MS }).catch(() => undefined);
      return { text: `topic ${CHURN_TOPIC} is deleted` };
    },
  },
  {
    name: 'topic-created',
    weight: 14,
    start(world) {
      const { plan, model, admin } = world.parts;
      if (!plan.churns || model.current(CHURN_TOPIC)) return undefined;
      admin
        .admin()
        .createTopic(churnTopic(plan), { timeoutMs: TIMEOUT_MS })
        .catch(() => undefined);
      return { text: `topic ${CHURN_TOPIC} is created` };
    },
  },
  {
    name: 'topic-replaced-unseen',
    weight: 8,
    start(world) {
      const before = world.parts.model.current(CHURN_TOPIC);
      return world.parts.plan.churns && before ? replacedUnseen(world, before) : undefined;
    },
  },
  {
    name: 'topic-replaced-while-down',
    weight: 8,
    start(world) {
      const before = world.parts.model.current(CHURN_TOPIC);
      return world.parts.plan.churns && before ? replacedWhileDown(world, before) : undefined;
    },
  },
];

/** A broker returns with a replica of the old topic, and is to have one of the next topic of that name. */
function replacedWhileDown(world: FaultWorld, before: TopicModel): FaultInForce | undefined {
  const { cluster } = world;
  const { model, supervisor } = world.parts;
  const replicas = before.assignment[0] ?? [];
  const running = world.runningBrokers().filter((id) => replicas.includes(id));
  if (running.length === 0) return undefined;
  const victim = pick(world.random, running);
  supervisor.hold(victim);
  cluster.crash(victim);
  replace(world);
  let timer: Timer | undefined;
  const end = (): void => {
    timer?.cancel();
    supervisor.release(victim);
  };
  const awaitNext = (): void => {
    timer = cluster.clock.setTimer(POLL_MS, () => {
      const next = model.current(CHURN_TOPIC);
      if (next && next !== before) end();
      else awaitNext();
    });
  };
  awaitNext();
  const text = `topic ${CHURN_TOPIC} is replaced while broker ${victim} is down`;
  return { text, lastsMs: DOWN_MS, end };
}

function replace({ parts: { admin, plan } }: FaultWorld): void {
  const call = admin.admin();
  call
    .deleteTopic(CHURN_TOPIC, { timeoutMs: TIMEOUT_MS })
    .then(() => call.createTopic(churnTopic(plan), { timeoutMs: TIMEOUT_MS }))
    .catch(() => undefined);
}

/**
 * What a client sends is held back, as TCP does, while its topic is deleted and another one of that name grows: then requests
 * with the old id, for a position in the old topic, arrive.
 */
function replacedUnseen(world: FaultWorld, before: TopicModel): FaultInForce {
  const { cluster } = world;
  const { model } = world.parts;
  const machine = world.chance(0.8) ? 'churn-reader' : 'churn-writer';
  const brokers = cluster.brokerIds.map((id) => `broker-${id}`);
  for (const broker of brokers) cluster.network.partition(machine, broker, { oneWay: true });
  let timer = cluster.clock.setTimer(world.between(300, 900), () => {
    replace(world);
    awaitNext();
  });
  const end = (): void => {
    timer.cancel();
    for (const broker of brokers) cluster.network.heal(machine, broker);
  };
  const reached = endOf(model, before);
  const awaitNext = (): void => {
    timer = cluster.clock.setTimer(POLL_MS, () => {
      const next = model.current(CHURN_TOPIC);
      if (next && next !== before && endOf(model, next) > reached + 2) end();
      else awaitNext();
    });
  };
  const text = `topic ${CHURN_TOPIC} is replaced, unseen by ${machine}`;
  return { text, lastsMs: HELD_MS, end };
}

function endOf(model: ClusterModel, { topicId }: TopicModel): number {
  return model.find(topicId, 0)?.trueHighWatermark ?? 0;
}

function churnTopic({ allSync }: SeedPlan) {
  const configs = { flush: allSync ? 'sync' : 'os', 'min.insync.replicas': '2' };
  return { topic: CHURN_TOPIC, partitions: 1, replicationFactor: 3, configs };
}
