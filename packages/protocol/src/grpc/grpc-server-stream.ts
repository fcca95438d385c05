/**
 * The acceptor's side of a stream, over a grpc-js duplex call. Invariant: a cut reaches the dialer as status and
 * trailer, behind what was sent before, but never waits longer than the flush time for a dialer that does not
 * read. `end` is the end of the call: gRPC knows no half-close of the acceptor. Called by GrpcListener.
 */
import { Metadata, type ServerDuplexStream } from '@grpc/grpc-js';
import { systemClock, TributaryError, type Timer } from '@tributary/common';
import { constants, type ServerHttp2Stream } from 'node:http2';
import type { BidiMethod } from '../method';
import { StreamEnd, type StreamSettings } from '../stream-end';
import { toStatus } from './status-mapping';

export class GrpcServerStream<DownInput, Up> extends StreamEnd<DownInput, Up> {
  private flushTimer: Timer | undefined;

  constructor(
    method: BidiMethod<unknown, Up, DownInput, unknown>,
    private readonly duplex: ServerDuplexStream<Buffer, Buffer>,
    settings: StreamSettings,
    private readonly hooks: { readonly cutFlushMs: number; onOver(): void },
  ) {
    super(method.down, method.up, settings);
    // So that the dialer knows at once that somebody answers.
    duplex.sendMetadata(new Metadata());
    duplex.on('end', () => this.receivedEnd());
    duplex.on('cancelled', () => this.callIsOver());
    duplex.on('error', () => undefined);
  }

  protected override begin(): void {
    this.duplex.on('data', (bytes: Buffer) => this.received(bytes));
  }

  protected override transmit(bytes: Buffer): void {
    this.duplex.write(bytes, () => this.transmitted(bytes.length));
  }

  protected override transmitEnd(): void {
    this.duplex.end();
  }

  protected override transmitCut(error: TributaryError): void {
    this.flushTimer = systemClock.setTimer(this.hooks.cutFlushMs, () => this.reset(), {
      unref: true,
    });
    // How grpc-js is told a status: it ends the call with it.
    this.duplex.emit('error', toStatus(error));
    this.duplex.resume();
  }

  protected override setFlowing(flowing: boolean): void {
    if (flowing) this.duplex.resume();
    else this.duplex.pause();
  }

  /** grpc-js says 'cancelled' at the end of every call, also of one that ended well. */
  private callIsOver(): void {
    this.flushTimer?.cancel();
    this.hooks.onOver();
    const orderly = this.ownEndSent && this.duplex.writableFinished;
    const { name } = this.settings;
    this.finished(
      orderly ? undefined : new TributaryError('UNAVAILABLE', `${name}: the peer is gone`),
    );
  }

  private reset(): void {
    const call = this.duplex as unknown as { call?: { stream?: ServerHttp2Stream } };
    call.call?.stream?.close(constants.NGHTTP2_CANCEL);
  }
}
