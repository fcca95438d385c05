export {
  assignOffsetAndEpoch,
  baseOffsetAt,
  BATCH_HEADER_BYTES,
  batchSizeAt,
  checkCrc,
  CRC_FROM,
  lastOffsetAt,
  readBatchHeader,
  rewriteProducer,
  splitBatches,
  type BatchHeader,
  type ProducerStamp,
  type TimestampType,
} from './batch-header';
export * from './batch-builder';
export {
  decodeBatch,
  MAX_INFLATED_BYTES,
  type DecodeOptions,
  type InflateOptions,
} from './batch-decoder';
export * from './batch-filter';
export * from './batch-validator';
export { CODEC_NAMES, type Codec, type CodecName } from './codec/codec';
export { CodecSet, standardCodecs } from './codec/codec-set';
export { continueCrc32c, crc32c } from './crc32c';
export { MAX_TIMESTAMP, recordSizeBound } from './record';
export type { DecodedRecord, RecordHeader, RecordInput } from './record';
