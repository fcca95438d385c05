/**
 * The entry of the SDK: one client per cluster and process. Invariant: making it dials nothing and throws at
 * once for a wrong configuration; closing it is bounded and leaves no timer, connection or session behind.
 * It wires the context that producer, consumer and admin share.
 */
import {
  Deadline,
  sharedAbort,
  silentLogger,
  systemClock,
  systemRandom,
  TributaryError,
} from '@tributary/common';
import type { Logger } from '@tributary/common';
import { standardCodecs } from '@tributary/record';
import { Admin } from './admin/admin';
import type { CallOptions, CloseOptions } from './call-options';
import { checkClientOptions, type ClientConfig, type ClientOptions } from './client-config';
import { ClusterAccess } from './connection/cluster-access';
import { Consumer, type ConsumerOptions } from './consumer';
import { MetadataCache } from './metadata/metadata-cache';
import { Producer } from './producer/producer';
import type { ProducerOptions } from './producer/producer-options';
import type { ClientContext } from './seams';

interface Closable {
  close(options: CloseOptions): Promise<void>;
}

/** Producers and consumers of one client; far more than any process needs. */
export const MAX_CLIENT_PARTS = 10_000;

/** Throws INVALID_CONFIG, listing every problem. */
export function createClient(options: ClientOptions): Client {
  return new Client(checkClientOptions(options), options);
}

export class Client implements AsyncDisposable {
  readonly context: ClientContext;
  private readonly access: ClusterAccess;
  private readonly closing = sharedAbort();
  private readonly parts = new Set<Closable>();
  private theAdmin: Admin | undefined;
  private closed: Promise<void> | undefined;

  /** Use `createClient`. */
  constructor(config: ClientConfig, options: ClientOptions) {
    const clock = options.clock ?? systemClock;
    const random = options.random ?? systemRandom;
    const logger = options.logger ?? warningsOnly;
    const { clientId, requestTimeoutMs, waitForTopic } = config;
    this.access = new ClusterAccess({ clock, random, logger }, config, options);
    this.context = {
      clientId,
      clock,
      random,
      logger,
      codecs: options.codecs ?? standardCodecs,
      requestTimeoutMs,
      metadata: new MetadataCache(clock, random, this.access.source, {
        requestTimeoutMs,
        waitForTopic,
        closing: this.closing.signal,
      }),
      connections: this.access.connections,
      groups: () => this.access.groups(this.context),
      closing: this.closing.signal,
    };
  }

  /** Throws INVALID_CONFIG, UNSUPPORTED_CODEC. */
  producer<K = Uint8Array, V = Uint8Array>(options: ProducerOptions<K, V> = {}): Producer<K, V> {
    this.assertOpen();
    const producer: Producer<K, V> = new Producer<K, V>(this.context, options, () =>
      this.parts.delete(producer),
    );
    return this.part(producer);
  }

  /** Throws INVALID_ARGUMENT. */
  consumer<K = Uint8Array, V = Uint8Array>(options: ConsumerOptions<K, V>): Consumer<K, V> {
    this.assertOpen();
    return this.part(new Consumer<K, V>(this.context, options));
  }

  admin(): Admin {
    this.assertOpen();
    this.theAdmin ??= new Admin(this.context);
    return this.theAdmin;
  }

  /** Resolves once the cluster answers; rejects with what keeps it from doing so. */
  async ready(options: CallOptions = {}): Promise<void> {
    this.assertOpen();
    const { clock, metadata, requestTimeoutMs } = this.context;
    const deadline = Deadline.after(clock, options.timeoutMs ?? requestTimeoutMs, options.signal);
    await deadline.race(metadata.anyBroker(0, deadline), 'finding the cluster');
  }

  /** Closes its producers (flushing) and consumers, then every connection. Idempotent. */
  close(options: CloseOptions = {}): Promise<void> {
    this.closed ??= this.closeAll(options.timeoutMs ?? 5_000);
    return this.closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  private async closeAll(timeoutMs: number): Promise<void> {
    const deadline = Deadline.after(this.context.clock, timeoutMs);
    const closes = [...this.parts].map((part) => part.close({ timeoutMs }));
    // A part that fails to close in time has said so to its own callers.
    await Promise.allSettled(closes.map((close) => deadline.race(close, 'closing')));
    this.closing.abort(new TributaryError('CLOSED', 'the client is closed'));
    await this.access.close(Math.max(100, deadline.remainingMs));
  }

  /** Closed with the client. With very many the oldest makes room: it ends when `closing` aborts. */
  private part<T extends Closable>(part: T): T {
    if (this.parts.size >= MAX_CLIENT_PARTS) {
      const oldest = this.parts.values().next();
      if (!oldest.done) this.parts.delete(oldest.value);
    }
    this.parts.add(part);
    return part;
  }

  private assertOpen(): void {
    if (this.closed) throw new TributaryError('CLOSED', 'the client is closed');
  }
}

const warningsOnly: Logger = {
  ...silentLogger,
  warn: (message, fields) => writeLine('warn', message, fields),
  error: (message, fields) => writeLine('error', message, fields),
};

function writeLine(level: string, message: string, fields: object = {}): void {
  process.stderr.write(`tributary ${level}: ${message} ${JSON.stringify(fields)}\n`);
}
