/**
 * R10, as brokers tell of their replicas: one that cannot serve does not lead, and when all is healed none is left that is
 * damaged or being refilled, nor what was set aside for that. Called by SeedRun, under load and at the end of each seed.
 */
import type { SimulatedCluster } from '@tributary/testkit';
import type { ClusterModel } from './cluster-model';
import type { Violations } from './violations';

const DATA_DIRECTORY = '/data';

export class DamageChecks {
  constructor(
    private readonly cluster: SimulatedCluster,
    private readonly model: ClusterModel,
    private readonly violations: Violations,
  ) {}

  judgeLeaders(): void {
    for (const { id, name, role, outage } of this.replicas()) {
      if (role !== 'leader' || !outage) continue;
      this.violations.report('R10', `${name}: broker ${id} leads with a replica that is ${outage}`);
    }
  }

  notWhole(): string[] {
    const topicIds = new Set(this.model.living().map(({ topic }) => topic.topicId));
    const offline = this.replicas().filter(
      ({ topicId, outage }) => outage !== undefined && topicIds.has(topicId),
    );
    return [
      ...offline.map(({ id, name, outage }) => `${name} at ${id} is ${outage}`),
      ...this.leftAside(),
    ];
  }

  private leftAside(): string[] {
    return this.cluster.brokerIds.flatMap((id) => {
      const names = this.cluster.broker(id).disk.list(DATA_DIRECTORY);
      const aside = names.filter((name) => name.endsWith('-damaged'));
      return aside.map((name) => `broker ${id} keeps ${name}`);
    });
  }

  private replicas() {
    return this.cluster.brokerIds.flatMap((id) =>
      (this.cluster.broker(id).status?.partitions ?? []).map((one) => {
        const { topic, topicId, partition, role, outage } = one;
        return { id, name: `${topic}-${partition}`, topicId, role, outage };
      }),
    );
  }
}
