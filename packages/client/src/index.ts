/** The public SDK. */
export { TributaryError, type ErrorCode, type Logger, type Outcome } from '@tributary/common';
export type { CallOptions, CloseOptions } from './call-options';
export { createClient, type Client } from './client';
export type { ClientOptions } from './client-config';
export type { Admin } from './admin/admin';
export type * from './admin/admin-types';
export type * from './admin/cluster-types';
export * from './consumer';
export type { SendOutcome } from './producer/deliveries';
export { partitionOfKey } from './producer/partitioner';
export type { Producer } from './producer/producer';
export type { Acks, ProducerOptions } from './producer/producer-options';
export type {
  HeadersInput,
  HeaderValue,
  ProducerRecord,
  RecordMetadata,
} from './producer/producer-record';
export type { SendOptions } from './producer/send-watch';
export * from './serde';
