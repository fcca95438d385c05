/**
 * The broker's side of one Fetch stream. Invariant: at most `maxInFlightFetches` requests are unanswered; while
 * the client does not take its answers (the stream is full) nothing more is read for it, so that a slow
 * consumer costs a bounded amount of memory. Called by the fetch handler.
 */
import { TributaryError } from '@tributary/common';
import {
  type FetchDownInput,
  type FetchRequest,
  type FetchUp,
  type MessageStream,
} from '@tributary/protocol';
import type { DataHost } from './data-host';
import { HelloGate } from './hello-gate';
import { PendingFetch } from './fetch-request';

export class FetchStream {
  private ended = false;
  private blocked = false;
  private readonly pending = new Set<PendingFetch>();
  /** Asked for while the stream was full. Counted in `pending`, too. */
  private deferred: PendingFetch[] = [];
  private readonly gate: HelloGate;

  constructor(
    private readonly host: DataHost,
    private readonly stream: MessageStream<FetchDownInput, FetchUp>,
    private readonly listener: string,
  ) {
    this.gate = new HelloGate(host, stream);
    stream.handle({
      onMessage: (message) => this.gate.pass(message, (request) => this.take(request)),
      onDrain: () => this.drained(),
      onEnd: () => {
        this.ended = true;
        if (this.pending.size === 0) stream.end();
      },
      onClose: () => this.closed(),
    });
  }

  private take(request: FetchRequest): void {
    const { correlationId } = request;
    const caller = { listener: this.listener, mayUseNames: false };
    const fetch: PendingFetch = new PendingFetch(this.host, request, caller, (results) => {
      this.pending.delete(fetch);
      const sent = this.stream.send({ response: { correlationId, results, last: true } });
      if (!sent) this.blocked = true;
      if (this.ended && this.pending.size === 0) this.stream.end();
    });
    const { maxInFlightFetches } = this.host.limits;
    if (this.pending.size >= maxInFlightFetches) {
      const message = `${maxInFlightFetches} fetches of this stream are unanswered`;
      return fetch.refuse(new TributaryError('OVERLOADED', message));
    }
    this.pending.add(fetch);
    if (this.blocked) this.deferred.push(fetch);
    else fetch.start();
  }

  private drained(): void {
    this.blocked = false;
    while (!this.blocked && this.deferred.length > 0) this.deferred.shift()?.start();
  }

  private closed(): void {
    this.gate.close();
    for (const fetch of this.pending) fetch.cancel();
    this.pending.clear();
    this.deferred = [];
  }
}
