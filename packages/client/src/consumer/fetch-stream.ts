/**
 * One Fetch stream to one broker: Hello, correlation ids, a deadline for each request. Invariant: each request
 * ends exactly once, by its last answer or by the end of the stream; a stream on which one request got no
 * answer in time is cut, so that a stuck broker is noticed. Called by the fetcher.
 */
import { TributaryError, type Clock, type Timer } from '@tributary/common';
import {
  checkServerHello,
  clientHello,
  methods,
  type Connection,
  type FetchDown,
  type FetchRequestInput,
  type FetchResponse,
  type FetchResult,
  type FetchUpInput,
  type MessageStream,
} from '@tributary/protocol';

/** Requests without an answer on one stream; the broker may allow fewer. */
export const MAX_FETCHES_IN_FLIGHT = 4;

export interface FetchStreamOptions {
  readonly clock: Clock;
  readonly clientId: string;
  readonly brokerId: number;
  /** For the Hello, and for each request beyond its own waiting time. */
  readonly timeoutMs: number;
  /** The stream is over; what was under way has been ended before. Once. */
  readonly onClosed: (error: TributaryError) => void;
  /** A request may be sent (again). */
  readonly onReady: () => void;
}

export interface FetchCall {
  onResult(result: FetchResult): void;
  /** error: the stream broke before the last answer. */
  onEnd(error: TributaryError | undefined): void;
}

interface Pending {
  readonly call: FetchCall;
  readonly timer: Timer;
}

export class FetchStream {
  private readonly stream: MessageStream<FetchUpInput, FetchDown>;
  private readonly pending = new Map<number, Pending>();
  private readonly helloTimer: Timer;
  private maxInFlight = 0;
  private nextId = 1;
  private over = false;

  constructor(
    connection: Connection,
    private readonly options: FetchStreamOptions,
  ) {
    this.stream = connection.open(methods.broker.fetch);
    this.stream.handle({
      onMessage: (message) => this.onMessage(message),
      onEnd: () => this.finish(ended('the broker ended the fetch stream')),
      onDrain: () => this.options.onReady(),
      onClose: (error) => this.finish(error ?? ended('the broker ended the fetch stream')),
    });
    this.helloTimer = this.setDeadline(options.timeoutMs, 'Hello');
    const { clientId, brokerId } = options;
    this.stream.send({ body: 'hello', hello: clientHello({ clientId, brokerId }) });
  }

  get ready(): boolean {
    return !this.over && this.pending.size < this.maxInFlight;
  }

  get closed(): boolean {
    return this.over;
  }

  get inFlight(): number {
    return this.pending.size;
  }

  /** Only while `ready`. */
  send(request: Omit<FetchRequestInput, 'correlationId'>, call: FetchCall): void {
    const correlationId = this.nextId;
    this.nextId = this.nextId >= 0x7fffffff ? 1 : this.nextId + 1;
    const waitMs = (request.maxWaitMs ?? 0) + this.options.timeoutMs;
    this.pending.set(correlationId, { call, timer: this.setDeadline(waitMs, 'a fetch') });
    this.stream.send({ body: 'request', request: { ...request, correlationId } });
  }

  close(): void {
    this.finish(ended('the consumer closed the fetch stream'));
  }

  private onMessage(message: FetchDown): void {
    if (this.over) return;
    if (message.hello) {
      this.helloTimer.cancel();
      try {
        checkServerHello(message.hello);
      } catch (thrown) {
        return this.finish(TributaryError.from(thrown));
      }
      const allowed = message.hello.maxInFlightRequests || MAX_FETCHES_IN_FLIGHT;
      this.maxInFlight = Math.min(MAX_FETCHES_IN_FLIGHT, allowed);
      this.options.onReady();
    } else if (message.response) {
      this.onResponse(message.response);
    }
  }

  private onResponse({ correlationId, results, last }: FetchResponse): void {
    const entry = this.pending.get(correlationId);
    if (!entry) return;
    for (const result of results) entry.call.onResult(result);
    if (!last || this.over) return;
    this.pending.delete(correlationId);
    entry.timer.cancel();
    entry.call.onEnd(undefined);
    this.options.onReady();
  }

  private setDeadline(delayMs: number, what: string): Timer {
    return this.options.clock.setTimer(delayMs, () => {
      const { brokerId } = this.options;
      this.finish(
        new TributaryError('TIMEOUT', `broker ${brokerId} did not answer ${what} in ${delayMs} ms`),
      );
    });
  }

  private finish(error: TributaryError): void {
    if (this.over) return;
    this.over = true;
    this.helloTimer.cancel();
    this.stream.cut();
    const calls = [...this.pending.values()];
    this.pending.clear();
    for (const { call, timer } of calls) {
      timer.cancel();
      call.onEnd(error);
    }
    this.options.onClosed(error);
  }
}

function ended(message: string): TributaryError {
  return new TributaryError('UNAVAILABLE', message);
}
