/**
 * One dialed address for one purpose, on an HTTP/2 connection of its own. Invariant: every call has a deadline,
 * every stream a dial timeout; after `close` all of them have ended and nothing keeps the process alive.
 * Called by GrpcTransport.
 */
import {
  connectivityState,
  Client,
  credentials,
  Metadata,
  type ClientUnaryCall,
  type ServiceError,
} from '@grpc/grpc-js';
import { assert, cancelled, systemClock, TributaryError, type Logger } from '@tributary/common';
import { ClosedStream } from '../closed-stream';
import type { BidiMethod, UnaryMethod } from '../method';
import type {
  Address,
  CallOptions,
  Connection,
  ConnectionPurpose,
  MessageStream,
} from '../transport';
import { GrpcClientStream } from './grpc-client-stream';
import { clientOptions, type GrpcLimits } from './grpc-settings';
import { fromStatus } from './status-mapping';

/** Messages cross grpc-js as bytes: our codecs run outside it, where their errors can be told. */
export const asBytes = (bytes: Buffer): Buffer => bytes;

export interface ConnectionContext {
  readonly limits: GrpcLimits;
  readonly logger: Logger;
  onClosed(connection: GrpcConnection): void;
}

export class GrpcConnection implements Connection {
  private client: Client | undefined;
  private closed = false;
  private readonly streams = new Set<{ cut(error: TributaryError): void }>();
  private readonly calls = new Set<{ abandon(): void }>();

  constructor(
    readonly address: Address,
    private readonly purpose: ConnectionPurpose,
    private readonly context: ConnectionContext,
  ) {}

  async call<RequestInput, Request, ResponseInput, Response>(
    method: UnaryMethod<RequestInput, Request, ResponseInput, Response>,
    request: RequestInput,
    options: CallOptions,
  ): Promise<Response> {
    const what = this.describe(method.path);
    if (this.closed) throw closedError(what);
    if (options.signal?.aborted) throw cancelled(options.signal);
    const response = await this.exchange(method.path, method.up.encode(request), options);
    return method.down.decode(response);
  }

  open<UpInput, Up, DownInput, Down>(
    method: BidiMethod<UpInput, Up, DownInput, Down>,
  ): MessageStream<UpInput, Down> {
    const { limits, logger } = this.context;
    const settings = { ...limits, logger, name: this.describe(method.path) };
    if (this.closed) return new ClosedStream(method, settings, closedError(settings.name));
    const client = this.dialed();
    const stream = new GrpcClientStream(
      method,
      client.makeBidiStreamRequest(method.path, asBytes, asBytes, new Metadata()),
      settings,
      {
        dialTimeoutMs: limits.dialTimeoutMs[this.purpose],
        onDialTimeout: () => this.dialAnew(client),
        onOver: () => this.streams.delete(stream),
      },
    );
    this.streams.add(stream);
    return stream;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    const error = closedError(this.describe(''));
    for (const stream of [...this.streams]) stream.cut(error);
    for (const call of [...this.calls]) call.abandon();
    this.client?.close();
    this.context.onClosed(this);
  }

  private exchange(path: string, request: Buffer, options: CallOptions): Promise<Buffer> {
    const { timeoutMs, signal } = options;
    const what = this.describe(path);
    assert(Number.isFinite(timeoutMs), `${what}: every call has a deadline`);
    return new Promise((resolve, reject) => {
      let call: ClientUnaryCall | undefined = undefined;
      const entry = {
        abandon: (): void => settle(() => reject(closedError(what)), true),
      };
      const onAbort = (): void => settle(() => reject(cancelled(signal)), true);
      const client = this.dialed();
      const dialMs = this.context.limits.dialTimeoutMs[this.purpose];
      // A call that waits for its connection was not sent, and what it waits for may never come.
      const dialTimer = systemClock.setTimer(dialMs, () => {
        if (isConnected(client)) return;
        this.dialAnew(client);
        settle(() => reject(noConnection(what, dialMs)), true);
      });
      const settle = (finish: () => void, cancelCall: boolean): void => {
        if (!this.calls.delete(entry)) return;
        dialTimer.cancel();
        signal?.removeEventListener('abort', onAbort);
        if (cancelCall) call?.cancel();
        finish();
      };
      this.calls.add(entry);
      signal?.addEventListener('abort', onAbort, { once: true });
      const answered = (error: ServiceError | null, response?: Buffer): void =>
        settle(() => {
          if (response) resolve(response);
          else if (error) reject(fromStatus(error, what));
          else reject(new TributaryError('INTERNAL', `${what}: neither an answer nor an error`));
        }, false);
      const deadline = Date.now() + timeoutMs;
      call = client.makeUnaryRequest(
        path,
        asBytes,
        asBytes,
        request,
        new Metadata(),
        { deadline },
        answered,
      );
    });
  }

  private dialed(): Client {
    const { host, port } = this.address;
    this.client ??= new Client(
      hostAndPort(host, port),
      credentials.createInsecure(),
      clientOptions(this.context.limits, this.purpose),
    );
    return this.client;
  }

  /** A dial that hangs (no route, a stopped process) must not hold up the next one. */
  private dialAnew(stuck: Client): void {
    if (this.client !== stuck) return;
    this.client = undefined;
    stuck.close();
  }

  private describe(path: string): string {
    return `${path} to ${hostAndPort(this.address.host, this.address.port)}`.trim();
  }
}

export function hostAndPort(host: string, port: number): string {
  return host.includes(':') ? `[${host}]:${port}` : `${host}:${port}`;
}

function isConnected(client: Client): boolean {
  return client.getChannel().getConnectivityState(false) === connectivityState.READY;
}

function noConnection(what: string, dialMs: number): TributaryError {
  return new TributaryError('UNAVAILABLE', `${what}: no connection in ${dialMs} ms`, {
    details: { refused: false },
    outcome: 'not written',
  });
}

function closedError(what: string): TributaryError {
  return new TributaryError('CLOSED', `${what}: the connection was closed on this side`);
}
