/**
 * The controller's stream to one broker in one registration: dials, says hello, dials again when it breaks.
 * The first dial after a break is immediate, because its outcome tells a dead process (refused) from a
 * broken connection; further ones back off.
 *
 * Invariants: messages go only to a broker that answered with the expected broker epoch; events of a
 * stream that was given up are never reported. Called by the controller's driver.
 */
import { backoffMs, TributaryError, type Clock, type Random, type Timer } from '@tributary/common';
import {
  checkServerHello,
  clientHello,
  fromWireError,
  methods,
  type Address,
  type BrokerHello,
  type Connection,
  type ControlDownInput,
  type ControlUp,
  type MessageStream,
  type Transport,
} from '@tributary/protocol';

export interface ControlLinkOptions {
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly address: Address;
  readonly brokerId: number;
  readonly brokerEpoch: number;
  readonly controllerId: number;
  readonly controllerEpoch: number;
  readonly clusterId: string;
  readonly helloTimeoutMs: number;
  readonly redialMaxMs: number;
}

export interface ControlLinkHost {
  up(link: ControlLink, hello: BrokerHello): void;
  down(link: ControlLink, why: string): void;
  /** Nobody listens there, or another life of that broker does. */
  refused(link: ControlLink, why: string): void;
  /** That broker has seen a newer controller. */
  stale(link: ControlLink, error: TributaryError): void;
  message(link: ControlLink, message: ControlUp): void;
}

type ControlStream = MessageStream<ControlDownInput, ControlUp>;

/** Messages that may wait for the stream's window; beyond that the stream is cut and imaged anew. */
export const maxQueuedControlMessages = 10_000;

export class ControlLink {
  lastHeardAt: number | undefined;
  private connection: Connection | undefined;
  private stream: ControlStream | undefined;
  private isUp = false;
  private isClosed = false;
  private attempt = 0;
  private timer: Timer | undefined;
  private queue: ControlDownInput[] = [];
  private isBlocked = false;

  constructor(
    readonly options: ControlLinkOptions,
    private readonly host: ControlLinkHost,
  ) {}

  get brokerId(): number {
    return this.options.brokerId;
  }

  get brokerEpoch(): number {
    return this.options.brokerEpoch;
  }

  open(): void {
    this.dial();
  }

  /** Dropped while the stream is not up: the next one begins with an image. */
  send(message: ControlDownInput): void {
    if (!this.isUp) return;
    this.queue.push({ ...message, controllerEpoch: this.options.controllerEpoch });
    if (this.queue.length > maxQueuedControlMessages) this.fail('the broker reads too slowly');
    else this.pump();
  }

  /** Gives the stream up and dials again; no event follows for the old one. */
  cut(why: string): void {
    this.dropStream(new TributaryError('UNAVAILABLE', why));
    this.redial();
  }

  close(): void {
    this.isClosed = true;
    this.timer?.cancel();
    this.dropStream(new TributaryError('UNAVAILABLE', 'the controller closed the stream'));
  }

  private dial(): void {
    if (this.isClosed) return;
    const { transport, address, clock, helloTimeoutMs } = this.options;
    this.connection = transport.connect(address, 'control');
    const stream: ControlStream = this.connection.open(methods.control.session);
    this.stream = stream;
    stream.handle({
      onMessage: (message) => {
        if (stream === this.stream) this.onMessage(message);
      },
      onDrain: () => {
        if (stream !== this.stream) return;
        this.isBlocked = false;
        this.pump();
      },
      onEnd: () => stream === this.stream && this.lost(undefined),
      onClose: (error) => stream === this.stream && this.lost(error),
    });
    stream.send(this.hello());
    this.timer = clock.setTimer(helloTimeoutMs, () => this.fail('no hello in time'));
  }

  private hello(): ControlDownInput {
    const { brokerId, brokerEpoch, controllerId, controllerEpoch, clusterId } = this.options;
    const hello = clientHello({ clusterId, brokerId, senderBrokerId: controllerId });
    return {
      hello: { hello, controllerId, expectedBrokerEpoch: brokerEpoch },
      body: 'hello',
      controllerEpoch,
    };
  }

  private onMessage(message: ControlUp): void {
    this.lastHeardAt = this.options.clock.now();
    if (message.error) return this.lost(fromWireError(message.error));
    if (this.isUp) return this.host.message(this, message);
    if (!message.hello?.hello) return this.fail('it did not begin with a hello');
    checkServerHello(message.hello.hello);
    if (message.hello.hello.brokerEpoch !== this.brokerEpoch) {
      return this.lost(new TributaryError('FENCED_BROKER_EPOCH', 'another life of it answered'));
    }
    this.timer?.cancel();
    this.isUp = true;
    this.attempt = 0;
    this.host.up(this, message.hello);
  }

  private pump(): void {
    while (!this.isBlocked && this.stream && this.queue.length > 0) {
      const message = this.queue.shift();
      if (message) this.isBlocked = !this.stream.send(message);
    }
  }

  private fail(why: string): void {
    this.lost(new TributaryError('UNAVAILABLE', why));
  }

  private lost(error: TributaryError | undefined): void {
    const wasUp = this.isUp;
    this.dropStream(error);
    if (this.isClosed) return;
    const why = error?.message ?? 'the broker ended the stream';
    if (error?.code === 'STALE_CONTROLLER_EPOCH') return this.host.stale(this, error);
    const isOtherLife = error?.code === 'FENCED_BROKER_EPOCH' || error?.code === 'BROKER_MISMATCH';
    if (isOtherLife || (error?.details.refused === true && !wasUp)) this.host.refused(this, why);
    else if (wasUp) this.host.down(this, why);
    if (wasUp) this.dialSoon(0);
    else this.redial();
  }

  private redial(): void {
    const { random, redialMaxMs: maxMs } = this.options;
    this.dialSoon(backoffMs(this.attempt, random, { baseMs: 50, maxMs, minMs: 20 }));
    this.attempt += 1;
  }

  private dialSoon(delayMs: number): void {
    if (this.isClosed) return;
    this.timer = this.options.clock.setTimer(delayMs, () => this.dial());
  }

  private dropStream(error: TributaryError | undefined): void {
    const { stream, connection } = this;
    this.timer?.cancel();
    this.stream = undefined;
    this.connection = undefined;
    this.isUp = false;
    this.isBlocked = false;
    this.queue = [];
    if (stream && !stream.closed) stream.cut(error);
    connection?.close();
  }
}
