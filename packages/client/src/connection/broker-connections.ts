/**
 * One connection per broker address, made lazily and kept. Invariant: a broker that moved to another address
 * leaves no connection behind; after `closeAll` nothing is dialled. Called by all parts of the SDK.
 */
import { TributaryError } from '@tributary/common';
import type {
  Address,
  BidiMethod,
  CallOptions,
  Connection,
  MessageStream,
  StreamHandlers,
  Transport,
  UnaryMethod,
} from '@tributary/protocol';
import type { BrokerConnections, BrokerNode } from '../seams';

/** Connections that one client keeps; far above any count of brokers that it meets. */
export const MAX_CONNECTIONS = 1_000;

export class TransportConnections implements BrokerConnections {
  private readonly byAddress = new Map<string, Connection>();
  private readonly addressOf = new Map<number, string>();
  private closed = false;

  constructor(
    private readonly transport: Transport,
    private readonly listener: string | undefined,
  ) {}

  to(broker: BrokerNode): Connection {
    if (this.closed) throw new TributaryError('CLOSED', 'the client is closed');
    const name = `${broker.address.host}:${broker.address.port}`;
    if (broker.brokerId >= 0) this.moveTo(broker.brokerId, name);
    let connection = this.byAddress.get(name);
    if (!connection) {
      this.makeRoom();
      const dialled = this.transport.connect(broker.address, 'client');
      connection = broker.brokerId < 0 ? dialled : new Advertised(dialled, broker, this.listener);
      this.byAddress.set(name, connection);
    }
    return connection;
  }

  closeAll(): void {
    this.closed = true;
    for (const connection of this.byAddress.values()) connection.close();
    this.byAddress.clear();
    this.addressOf.clear();
  }

  private moveTo(brokerId: number, name: string): void {
    const before = this.addressOf.get(brokerId);
    if (before === name) return;
    this.addressOf.set(brokerId, name);
    if (before === undefined || [...this.addressOf.values()].includes(before)) return;
    this.byAddress.get(before)?.close();
    this.byAddress.delete(before);
  }

  private makeRoom(): void {
    if (this.byAddress.size < MAX_CONNECTIONS) return;
    const oldest = this.byAddress.entries().next();
    if (oldest.done) return;
    const [name, connection] = oldest.value;
    connection.close();
    this.byAddress.delete(name);
  }
}

/** Says which broker advertised the address, when it does not resolve. */
class Advertised implements Connection {
  constructor(
    private readonly inner: Connection,
    private readonly broker: BrokerNode,
    private readonly listener: string | undefined,
  ) {}

  get address(): Address {
    return this.inner.address;
  }

  async call<RequestInput, Request, ResponseInput, Response>(
    method: UnaryMethod<RequestInput, Request, ResponseInput, Response>,
    request: RequestInput,
    options: CallOptions,
  ): Promise<Response> {
    try {
      return await this.inner.call(method, request, options);
    } catch (thrown) {
      throw this.explain(TributaryError.from(thrown));
    }
  }

  open<UpInput, Up, DownInput, Down>(
    method: BidiMethod<UpInput, Up, DownInput, Down>,
  ): MessageStream<UpInput, Down> {
    const stream = this.inner.open(method);
    const handle = stream.handle.bind(stream);
    stream.handle = (handlers: StreamHandlers<Down>): void =>
      handle({
        onMessage: (message) => handlers.onMessage(message),
        onEnd: () => handlers.onEnd?.(),
        onDrain: () => handlers.onDrain?.(),
        onClose: (error) => handlers.onClose(error && this.explain(error)),
      });
    return stream;
  }

  close(): void {
    this.inner.close();
  }

  private explain(error: TributaryError): TributaryError {
    if (error.code !== 'UNRESOLVABLE_ADDRESS') return error;
    const { brokerId, address } = this.broker;
    const listener = this.listener === undefined ? '' : ` on listener ${this.listener}`;
    return new TributaryError(
      'UNRESOLVABLE_ADDRESS',
      `broker ${brokerId} advertises ${address.host}:${address.port}${listener}, and ${address.host} cannot be resolved here`,
      {
        hint: 'Correct advertised.listeners on that broker, or choose another listener.',
        cause: error,
        details: { brokerId, host: address.host },
        ...(error.outcome ? { outcome: error.outcome } : {}),
      },
    );
  }
}
