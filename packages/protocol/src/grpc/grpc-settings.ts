/**
 * The named limits of the gRPC adapter and the channel options that follow from them. Invariant: nothing is
 * left to a default of grpc-js that is unbounded, too small (4 MB messages, 64 KB windows) or shared between
 * purposes. Called by GrpcTransport, its connections and its listeners.
 */
import type { ChannelOptions } from '@grpc/grpc-js';
import type { ConnectionPurpose } from '../transport';

export interface KeepaliveSettings {
  /** A ping after this long, also without calls. */
  readonly intervalMs: number;
  /** No answer within this: the connection is lost. */
  readonly timeoutMs: number;
}

export interface GrpcLimits {
  /** The largest message that is taken, on both sides. */
  readonly maxMessageBytes: number;
  /** HTTP/2 window of each connection and of each stream: what a peer may send ahead of its reader. */
  readonly windowBytes: number;
  /** `send` returns false while more than this is queued on one stream. */
  readonly writeLimitBytes: number;
  /** A stream whose queue grows beyond this is cut with OVERLOADED. */
  readonly queueLimitBytes: number;
  /** Open calls and streams that one connection may have. */
  readonly maxStreamsPerConnection: number;
  /** How long a stream that was cut may still take to send what was queued before. */
  readonly cutFlushMs: number;
  /** How long a stream that was opened may wait for the first sign of the acceptor. */
  readonly dialTimeoutMs: Readonly<Record<ConnectionPurpose, number>>;
  readonly keepalive: Readonly<Record<ConnectionPurpose | 'listener', KeepaliveSettings>>;
}

const mebibyte = 1_048_576;

export const defaultGrpcLimits: GrpcLimits = {
  maxMessageBytes: 64 * mebibyte,
  windowBytes: 8 * mebibyte,
  writeLimitBytes: 4 * mebibyte,
  queueLimitBytes: 256 * mebibyte,
  maxStreamsPerConnection: 1_000,
  cutFlushMs: 1_000,
  dialTimeoutMs: { control: 3_000, replication: 3_000, 'catch-up': 5_000, client: 5_000 },
  keepalive: {
    control: { intervalMs: 2_500, timeoutMs: 2_500 },
    replication: { intervalMs: 2_500, timeoutMs: 2_500 },
    'catch-up': { intervalMs: 10_000, timeoutMs: 10_000 },
    // A leader that stands still is noticed about when the controller has replaced it (heartbeat timeout, 3 s).
    client: { intervalMs: 2_000, timeoutMs: 3_000 },
    listener: { intervalMs: 10_000, timeoutMs: 5_000 },
  },
};

/** First retry of a dial, with grpc-js's jitter of a fifth below 50 ms. */
const reconnectFirstMs = 40;
const reconnectMaxMs = 1_000;

export function clientOptions(limits: GrpcLimits, purpose: ConnectionPurpose): ChannelOptions {
  const { intervalMs, timeoutMs } = limits.keepalive[purpose];
  return {
    'grpc.max_receive_message_length': limits.maxMessageBytes,
    'grpc.max_send_message_length': limits.maxMessageBytes,
    'grpc-node.flow_control_window': limits.windowBytes,
    'grpc.keepalive_time_ms': intervalMs,
    'grpc.keepalive_timeout_ms': timeoutMs,
    'grpc.keepalive_permit_without_calls': 1,
    'grpc.initial_reconnect_backoff_ms': reconnectFirstMs,
    'grpc.max_reconnect_backoff_ms': reconnectMaxMs,
    'grpc.dns_min_time_between_resolutions_ms': reconnectMaxMs,
    // A connection of its own: grpc-js would share one between channels with equal options.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
    // Without a retry buffer, write callbacks mean "left for the socket" and back-pressure is true.
    'grpc.per_rpc_retry_buffer_size': 0,
    'grpc.service_config_disable_resolution': 1,
    'grpc.enable_http_proxy': 0,
    'grpc.enable_channelz': 0,
  };
}

export function serverOptions(limits: GrpcLimits): ChannelOptions {
  const { intervalMs, timeoutMs } = limits.keepalive.listener;
  return {
    'grpc.max_receive_message_length': limits.maxMessageBytes,
    'grpc.max_send_message_length': limits.maxMessageBytes,
    'grpc.max_concurrent_streams': limits.maxStreamsPerConnection,
    'grpc.keepalive_time_ms': intervalMs,
    'grpc.keepalive_timeout_ms': timeoutMs,
    'grpc.enable_channelz': 0,
  };
}
