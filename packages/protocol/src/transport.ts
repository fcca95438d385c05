/**
 * The Transport port: unary calls and ordered bidirectional streams of messages between endpoints. Two
 * implementations: the gRPC adapter (production) and the simulated network (testkit), both of which carry
 * encoded messages, so that no object is ever shared between two sides.
 *
 * Invariants for every implementation:
 * - messages of one stream arrive in order, whole, at most once; after `onClose` nothing more arrives;
 * - `onClose` is called exactly once on each side, also when the peer vanishes (keepalive decides);
 * - handlers run on the event loop of their own side, never inside `send`;
 * - errors are always TributaryErrors; a broken or refused connection is UNAVAILABLE with
 *   `details.refused = true` only when the peer's machine said that nobody listens there.
 */
import type { TributaryError } from '@tributary/common';
import type { BidiMethod, UnaryMethod } from './method';

export interface Address {
  readonly host: string;
  readonly port: number;
}

/**
 * Each purpose has a connection of its own, so that bulk traffic never holds up control traffic. Client
 * libraries use 'client'.
 */
export type ConnectionPurpose = 'client' | 'control' | 'replication' | 'catch-up';

export interface Transport {
  /** Starts serving. Rejects with ADDRESS_IN_USE (naming the port) or INVALID_CONFIG. */
  listen(options: ListenOptions): Promise<Listener>;
  /** Never fails by itself: it dials lazily, at the first call. */
  connect(address: Address, purpose: ConnectionPurpose): Connection;
  /** Closes every connection and listener made by this transport. */
  close(): Promise<void>;
}

export interface ListenOptions extends Address {
  /** The listener's name ('inside', 'outside' ...): handlers see it in their context. */
  readonly listener: string;
  readonly handlers: readonly Handler[];
}

export interface Listener {
  /** With the port really bound (0 was asked: a free one). */
  readonly address: Address;
  /** Refuses new calls at once, lets open ones finish for `graceMs`, then cuts them. Idempotent. */
  close(graceMs: number): Promise<void>;
}

export interface CallOptions {
  /** From now. Required: no call waits for ever. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

export interface Connection {
  readonly address: Address;
  /** Rejects with the handler's TributaryError, or TIMEOUT, CANCELLED, UNAVAILABLE. */
  call<RequestInput, Request, ResponseInput, Response>(
    method: UnaryMethod<RequestInput, Request, ResponseInput, Response>,
    request: RequestInput,
    options: CallOptions,
  ): Promise<Response>;
  /** Returns at once; a connection that cannot be made shows as `onClose`. */
  open<UpInput, Up, DownInput, Down>(
    method: BidiMethod<UpInput, Up, DownInput, Down>,
  ): MessageStream<UpInput, Down>;
  /** Closes it and all its streams and calls. Idempotent. */
  close(): void;
}

/** One side of a bidirectional stream: sends Out, receives In. */
export interface MessageStream<Out, In> {
  /**
   * Queues one message. False: more than the write limit is queued; stop, and go on at `onDrain`. Sending
   * on a closed or half-closed stream is dropped and returns false.
   */
  send(message: Out): boolean;
  /**
   * No more from this side. The other side's `onEnd` follows its last message. The dialer may end and go on
   * receiving; the acceptor's end is the end of the stream for both (gRPC knows nothing else).
   */
  end(): void;
  /**
   * Ends both directions at once. From acceptor to dialer the error travels: the dialer's `onClose` gets it
   * (UNAVAILABLE without one). From dialer to acceptor it cannot: the acceptor's `onClose` gets UNAVAILABLE.
   */
  cut(error?: TributaryError): void;
  /** Stops `onMessage`; what arrives meanwhile counts against the stream's window. */
  pause(): void;
  resume(): void;
  /** Must be called in the same tick in which the stream was obtained; what came earlier is kept for it. */
  handle(handlers: StreamHandlers<In>): void;
  readonly closed: boolean;
}

export interface StreamHandlers<In> {
  onMessage(message: In): void;
  /** The peer half-closed: it sends no more. */
  onEnd?(): void;
  /** Room again after `send` returned false. */
  onDrain?(): void;
  /** The stream is over; undefined when both sides ended it orderly. */
  onClose(error: TributaryError | undefined): void;
}

export interface CallContext {
  /** Name of the listener that the call came in on. */
  readonly listener: string;
  /** For logs: `ip:port`. */
  readonly peer: string;
  /** Aborted when the caller went away or its deadline passed. */
  readonly signal: AbortSignal;
}

export type Handler = UnaryHandler | BidiHandler;

export interface UnaryHandler {
  readonly method: UnaryMethod<unknown, unknown, unknown, unknown>;
  readonly unary: (request: unknown, context: CallContext) => Promise<unknown>;
}

export interface BidiHandler {
  readonly method: BidiMethod<unknown, unknown, unknown, unknown>;
  readonly bidi: (stream: MessageStream<unknown, unknown>, context: CallContext) => void;
}

/** A typed handler as the table of `listen` takes it. A rejection goes to the caller as its TributaryError. */
export function unaryHandler<RequestInput, Request, ResponseInput, Response>(
  method: UnaryMethod<RequestInput, Request, ResponseInput, Response>,
  unary: (request: Request, context: CallContext) => Promise<ResponseInput>,
): Handler {
  return { method, unary } as unknown as UnaryHandler;
}

export function bidiHandler<UpInput, Up, DownInput, Down>(
  method: BidiMethod<UpInput, Up, DownInput, Down>,
  bidi: (stream: MessageStream<DownInput, Up>, context: CallContext) => void,
): Handler {
  return { method, bidi };
}
