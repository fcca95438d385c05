/**
 * How a client's stream begins: one hello within its time, answered, then requests only. Invariant: no request
 * passes before the hello, and no second hello passes at all. Called by the Produce and the Fetch stream.
 */
import { TributaryError, type Timer } from '@tributary/common';
import { answerHello, type ClientHello, type ServerHelloInput } from '@tributary/protocol';
import type { DataHost } from './data-host';

interface ClientMessage<Request> {
  readonly hello?: ClientHello | null;
  readonly request?: Request | null;
}

/** What a gate does to its stream. */
interface Greeter {
  send(message: { readonly hello: ServerHelloInput }): boolean;
  cut(error: TributaryError): void;
}

export class HelloGate {
  private open = false;
  private readonly timer: Timer;

  constructor(
    private readonly host: DataHost,
    private readonly stream: Greeter,
  ) {
    this.timer = host.clock.setTimer(host.limits.clientHelloTimeoutMs, () =>
      stream.cut(new TributaryError('TIMEOUT', 'the client sent no hello')),
    );
  }

  /** Hands the request on to `take`, or answers the hello; what is neither cuts the stream. */
  pass<Request>(message: ClientMessage<Request>, take: (request: Request) => void): void {
    try {
      if (message.hello && !this.open) return this.greet(message.hello);
      if (!this.open || !message.request) {
        throw new TributaryError('INVALID_ARGUMENT', 'one hello comes first, then requests');
      }
      take(message.request);
    } catch (error) {
      this.stream.cut(TributaryError.from(error));
    }
  }

  /** The stream is over. */
  close(): void {
    this.timer.cancel();
  }

  private greet(client: ClientHello): void {
    const hello = answerHello(client, this.host.acceptor());
    this.open = true;
    this.timer.cancel();
    this.stream.send({ hello });
  }
}
