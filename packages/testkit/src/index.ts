export * from './batches';
export * from './log-fixture';
export * from './simulation/simulated-clock';
export * from './history/check-history';
export * from './history/history';
export * from './history/compacted-keys';
export * from './history/time-lookups';
export * from './history/unavailability';
export * from './history/weak-writes';
export * from './contracts/coordinator-contract';
export * from './contracts/embedded-harness';
export * from './simulation/simulated-disk';
export type { DiskOperation, InjectedFailure } from './simulation/simulated-disk-failures';
export * from './simulation/simulated-network';
export * from './contracts/transport-contract';
export * from './contracts/recorded-stream';
export * from './fakes/memory-log';
export * from './fakes/memory-log-store';
export * from './contracts/coordinated-groups-harness';
export * from './contracts/group-store-contract';
export * from './simulation/running-clock';
export * from './fakes/produce-script';
export * from './fakes/scripted-cluster';
export type { ScriptedPartition } from './fakes/scripted-partition';
export type { AdminCall } from './fakes/scripted-broker';
export * from './zookeeper/fault-proxy';
export * from './zookeeper/zookeeper-harness';
export * from './fakes/fetch-cluster';
export type { FetchedLog } from './fakes/fetched-log';
export {
  DevCluster,
  PortReservation,
  type BrokerPlace,
  type DevClusterOptions,
} from '@tributary/cli';
export * from './contracts/cluster-nouns-contract';
export * from './contracts/preemption-contract';
export * from './simulation/process-clock';
export * from './simulation/event-trace';
export * from './simulation/simulated-broker';
export * from './simulation/simulated-cluster';
export * from './simulation/stored-codecs';
export * from './simulation/numbered-writer';
export * from './simulation/group-reader';
export * from './simulation/replica-comparison';
