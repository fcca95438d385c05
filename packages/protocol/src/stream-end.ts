/**
 * What one side of a stream does in every transport: encode, count queued bytes, decode, dispatch, close once.
 * Invariant: after `onClose` no handler is called again, and `onClose` itself comes exactly once, whatever the
 * transport reports and in whatever order. A transport supplies the four `transmit...`/`setFlowing` verbs and
 * reports by the `received...`, `transmitted` and `finished` ones. Extended by the gRPC adapter and by the
 * simulated network.
 */
import { assert, TributaryError, type Logger } from '@tributary/common';
import type { Codec } from './method';
import type { MessageStream, StreamHandlers } from './transport';

export interface StreamSettings {
  /** For logs and errors: which stream, with whom. */
  readonly name: string;
  readonly logger: Logger;
  /** `send` returns false while more than this waits to be sent. */
  readonly writeLimitBytes: number;
  /** A sender that goes on nevertheless is cut with OVERLOADED here. */
  readonly queueLimitBytes: number;
}

export abstract class StreamEnd<Out, In> implements MessageStream<Out, In> {
  private handlers: StreamHandlers<In> | undefined;
  private queuedBytes = 0;
  private blocked = false;
  private endSent = false;
  private endReceived = false;
  private over = false;
  private closeDelivered = false;
  private closeError: TributaryError | undefined;

  constructor(
    private readonly outgoing: Codec<Out, unknown>,
    private readonly incoming: Codec<unknown, In>,
    protected readonly settings: StreamSettings,
  ) {}

  /** Puts one message on the way; `transmitted` follows when it left. */
  protected abstract transmit(bytes: Buffer): void;
  protected abstract transmitEnd(): void;
  protected abstract transmitCut(error: TributaryError): void;
  protected abstract setFlowing(flowing: boolean): void;
  /** The handlers are there: `received` may be called from now on. */
  protected abstract begin(): void;

  get closed(): boolean {
    return this.over;
  }

  get handled(): boolean {
    return this.handlers !== undefined;
  }

  protected get ownEndSent(): boolean {
    return this.endSent;
  }

  send(message: Out): boolean {
    if (this.over || this.endSent) return false;
    const bytes = this.outgoing.encode(message);
    this.queuedBytes += bytes.length;
    if (this.queuedBytes > this.settings.queueLimitBytes) {
      this.cut(
        new TributaryError('OVERLOADED', `${this.settings.name}: the peer reads too slowly`),
      );
      return false;
    }
    this.transmit(bytes);
    this.blocked ||= this.queuedBytes > this.settings.writeLimitBytes;
    return !this.blocked;
  }

  end(): void {
    if (this.over || this.endSent) return;
    this.endSent = true;
    this.transmitEnd();
  }

  cut(error?: TributaryError): void {
    if (this.over) return;
    const { name } = this.settings;
    this.transmitCut(
      error ?? new TributaryError('UNAVAILABLE', `${name}: the peer cut the stream`),
    );
    this.over = true;
    this.closeError = error ?? new TributaryError('CANCELLED', `${name}: cut on this side`);
    queueMicrotask(() => this.deliverClose());
  }

  pause(): void {
    if (!this.over) this.setFlowing(false);
  }

  resume(): void {
    if (!this.over) this.setFlowing(true);
  }

  handle(handlers: StreamHandlers<In>): void {
    assert(!this.handlers, 'a stream has one set of handlers');
    this.handlers = handlers;
    if (this.over) queueMicrotask(() => this.deliverClose());
    else this.begin();
  }

  protected received(bytes: Buffer): void {
    if (this.over) return;
    let message: In;
    try {
      message = this.incoming.decode(bytes);
    } catch (thrown) {
      this.cut(TributaryError.from(thrown));
      return;
    }
    this.guarded(() => this.handlers?.onMessage(message));
  }

  protected receivedEnd(): void {
    if (this.over || this.endReceived) return;
    this.endReceived = true;
    this.guarded(() => this.handlers?.onEnd?.());
  }

  protected transmitted(bytes: number): void {
    this.queuedBytes -= bytes;
    // Half of the limit, so that a sender does not stop and go with every message.
    if (!this.blocked || this.over || this.queuedBytes > this.settings.writeLimitBytes / 2) return;
    this.blocked = false;
    if (!this.endSent) this.guarded(() => this.handlers?.onDrain?.());
  }

  /** The transport has nothing more to report: undefined when both sides ended orderly. */
  protected finished(error: TributaryError | undefined): void {
    if (this.over) return;
    this.over = true;
    this.closeError = error;
    this.deliverClose();
  }

  private deliverClose(): void {
    if (!this.handlers || this.closeDelivered) return;
    this.closeDelivered = true;
    this.guarded(() => this.handlers?.onClose(this.closeError));
  }

  /** A handler that throws loses its stream: with its own error if that is an expected one. */
  private guarded(callHandler: () => void): void {
    try {
      callHandler();
    } catch (thrown) {
      if (!(thrown instanceof TributaryError)) {
        const stack = thrown instanceof Error ? thrown.stack : String(thrown);
        this.settings.logger.error(`${this.settings.name}: a stream handler failed`, { stack });
      }
      this.cut(TributaryError.from(thrown));
    }
  }
}
