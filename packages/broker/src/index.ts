export * from './seams';
export type { MetadataImage } from './metadata/metadata-image';
export { Broker } from './broker';
export type { BrokerListener, BrokerOptions, BrokerStatus } from './broker-options';
export { defaultControlLimits, type ControlLimits } from './control-limits';
export type { DataPlane, DataPlaneContext, DataPlaneFactory, PartitionStatus } from './data-plane';
