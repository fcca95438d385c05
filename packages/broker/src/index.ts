export * from './seams';
export type { MetadataImage } from './metadata/metadata-image';
export { Broker } from './broker';
export type { BrokerListener, BrokerOptions, BrokerStatus } from './broker-options';
export { defaultControlLimits, type ControlLimits } from './control-limits';
export type { DataPlane, DataPlaneContext, DataPlaneFactory, PartitionStatus } from './data-plane';
export * from './group';
export { defaultDataLimits, type DataLimits } from './replication/data-limits';
export type { DatedEntry } from './controller/decision-journal';
