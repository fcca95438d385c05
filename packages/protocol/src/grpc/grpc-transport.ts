/**
 * The Transport port over gRPC: what brokers and clients use in production. Invariant: all that it made is closed
 * by `close`, in bounded time. Called by the composition roots (server, client, cli).
 */
import { setLogger } from '@grpc/grpc-js';
import type { Logger } from '@tributary/common';
import type {
  Address,
  Connection,
  ConnectionPurpose,
  Listener,
  ListenOptions,
  Transport,
} from '../transport';
import { GrpcConnection } from './grpc-connection';
import { GrpcListener } from './grpc-listener';
import { defaultGrpcLimits, type GrpcLimits } from './grpc-settings';

export interface GrpcTransportOptions {
  readonly logger: Logger;
  /** Those not named have their default. */
  readonly limits?: Partial<GrpcLimits>;
}

export class GrpcTransport implements Transport {
  private readonly limits: GrpcLimits;
  private readonly connections = new Set<GrpcConnection>();
  private readonly listeners = new Set<GrpcListener>();

  constructor(private readonly options: GrpcTransportOptions) {
    this.limits = { ...defaultGrpcLimits, ...options.limits };
  }

  async listen(options: ListenOptions): Promise<Listener> {
    quietGrpc(this.options.logger);
    const listener = new GrpcListener(options, {
      limits: this.limits,
      logger: this.options.logger,
      onClosed: (closed) => this.listeners.delete(closed),
    });
    await listener.bind();
    this.listeners.add(listener);
    return listener;
  }

  connect(address: Address, purpose: ConnectionPurpose): Connection {
    const connection = new GrpcConnection(address, purpose, {
      limits: this.limits,
      logger: this.options.logger,
      onClosed: (closed) => this.connections.delete(closed),
    });
    this.connections.add(connection);
    return connection;
  }

  async close(): Promise<void> {
    for (const connection of [...this.connections]) connection.close();
    await Promise.all([...this.listeners].map((listener) => listener.close(0)));
  }
}

/**
 * grpc-js prints on the console by itself, unstructured; all that matters of it comes as an error anyway. Only
 * processes that listen are changed so, not a user's that merely dials.
 */
function quietGrpc(logger: Logger): void {
  const debug = (...parts: unknown[]): void => logger.debug('grpc-js', { text: parts.join(' ') });
  setLogger({ error: debug, info: debug, debug });
}
