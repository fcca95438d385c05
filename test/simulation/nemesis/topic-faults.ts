/** What people do while things break: topics are deleted and created again. Each is a call to the admin that may fail. */
import { CHURN_TOPIC, type SeedPlan } from '../seed-plan';
import type { FaultKind } from './fault';

const TIMEOUT_MS = 5_000;

export const topicFaults: readonly FaultKind[] = [
  {
    name: 'topic-deleted',
    weight: 9,
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
    // Clients that hold the old id, and a position in the old topic, find another one of its name.
    name: 'topic-replaced-unseen',
    weight: 6,
    start(world) {
      const { cluster } = world;
      const { plan, model, admin } = world.parts;
      if (!plan.churns || !model.current(CHURN_TOPIC)) return undefined;
      const machine = world.chance(0.7) ? 'churn-reader' : 'churn-writer';
      const brokers = cluster.brokerIds.map((id) => `broker-${id}`);
      for (const broker of brokers) cluster.network.partition(machine, broker);
      const call = admin.admin();
      const replaced = call
        .deleteTopic(CHURN_TOPIC, { timeoutMs: TIMEOUT_MS })
        .then(() => call.createTopic(churnTopic(plan), { timeoutMs: TIMEOUT_MS }));
      replaced.catch(() => undefined);
      return {
        text: `topic ${CHURN_TOPIC} is replaced, unseen by ${machine}`,
        lastsMs: world.between(1_000, 6_000),
        end: () => {
          for (const broker of brokers) cluster.network.heal(machine, broker);
        },
      };
    },
  },
];

function churnTopic({ allSync }: SeedPlan) {
  const configs = { flush: allSync ? 'sync' : 'os', 'min.insync.replicas': '2' };
  return { topic: CHURN_TOPIC, partitions: 1, replicationFactor: 3, configs };
}
