/**
 * One side of a simulated stream. Invariant: only bytes cross to the other side; a side whose machine crashed
 * calls no handler any more. What the gRPC adapter cannot do is not done here either: the acceptor's end is the end
 * of the stream, and an error travels only from acceptor to dialer. Called by SimulatedConnection and
 * SimulatedListener.
 */
import { TributaryError, type Timer } from '@tributary/common';
import {
  fromWireError,
  StreamEnd,
  toWireError,
  wireErrorCodec,
  type Codec,
  type StreamHandlers,
  type StreamSettings,
} from '@tributary/protocol';
import type { SimulatedMachine } from './simulated-machine';
import type { SimulatedPipe } from './simulated-pipe';

type Arrival = { readonly bytes: Buffer } | 'end' | 'finish';

export interface StreamSide {
  readonly role: 'dialer' | 'acceptor';
  readonly machine: SimulatedMachine;
  readonly pipe: SimulatedPipe;
}

export class SimulatedStream<Out, In> extends StreamEnd<Out, In> {
  private peer: SimulatedStream<In, Out> | undefined;
  private readonly inbox: Arrival[] = [];
  private flowing = true;
  private begun = false;
  private drainTimer: Timer | undefined;
  private creditBytes = 0;
  private dialTimer: Timer | undefined;
  /** Set by the listener: this side is over, whoever ended it. */
  onOver: (() => void) | undefined;

  constructor(
    outgoing: Codec<Out, unknown>,
    incoming: Codec<unknown, In>,
    settings: StreamSettings,
    readonly side: StreamSide,
  ) {
    super(outgoing, incoming, settings);
    side.machine.streams.add(this);
  }

  override handle(handlers: StreamHandlers<In>): void {
    const { machine } = this.side;
    super.handle({
      onMessage: (message) => machine.alive && handlers.onMessage(message),
      onEnd: () => machine.alive && handlers.onEnd?.(),
      onDrain: () => machine.alive && handlers.onDrain?.(),
      onClose: (error) => machine.alive && handlers.onClose(error),
    });
  }

  /** Joins the two sides; the dialer learns of it later. */
  connectTo(peer: SimulatedStream<In, Out>): void {
    this.peer = peer;
    peer.peer = this;
  }

  startDialTimer(dialTimeoutMs: number): void {
    const { clock } = this.side.machine;
    this.dialTimer = clock.setTimer(dialTimeoutMs, () => {
      const message = `${this.settings.name}: no answer in ${dialTimeoutMs} ms`;
      this.cut(new TributaryError('UNAVAILABLE', message, { details: { refused: false } }));
    });
  }

  /** The acceptor answers: the dial is over. */
  opened(): void {
    this.dialTimer?.cancel();
  }

  /** The stream ends here with an error, whatever still waits to be read. */
  broken(error: TributaryError): void {
    this.leave();
    this.finished(error);
  }

  /** The peer's machine crashed, cut, or was silent for too long. */
  lost(): void {
    const message = `${this.settings.name}: the peer is gone`;
    this.broken(new TributaryError('UNAVAILABLE', message, { details: { refused: false } }));
  }

  /** The machine crashed: its kernel tells the peer, and nobody here hears of anything again. */
  crashed(): void {
    this.dialTimer?.cancel();
    this.drainTimer?.cancel();
    this.side.pipe.post('reset', () => this.peer?.lost());
  }

  protected override begin(): void {
    this.begun = true;
    this.scheduleDrain();
  }

  protected override transmit(bytes: Buffer): void {
    this.post('message', () => this.peer?.arrived({ bytes }), bytes);
  }

  protected override transmitEnd(): void {
    if (this.side.role === 'dialer') {
      this.post('end', () => this.peer?.arrived('end'));
      return;
    }
    this.post('finish', () => this.peer?.arrived('finish'));
    this.side.machine.clock.setTimer(0, () => this.ended());
  }

  protected override transmitCut(error: TributaryError): void {
    this.leave();
    if (this.side.role === 'dialer') {
      this.post('cut', () => this.peer?.lost());
      return;
    }
    const bytes = wireErrorCodec.encode(toWireError(error));
    const arrive = (): void => this.peer?.broken(fromWireError(wireErrorCodec.decode(bytes)));
    this.post('error', arrive, bytes);
  }

  protected override setFlowing(flowing: boolean): void {
    this.flowing = flowing;
    if (flowing) this.scheduleDrain();
  }

  private ended(): void {
    this.leave();
    this.finished(undefined);
  }

  private leave(): void {
    this.dialTimer?.cancel();
    this.side.machine.streams.delete(this);
    this.onOver?.();
    this.onOver = undefined;
  }

  private post(what: string, event: () => void, bytes?: Buffer): void {
    if (this.side.machine.alive) this.side.pipe.post(what, event, bytes);
  }

  private arrived(arrival: Arrival): void {
    this.inbox.push(arrival);
    this.drain();
  }

  private scheduleDrain(): void {
    this.drainTimer ??= this.side.machine.clock.setTimer(0, () => {
      this.drainTimer = undefined;
      this.drain();
    });
  }

  private drain(): void {
    while (this.begun && this.flowing && !this.closed && this.side.machine.alive) {
      const arrival = this.inbox.shift();
      if (arrival === undefined) return;
      if (arrival === 'end' || arrival === 'finish') {
        this.receivedEnd();
        if (arrival === 'finish') this.ended();
      } else {
        this.received(arrival.bytes);
        this.returnCredit(arrival.bytes.length);
      }
    }
  }

  /** Tells the peer what was read, many messages at once. */
  private returnCredit(bytes: number): void {
    const alreadyOnTheWay = this.creditBytes > 0;
    this.creditBytes += bytes;
    if (alreadyOnTheWay) return;
    this.post('credit', () => {
      const returned = this.creditBytes;
      this.creditBytes = 0;
      this.peer?.transmitted(returned);
    });
  }
}
