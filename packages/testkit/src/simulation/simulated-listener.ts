/**
 * One bound address of a simulated machine, with its handlers. Invariant: it answers like the gRPC adapter's:
 * unknown methods are UNSUPPORTED_VERSION, a handler that throws or does not take its stream cuts it with INTERNAL.
 * Called by SimulatedTransport, and by dialers through the network.
 */
import { cancelled, TributaryError, type Timer } from '@tributary/common';
import type {
  Address,
  BidiHandler,
  CallContext,
  Handler,
  Listener,
  ListenOptions,
  UnaryHandler,
} from '@tributary/protocol';
import type { SimulatedMachine } from './simulated-machine';
import type { SimulatedPipe } from './simulated-pipe';
import { SimulatedStream } from './simulated-stream';
import type { ListeningPoint, SimulatedWorld } from './simulated-world';

type Accepted = SimulatedStream<unknown, unknown>;

export class SimulatedListener implements Listener, ListeningPoint {
  readonly address: Address;
  private readonly handlers: ReadonlyMap<string, Handler>;
  private readonly streams = new Set<Accepted>();
  private closing: Promise<void> | undefined;
  private onLastStreamGone: (() => void) | undefined;

  constructor(
    private readonly network: SimulatedWorld,
    readonly machine: SimulatedMachine,
    private readonly options: ListenOptions,
  ) {
    const { host, port, handlers } = options;
    this.address = { host, port: port === 0 ? network.freePort() : port };
    this.handlers = new Map(handlers.map((handler) => [handler.method.path, handler]));
  }

  close(graceMs: number): Promise<void> {
    this.closing ??= this.shutDown(graceMs);
    return this.closing;
  }

  /** A dial arrived. */
  accept<Out, In>(path: string, dialer: SimulatedStream<Out, In>, back: SimulatedPipe): void {
    const handler = this.handlers.get(path);
    if (!handler) {
      const message = `${path} at ${this.machine.name}: the peer does not know this method`;
      const unknown = new TributaryError('UNSUPPORTED_VERSION', message);
      back.post('refusal', () => dialer.broken(unknown));
      return;
    }
    const { limits, logger } = this.network;
    const { up, down } = handler.method;
    const settings = { ...limits, logger, name: `${path} from ${dialer.side.machine.name}` };
    const side = { role: 'acceptor', machine: this.machine, pipe: back } as const;
    const stream: Accepted = new SimulatedStream(down, up, settings, side);
    dialer.connectTo(stream as unknown as SimulatedStream<In, Out>);
    back.post('answer', () => dialer.opened());
    this.streams.add(stream);
    const context = this.contextOf(stream, dialer.side.machine.name);
    if ('unary' in handler) this.answerOnce(handler, stream, context);
    else this.hand(handler, stream, context);
  }

  private async shutDown(graceMs: number): Promise<void> {
    this.network.unregister(this);
    if (this.streams.size === 0) return;
    let grace: Timer | undefined;
    await new Promise<void>((resolve) => {
      this.onLastStreamGone = resolve;
      grace = this.machine.clock.setTimer(graceMs, () => {
        const gone = new TributaryError('UNAVAILABLE', 'the listener was closed');
        for (const stream of [...this.streams]) stream.cut(gone);
      });
    });
    grace?.cancel();
  }

  private contextOf(stream: Accepted, peer: string): CallContext {
    const caller = new AbortController();
    stream.onOver = () => {
      caller.abort(cancelled(undefined));
      this.streams.delete(stream);
      if (this.streams.size === 0) this.onLastStreamGone?.();
    };
    return { listener: this.options.listener, peer, signal: caller.signal };
  }

  private hand(handler: BidiHandler, stream: Accepted, context: CallContext): void {
    try {
      handler.bidi(stream, context);
      if (!stream.handled && !stream.closed) throw new Error('the handler did not take its stream');
    } catch (thrown) {
      this.reportDefect(handler.method.path, thrown);
      stream.cut(TributaryError.from(thrown));
    }
  }

  private answerOnce(handler: UnaryHandler, stream: Accepted, context: CallContext): void {
    stream.handle({
      onMessage: (request) => {
        const answer = async (): Promise<unknown> => handler.unary(request, context);
        answer().then(
          (response) => {
            stream.send(response);
            stream.end();
          },
          (thrown: unknown) => {
            this.reportDefect(handler.method.path, thrown);
            stream.cut(TributaryError.from(thrown));
          },
        );
      },
      onClose: () => undefined,
    });
  }

  private reportDefect(path: string, thrown: unknown): void {
    if (thrown instanceof TributaryError && thrown.code !== 'INTERNAL') return;
    const stack = thrown instanceof Error ? thrown.stack : String(thrown);
    this.network.logger.error(`the handler of ${path} failed`, { stack });
  }
}
