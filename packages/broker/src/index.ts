export * from './seams';
export type { MetadataImage } from './metadata/metadata-image';
