/**
 * One bound address with its handlers. Invariant: a handler that throws or returns without taking its stream never
 * leaves a caller waiting; after `close` the port is free and every call has ended. Called by GrpcTransport.
 */
import {
  ServerCredentials,
  type sendUnaryData,
  type Server,
  type ServerDuplexStream,
  type ServerUnaryCall,
} from '@grpc/grpc-js';
import { cancelled, systemClock, TributaryError, type Logger, type Timer } from '@tributary/common';
import type {
  Address,
  BidiHandler,
  CallContext,
  Listener,
  ListenOptions,
  UnaryHandler,
} from '../transport';
import { asBytes, hostAndPort } from './grpc-connection';
import { GrpcServerStream } from './grpc-server-stream';
import { serverOptions, type GrpcLimits } from './grpc-settings';
import { addHealth, addReflection, type HealthSwitch } from './inspection-services';
import { toStatus } from './status-mapping';
import { tunedServer } from './tuned-server';

export interface ListenerContext {
  readonly limits: GrpcLimits;
  readonly logger: Logger;
  onClosed(listener: GrpcListener): void;
}

/** After the grace: how long cut calls may take to tell their callers, before the sockets are destroyed. */
const farewellMs = 100;

export class GrpcListener implements Listener {
  private readonly server: Server;
  private readonly health: HealthSwitch;
  private readonly streams = new Set<{ cut(error: TributaryError): void }>();
  private bound: Address;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly options: ListenOptions,
    private readonly context: ListenerContext,
  ) {
    this.bound = { host: options.host, port: options.port };
    this.server = tunedServer(serverOptions(context.limits), context.limits.windowBytes);
    const services = new Set(options.handlers.map(({ method }) => method.path.split('/')[1] ?? ''));
    for (const handler of options.handlers) {
      const { path } = handler.method;
      if ('unary' in handler) {
        this.server.register(path, this.unary(handler), asBytes, asBytes, 'unary');
      } else {
        this.server.register(path, this.bidi(handler), asBytes, asBytes, 'bidi');
      }
    }
    this.health = addHealth(this.server, [...services]);
    addReflection(this.server, [...services]);
  }

  get address(): Address {
    return this.bound;
  }

  bind(): Promise<void> {
    const { host, port } = this.options;
    return new Promise((resolve, reject) => {
      this.server.bindAsync(
        hostAndPort(host, port),
        ServerCredentials.createInsecure(),
        (error, boundPort) => {
          if (error) return reject(bindError(error, host, port));
          this.bound = { host, port: boundPort };
          resolve();
        },
      );
    });
  }

  close(graceMs: number): Promise<void> {
    this.closing ??= this.shutDown(graceMs);
    return this.closing;
  }

  private shutDown(graceMs: number): Promise<void> {
    this.health.stopServing();
    return new Promise((resolve) => {
      const timers: Timer[] = [];
      const later = (delayMs: number, run: () => void): void => {
        timers.push(systemClock.setTimer(delayMs, run));
      };
      const finish = (): void => {
        for (const timer of timers) timer.cancel();
        this.context.onClosed(this);
        resolve();
      };
      later(graceMs, () => {
        const gone = new TributaryError('UNAVAILABLE', 'the listener was closed');
        for (const stream of [...this.streams]) stream.cut(gone);
        later(farewellMs, () => {
          this.server.forceShutdown();
          // grpc-js reports the end once all sockets are gone; do not depend on it.
          later(farewellMs, finish);
        });
      });
      this.server.tryShutdown(finish);
    });
  }

  private unary(handler: UnaryHandler) {
    const { method } = handler;
    return (call: ServerUnaryCall<Buffer, Buffer>, callback: sendUnaryData<Buffer>): void => {
      const caller = new AbortController();
      let answered = false;
      call.on('cancelled', () => {
        if (!answered) caller.abort(cancelled(undefined));
      });
      const answer = async (): Promise<Buffer> => {
        const request = method.up.decode(call.request);
        const context = this.callContext(call.getPeer(), caller.signal);
        return method.down.encode(await handler.unary(request, context));
      };
      answer().then(
        (response) => {
          answered = true;
          callback(null, response);
        },
        (thrown: unknown) => {
          answered = true;
          this.reportDefect(method.path, thrown);
          callback(toStatus(thrown));
        },
      );
    };
  }

  private bidi(handler: BidiHandler) {
    const { method } = handler;
    return (duplex: ServerDuplexStream<Buffer, Buffer>): void => {
      const caller = new AbortController();
      const { limits, logger } = this.context;
      const name = `${method.path} from ${duplex.getPeer()}`;
      const stream = new GrpcServerStream(
        method,
        duplex,
        { ...limits, logger, name },
        {
          cutFlushMs: limits.cutFlushMs,
          onOver: () => {
            this.streams.delete(stream);
            caller.abort(cancelled(undefined));
          },
        },
      );
      this.streams.add(stream);
      try {
        handler.bidi(stream, this.callContext(duplex.getPeer(), caller.signal));
        if (!stream.handled && !stream.closed)
          throw new Error('the handler did not take its stream');
      } catch (thrown) {
        this.reportDefect(method.path, thrown);
        stream.cut(TributaryError.from(thrown));
      }
    };
  }

  private callContext(peer: string, signal: AbortSignal): CallContext {
    return { listener: this.options.listener, peer, signal };
  }

  private reportDefect(path: string, thrown: unknown): void {
    if (thrown instanceof TributaryError && thrown.code !== 'INTERNAL') return;
    const stack = thrown instanceof Error ? thrown.stack : String(thrown);
    this.context.logger.error(`the handler of ${path} failed`, { stack });
  }
}

function bindError(error: Error, host: string, port: number): TributaryError {
  const options = { cause: error, details: { host, port } };
  const where = hostAndPort(host, port);
  return error.message.includes('EADDRINUSE')
    ? new TributaryError('ADDRESS_IN_USE', `port ${port} of ${host} is in use`, options)
    : new TributaryError('INVALID_CONFIG', `cannot listen on ${where}: ${error.message}`, options);
}
