/**
 * Produce and Fetch streams as a client in another language would drive them: messages of proto/ and nothing between.
 * Also streams that do not get far.
 */
import { TributaryError } from '@tributary/common';
import {
  clientHello,
  methods,
  type BidiMethod,
  type Codec,
  type Connection,
  type FetchRequestInput,
  type FetchResult,
  type MessageStream,
  type ProduceRequestInput,
  type ProduceResult,
} from '@tributary/protocol';

interface Answer<Result> {
  readonly correlationId: number;
  readonly results: readonly Result[];
  readonly last: boolean;
}

interface Down<Result> {
  readonly response?: Answer<Result> | null;
}

interface Waiting<Result> {
  readonly results: Result[];
  readonly resolve: (results: Result[]) => void;
  readonly reject: (error: Error) => void;
}

export class RequestStream<Request, Result> {
  private readonly waiting = new Map<number, Waiting<Result>>();
  private requests = 0;

  constructor(private readonly stream: MessageStream<object, Down<Result>>) {
    stream.handle({
      onMessage: ({ response }) => {
        if (response) this.answered(response);
      },
      onClose: (error) => {
        const end = error ?? new TributaryError('CLOSED', 'the stream was ended');
        for (const { reject } of this.waiting.values()) reject(end);
      },
    });
    stream.send({ hello: clientHello({ clientId: 'bad-input' }) });
  }

  get open(): boolean {
    return !this.stream.closed;
  }

  ask(request: Request): Promise<Result[]> {
    const correlationId = (this.requests += 1);
    return new Promise((resolve, reject) => {
      this.waiting.set(correlationId, { results: [], resolve, reject });
      this.stream.send({ request: { ...request, correlationId } });
    });
  }

  close(): void {
    this.stream.cut();
  }

  private answered({ correlationId, results, last }: Answer<Result>): void {
    const waiting = this.waiting.get(correlationId);
    waiting?.results.push(...results);
    if (!last) return;
    this.waiting.delete(correlationId);
    waiting?.resolve(waiting.results);
  }
}

export type ProduceSession = RequestStream<ProduceRequestInput, ProduceResult>;
export type FetchSession = RequestStream<FetchRequestInput, FetchResult>;

export function openProduce(connection: Connection): ProduceSession {
  return new RequestStream(connection.open(methods.broker.produce));
}

export function openFetch(connection: Connection): FetchSession {
  return new RequestStream(connection.open(methods.broker.fetch));
}

/** How a stream ends on which these messages are sent; what the broker said before its end comes along. */
export function endOfStream<UpInput, Down>(
  connection: Connection,
  method: BidiMethod<UpInput, unknown, unknown, Down>,
  messages: readonly UpInput[],
): Promise<{ readonly error: TributaryError | undefined; readonly received: readonly Down[] }> {
  const stream = connection.open(method);
  const received: Down[] = [];
  return new Promise((resolve) => {
    stream.handle({
      onMessage: (message) => received.push(message),
      onClose: (error) => resolve({ error, received }),
    });
    for (const message of messages) stream.send(message);
  });
}

/** The same method with bytes instead of messages on the way up. */
export function sentAsBytes<Method extends { readonly up: unknown }>(
  method: Method,
): Omit<Method, 'up'> & { readonly up: Codec<Buffer, Buffer> } {
  const bytes: Codec<Buffer, Buffer> = {
    messageName: 'bytes',
    encode: (message) => message,
    decode: (message) => message,
  };
  return { ...method, up: bytes };
}
