export { createBrokerRegistry, type BrokerRegistryOptions } from './broker-registry';
export { createBrokerSettingsStore } from './broker-settings-store';
export { createClusterIdentity } from './cluster-identity';
export { createControllerElection } from './controller-election';
export * from './coordinator';
export * from './embedded/embedded-coordinator';
export * from './embedded/embedded-ensemble';
export type { EmbeddedFaults } from './embedded/embedded-faults';
export type { EmbeddedTransaction } from './embedded/embedded-transaction';
export { createGroupStore } from './group/coordinated-group-store';
export * from './group-store';
export { paths } from './layout';
export * from './nouns';
export { createOwedDeletionStore } from './owed-deletion-store';
export { createPartitionStateStore } from './partition-state-store';
export { createProducerIdBlocks, producerIdBlockSize } from './producer-id-blocks';
export { CoordinatorClient } from './session/coordinator-client';
export { createTopicStore } from './topic-store';
export {
  defaultSessionTimeoutMs,
  ZooKeeperCoordinator,
  type ZooKeeperOptions,
} from './zookeeper/zookeeper-coordinator';
