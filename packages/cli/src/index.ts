/** For tests and the chaos runner; people use `trib`. */
export * from './dev/dev-cluster';
export type { BrokerPlace } from './dev/cluster-options';
export { PortReservation } from './dev/port-reservation';
export { locateZooKeeper, ZooKeeperEnsemble } from './dev/zookeeper';
export type { ZooKeeperInstallation, ZooKeeperNode } from './dev/zookeeper';
