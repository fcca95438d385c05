/**
 * `/cluster/id`: the first broker of a cluster makes it, all others read it. A data directory belongs to one cluster
 * id. Called at the start of each broker.
 */
import { hasCode, randomUuid, type Random } from '@tributary/common';
import type { Coordinator } from './coordinator';
import { decodeClusterId, encodeClusterId, paths } from './layout';
import type { ClusterIdentity } from './nouns';

export function createClusterIdentity(coordinator: Coordinator, random: Random): ClusterIdentity {
  return {
    async getOrCreate() {
      for (;;) {
        const node = await coordinator.get(paths.clusterId);
        if (node) return decodeClusterId(node.data);
        await coordinator.ensurePath(paths.cluster);
        try {
          await coordinator.create(paths.clusterId, encodeClusterId(randomUuid(random)));
        } catch (error) {
          if (!hasCode(error, 'NODE_EXISTS')) throw error; // another broker was faster
        }
      }
    },
  };
}
