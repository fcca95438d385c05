/** The public SDK. */
export { createClient, type CallOptions, type Client, type CloseOptions } from './client';
export type { ClientOptions } from './client-config';
export * from './serde';
