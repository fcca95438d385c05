/** What `trib dev status` tells; the JSON form is an interface for scripts. */
import type { BrokerState } from './broker-process';
import type { DevCluster } from './dev-cluster';

export interface ClusterStatus {
  readonly mode: 'processes' | 'embedded';
  readonly directory: string;
  readonly supervisor: { readonly pid: number };
  readonly zookeeper: {
    /** null: an embedded cluster has none. */
    readonly connect: string | null;
    readonly nodes: readonly {
      readonly id: number;
      readonly pid: number | null;
      readonly port: number;
      /** standalone, leader, follower; null: does not serve. */
      readonly mode: string | null;
    }[];
  };
  readonly brokers: readonly {
    readonly id: number;
    readonly pid: number | null;
    readonly host: string;
    readonly port: number;
    readonly httpPort: number;
    readonly state: BrokerState;
    readonly log: string;
  }[];
}

export async function clusterStatus(cluster: DevCluster): Promise<ClusterStatus> {
  const nodes = cluster.zookeeperNodes.map(async (node) => ({
    id: node.id,
    pid: node.pid ?? null,
    port: node.port,
    mode: (await node.mode()) ?? null,
  }));
  const brokers = cluster.brokers.map(async (broker) => ({
    id: broker.id,
    pid: broker.pid ?? null,
    host: broker.host,
    port: broker.port,
    httpPort: broker.httpPort,
    state: await broker.state(),
    log: broker.logFile,
  }));
  return {
    mode: cluster.zookeeper === undefined ? 'embedded' : 'processes',
    directory: cluster.directory,
    supervisor: { pid: process.pid },
    zookeeper: { connect: cluster.zookeeper ?? null, nodes: await Promise.all(nodes) },
    brokers: await Promise.all(brokers),
  };
}
