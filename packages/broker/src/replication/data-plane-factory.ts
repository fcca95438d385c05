/** The real data plane of a broker. Called by `Broker`, which makes it once its cluster id is known. */
import { assert } from '@tributary/common';
import type { DataPlane, DataPlaneContext } from '../data-plane';
import { dataHandlers } from '../rpc/data-handlers';
import type { DataLimits } from './data-limits';
import { ReplicaManager } from './replica-manager';

export function createDataPlane(
  context: DataPlaneContext,
  limits?: Partial<DataLimits>,
): DataPlane {
  const { logStore, clusterId } = context;
  assert(logStore, 'a broker with replicas has a log store');
  const manager = new ReplicaManager({
    ...context,
    logStore,
    limits,
    clusterId: () => clusterId,
  });
  manager.start();
  return {
    host: manager,
    handlers: dataHandlers(manager),
    status: () => manager.status(),
    async close(options) {
      await manager.close();
      // How the process before ended is told again where no controller has taken it up.
      await logStore.close({ ...options, brokerEpoch: manager.previousLife.notedBrokerEpoch });
    },
    kill: () => manager.kill(),
  };
}
