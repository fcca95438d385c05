/**
 * One Produce stream to one broker: hello, credit, correlation, deadlines. Invariant: every item handed in gets
 * exactly one answer: `unsent` while nothing of it went out, `lost` once it went out and no answer can come any
 * more. Items of one partition go out in the order they came. A broker that is silent beyond the deadline of a
 * request is cut off, and its stream with it. Called by the producer, which makes a new link after a failure.
 */
import { TributaryError, type Clock, type Timer } from '@tributary/common';
import {
  checkServerHello,
  clientHello,
  fromWireError,
  methods,
  type Connection,
  type MessageStream,
  type ProduceDown,
  type ProduceRequestInput,
  type ProduceResponse,
  type ProduceUpInput,
  type ServerHello,
} from '@tributary/protocol';
import { takeRequest, wireRequest, type ProduceItem } from './produce-request';

/** A broker answers within the request's time, or says that it could not: this much later it counts as stuck. */
export const ANSWER_GRACE_MS = 1_000;
/** A stream that carries no hello by then is given up. */
export const HELLO_TIMEOUT_MS = 5_000;

export interface LinkSettings {
  readonly clientId: string;
  readonly brokerId: number;
  readonly acks: -1 | 0 | 1;
  readonly requestTimeoutMs: number;
  readonly maxRequestBytes: number;
}

interface Unanswered {
  readonly items: Map<string, ProduceItem>;
  readonly bytes: number;
  readonly deadline: number;
}

export class ProduceLink {
  private readonly stream: MessageStream<ProduceUpInput, ProduceDown>;
  private queue: ProduceItem[] = [];
  /** By correlation id, oldest first. */
  private readonly unanswered = new Map<number, Unanswered>();
  private hello: ServerHello | undefined;
  private credit = 0;
  private unansweredBytes = 0;
  private writable = true;
  private flushAsked = false;
  private nextCorrelationId = 1;
  private timer: Timer | undefined;
  private failure: TributaryError | undefined;
  private readonly overCallbacks: (() => void)[] = [];

  constructor(
    private readonly clock: Clock,
    connection: Connection,
    private readonly settings: LinkSettings,
    private readonly onClosed: () => void,
  ) {
    this.stream = connection.open(methods.broker.produce);
    this.stream.handle({
      onMessage: (message) => this.receive(message),
      onEnd: () => this.fail(streamEnded(settings.brokerId)),
      onDrain: () => {
        this.writable = true;
        this.flush();
      },
      onClose: (error) => {
        this.fail(error ?? streamEnded(settings.brokerId));
        for (const resolve of this.overCallbacks.splice(0)) resolve();
      },
    });
    const { clientId, brokerId } = settings;
    this.stream.send({ body: 'hello', hello: clientHello({ clientId, brokerId }) });
    const helloMs = Math.min(HELLO_TIMEOUT_MS, settings.requestTimeoutMs);
    this.timer = clock.setTimer(helloMs, () => this.fail(this.silent('hello', helloMs)));
  }

  get closed(): boolean {
    return this.failure !== undefined;
  }

  submit(item: ProduceItem): void {
    if (this.failure) return item.settle({ type: 'unsent', error: this.failure });
    this.queue.push(item);
    if (this.flushAsked || !this.hello) return;
    // What other partitions hand in during this turn shares the request.
    this.flushAsked = true;
    queueMicrotask(() => {
      this.flushAsked = false;
      this.flush();
    });
  }

  /** What is unanswered is lost; with nothing of it the stream ends orderly. Resolves when it is over. */
  close(): Promise<void> {
    const over = new Promise<void>((resolve) => this.overCallbacks.push(resolve));
    const error = new TributaryError('CLOSED', 'the producer closed the stream');
    const idle = this.queue.length === 0 && this.unanswered.size === 0;
    if (!idle || !this.hello) this.fail(error);
    else if (!this.failure) {
      this.failure = error;
      this.timer?.cancel();
      this.stream.end();
      this.onClosed();
    }
    return this.stream.closed ? Promise.resolve() : over;
  }

  private receive(message: ProduceDown): void {
    if (this.failure) return;
    if (message.body === 'hello' && message.hello) this.welcome(message.hello);
    else if (message.body === 'response' && message.response) this.answer(message.response);
    else if (message.body === 'credit' && message.credit) this.refill(message.credit.bytes);
  }

  private welcome(hello: ServerHello): void {
    try {
      this.hello = checkServerHello(hello);
    } catch (thrown) {
      return this.fail(TributaryError.from(thrown));
    }
    this.timer?.cancel();
    this.timer = undefined;
    this.credit = hello.creditBytes;
    this.flush();
  }

