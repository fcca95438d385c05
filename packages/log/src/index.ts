export * from './disk';
export { NodeDisk } from './disk/node-disk';
export { DurableTextFile, readTextFile, writePrivateFile } from './durable-text-file';
export { Log } from './log';
export { LogDirectory } from './log-directory';
export type { LogDirectoryOptions } from './log-directory-options';
export type { LogOptions } from './log-options';
export * from './log-store';
export * from './partition-log';
export {
  decodeSeal,
  decodeSealHead,
  encodeSeal,
  intervalsOf,
  SEAL_HEAD_BYTES,
} from './segment-seal';
export type { FileSum, SealHead, SealInterval, SegmentSeal } from './segment-seal';
