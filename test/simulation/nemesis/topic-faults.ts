/** What people do while things break: topics are deleted and created again. Each is a call to the admin that may fail. */
import { CHURN_TOPIC } from '../seed-plan';
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
      const configs = { flush: plan.allSync ? 'sync' : 'os', 'min.insync.replicas': '2' };
      const topic = { topic: CHURN_TOPIC, partitions: 1, replicationFactor: 3, configs };
      admin
        .admin()
        .createTopic(topic, { timeoutMs: TIMEOUT_MS })
        .catch(() => undefined);
      return { text: `topic ${CHURN_TOPIC} is created` };
    },
  },
];