  private refill(bytes: number): void {
    const full = this.hello?.creditBytes ?? 0;
    this.credit = Math.min(full, this.credit + bytes);
    this.flush();
  }

  private flush(): void {
    while (this.hello && !this.failure && this.queue.length > 0) {
      const { creditBytes, maxRequestBytes } = this.hello;
      const credit = Math.min(this.credit, creditBytes - this.unansweredBytes);
      if (!this.writable || credit <= 0) return;
      const limit = maxRequestBytes > 0 ? maxRequestBytes : Infinity;
      this.sendRequest(takeRequest(this.queue, Math.min(limit, this.settings.maxRequestBytes)));
    }
  }

  private sendRequest(items: readonly ProduceItem[]): void {
    const { acks, requestTimeoutMs } = this.settings;
    const correlationId = this.nextCorrelationId;
    this.nextCorrelationId = (correlationId % 0x7fff_ffff) + 1;
    const bytes = items.reduce((sum, item) => sum + item.batch.length, 0);
    this.credit -= bytes;
    const request = wireRequest(items, { correlationId, timeoutMs: requestTimeoutMs, acks });
    if (acks === 0) return this.sendUnanswered(items, request);
    const deadline = this.clock.now() + requestTimeoutMs + ANSWER_GRACE_MS;
    const byPartition = new Map(items.map((item) => [item.key, item]));
    this.unanswered.set(correlationId, { items: byPartition, bytes, deadline });
    this.unansweredBytes += bytes;
    this.writable = this.stream.send({ body: 'request', request });
    this.watch();
  }

  /** acks none: sent counts as written. What the stream dropped, because it is over, was not sent. */
  private sendUnanswered(items: readonly ProduceItem[], request: ProduceRequestInput): void {
    this.writable = this.stream.send({ body: 'request', request });
    const error = this.stream.closed ? streamEnded(this.settings.brokerId) : undefined;
    for (const item of items) {
      item.settle(error ? { type: 'unsent', error } : { type: 'written', baseOffset: -1 });
    }
  }

  private answer(response: ProduceResponse): void {
    const request = this.unanswered.get(response.correlationId);
    if (!request) return;
    for (const result of response.results) {
      const key = `${result.topicId}/${result.partition}`;
      const item = request.items.get(key);
      if (!item) continue;
      request.items.delete(key);
      const { error, baseOffset } = result;
      if (error && error.code !== 'NONE') {
        item.settle({ type: 'refused', error: fromWireError(error) });
      } else item.settle({ type: 'written', baseOffset });
    }
    if (!response.last && request.items.size > 0) return;
    this.unanswered.delete(response.correlationId);
    this.unansweredBytes -= request.bytes;
    for (const item of request.items.values()) item.settle({ type: 'lost', error: noResult() });
    // Nothing is unanswered: whatever credit is still on its way, or was never given back, all of it is ours.
    if (this.unanswered.size === 0 && this.hello) this.credit = this.hello.creditBytes;
    this.flush();
  }

  /** One timer, for the oldest request. */
  private watch(): void {
    const oldest = this.unanswered.values().next();
    if (this.timer || oldest.done) return;
    const delayMs = Math.max(0, oldest.value.deadline - this.clock.now());
    this.timer = this.clock.setTimer(delayMs, () => {
      this.timer = undefined;
      const first = this.unanswered.values().next();
      if (first.done) return;
      if (first.value.deadline > this.clock.now()) return this.watch();
      this.fail(this.silent('answer', this.settings.requestTimeoutMs + ANSWER_GRACE_MS));
    });
  }

  private silent(what: string, ms: number): TributaryError {
    const { brokerId } = this.settings;
    return new TributaryError('TIMEOUT', `broker ${brokerId} sent no ${what} within ${ms} ms`);
  }

  private fail(error: TributaryError): void {
    if (this.failure) return;
    this.failure = error;
    this.timer?.cancel();
    this.stream.cut(error);
    const unsent = this.queue;
    const lost = [...this.unanswered.values()].flatMap(({ items }) => [...items.values()]);
    this.queue = [];
    this.unanswered.clear();
    this.onClosed();
    for (const item of lost) item.settle({ type: 'lost', error });
    for (const item of unsent) item.settle({ type: 'unsent', error });
  }
}

function streamEnded(brokerId: number): TributaryError {
  return new TributaryError('UNAVAILABLE', `broker ${brokerId} ended the stream`);
}

function noResult(): TributaryError {
  return new TributaryError('TIMEOUT', 'the broker finished a request without a result for this');
}
