/**
 * The dialer's side of a stream, over a grpc-js duplex call. Invariant: a dial that stays without any sign of
 * the acceptor ends after the dial timeout; nothing that grpc-js emits after the status is passed on.
 * gRPC carries an error only from acceptor to dialer: a cut on this side shows to the peer as a lost stream.
 * Called by GrpcConnection.
 */
import { status as grpcStatus, type ClientDuplexStream, type StatusObject } from '@grpc/grpc-js';
import { systemClock, TributaryError, type Timer } from '@tributary/common';
import type { BidiMethod } from '../method';
import { StreamEnd, type StreamSettings } from '../stream-end';
import { fromStatus } from './status-mapping';

export interface ClientStreamHooks {
  readonly dialTimeoutMs: number;
  /** No sign of the acceptor: the connection should dial anew for the next stream. */
  onDialTimeout(): void;
  onOver(): void;
}

export class GrpcClientStream<UpInput, Down> extends StreamEnd<UpInput, Down> {
  private readonly dialTimer: Timer;
  private endedOrderly = false;

  constructor(
    method: BidiMethod<UpInput, unknown, unknown, Down>,
    private readonly duplex: ClientDuplexStream<Buffer, Buffer>,
    settings: StreamSettings,
    private readonly hooks: ClientStreamHooks,
  ) {
    super(method.up, method.down, settings);
    this.dialTimer = systemClock.setTimer(hooks.dialTimeoutMs, () => this.dialTimedOut());
    duplex.on('metadata', () => this.dialTimer.cancel());
    duplex.on('status', (status: StatusObject) => this.receivedStatus(status));
    duplex.on('end', () => this.readToTheEnd());
    // The status says the same, and more.
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

  protected override transmitCut(): void {
    this.dialTimer.cancel();
    this.duplex.cancel();
    this.hooks.onOver();
  }

  protected override setFlowing(flowing: boolean): void {
    if (flowing) this.duplex.resume();
    else this.duplex.pause();
  }

  private receivedStatus(status: StatusObject): void {
    this.dialTimer.cancel();
    if (status.code === grpcStatus.OK) {
      // Messages may still wait in the duplex: its 'end' follows the last.
      this.endedOrderly = true;
      return;
    }
    this.hooks.onOver();
    this.finished(fromStatus(status, this.settings.name));
  }

  private readToTheEnd(): void {
    if (!this.endedOrderly) return;
    this.hooks.onOver();
    this.receivedEnd();
    this.finished(undefined);
  }

  private dialTimedOut(): void {
    const { name } = this.settings;
    this.hooks.onDialTimeout();
    this.cut(
      new TributaryError('UNAVAILABLE', `${name}: no answer in ${this.hooks.dialTimeoutMs} ms`, {
        details: { refused: false },
      }),
    );
  }
}
