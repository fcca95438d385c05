/** What a person wants to know once the cluster runs: addresses, and the two next commands to type. Pure. */
import type { DevCluster } from './dev-cluster';

/** Where the data commands look by themselves. */
const DEFAULT_PORTS = [9292, 9293, 9294];

export function describeCluster(
  cluster: Pick<DevCluster, 'addresses' | 'brokers' | 'zookeeper'>,
): string[] {
  const brokers = cluster.brokers.map(
    (broker) =>
      `  broker ${broker.id}   ${broker.host}:${broker.port}   http://${broker.host}:${broker.httpPort}/readyz`,
  );
  const found = cluster.brokers.some((broker) => DEFAULT_PORTS.includes(broker.port));
  const where = found ? '' : ` --brokers ${cluster.addresses.join(',')}`;
  return [
    '',
    'The cluster is healthy:',
    cluster.zookeeper === undefined
      ? '  embedded   no ZooKeeper; one process, data are temporary'
      : `  ZooKeeper  ${cluster.zookeeper}`,
    ...brokers,
    '',
    'Type in a second terminal:',
    `  npx trib topic create hello${where}`,
    `  echo 'hello, world' | npx trib produce hello${where}`,
    '',
  ];
}
