/**
 * One simulated machine's Transport: its listeners and connections. Invariant: handlers run in events of their own,
 * never inside `send` or `open`; calls to nobody are refused after a round trip. Called by SimulatedNetwork.
 */
import { assert, Deadline, TributaryError } from '@tributary/common';
import {
  ClosedStream,
  type Address,
  type BidiMethod,
  type CallOptions,
  type Connection,
  type Listener,
  type ListenOptions,
  type MessageStream,
  type StreamSettings,
  type Transport,
  type UnaryMethod,
} from '@tributary/protocol';
import type { SimulatedMachine } from './simulated-machine';
import { SimulatedListener } from './simulated-listener';
import { SimulatedStream } from './simulated-stream';
import type { SimulatedWorld } from './simulated-world';

type OpenStream = Pick<MessageStream<unknown, unknown>, 'closed' | 'cut'>;
type AnyMethod<Out, In> = Pick<BidiMethod<Out, unknown, unknown, In>, 'path' | 'up' | 'down'>;

export class SimulatedTransport implements Transport {
  private readonly connections = new Set<SimulatedConnection>();
  private readonly listeners = new Set<SimulatedListener>();

  constructor(
    private readonly network: SimulatedWorld,
    private readonly machine: SimulatedMachine,
  ) {}

  async listen(options: ListenOptions): Promise<Listener> {
    const listener = new SimulatedListener(this.network, this.machine, options);
    if (!this.network.register(listener)) {
      const { host, port } = options;
      throw new TributaryError('ADDRESS_IN_USE', `port ${port} of ${host} is in use`, {
        details: { host, port },
      });
    }
    this.listeners.add(listener);
    return listener;
  }

  connect(address: Address): Connection {
    const connection = new SimulatedConnection(this.network, this.machine, address);
    this.connections.add(connection);
    return connection;
  }

  async close(): Promise<void> {
    for (const connection of this.connections) connection.close();
    await Promise.all([...this.listeners].map((listener) => listener.close(0)));
    this.machine.close();
  }
}

class SimulatedConnection implements Connection {
  private closed = false;
  private readonly streams = new Set<OpenStream>();

  constructor(
    private readonly network: SimulatedWorld,
    private readonly machine: SimulatedMachine,
    readonly address: Address,
  ) {}

  async call<RequestInput, Request, ResponseInput, Response>(
    method: UnaryMethod<RequestInput, Request, ResponseInput, Response>,
    request: RequestInput,
    options: CallOptions,
  ): Promise<Response> {
    assert(Number.isFinite(options.timeoutMs), `${method.path}: every call has a deadline`);
    const deadline = Deadline.after(this.machine.clock, options.timeoutMs, options.signal);
    deadline.check(method.path);
    const stream = this.dial(method);
    const answer = new Promise<Response>((resolve, reject) => {
      stream.handle({
        onMessage: resolve,
        onClose: (error) =>
          reject(error ?? new TributaryError('INTERNAL', `${method.path}: no answer`)),
      });
    });
    stream.send(request);
    stream.end();
    try {
      return await deadline.race(answer, `${method.path} to ${this.peerName}`);
    } catch (thrown) {
      stream.cut(TributaryError.from(thrown));
      throw thrown;
    }
  }

  open<UpInput, Up, DownInput, Down>(
    method: BidiMethod<UpInput, Up, DownInput, Down>,
  ): MessageStream<UpInput, Down> {
    const stream = this.dial(method);
    if (stream instanceof SimulatedStream) {
      stream.startDialTimer(this.network.limits.dialTimeoutMs);
    }
    return stream;
  }

  close(): void {
    if (this.closed) return;
    this.closed = true;
    for (const stream of [...this.streams]) stream.cut(this.closedError());
    this.streams.clear();
  }

  private dial<Out, In>(method: AnyMethod<Out, In>): MessageStream<Out, In> {
    const settings = this.settings(method.path);
    if (this.closed) return new ClosedStream(method, settings, this.closedError());
    const peer = this.network.machineNameAt(this.address, this.machine.name);
    const stream = new SimulatedStream(method.up, method.down, settings, {
      role: 'dialer',
      machine: this.machine,
      pipe: this.network.pipe(this.machine.name, peer),
    });
    this.remember(stream);
    const back = this.network.pipe(peer, this.machine.name);
    // Code of a crashed machine may still be on its way through here: nobody hears it.
    if (!this.machine.alive) return stream;
    stream.side.pipe.post(`dial ${method.path}`, () => {
      const listener = this.network.listenerAt(this.address);
      if (listener) listener.accept(method.path, stream, back);
      else back.post('refusal', () => stream.broken(this.refusal()));
    });
    return stream;
  }

  private remember(stream: OpenStream): void {
    for (const earlier of this.streams) {
      if (earlier.closed) this.streams.delete(earlier);
    }
    this.streams.add(stream);
  }

  private settings(path: string): StreamSettings {
    const { limits, logger } = this.network;
    return { ...limits, logger, name: `${path} to ${this.peerName}` };
  }

  private get peerName(): string {
    return `${this.address.host}:${this.address.port}`;
  }

  private refusal(): TributaryError {
    return new TributaryError('UNAVAILABLE', `nobody listens on ${this.peerName}`, {
      details: { refused: true },
    });
  }

  private closedError(): TributaryError {
    return new TributaryError('CLOSED', `the connection to ${this.peerName} was closed here`);
  }
}
