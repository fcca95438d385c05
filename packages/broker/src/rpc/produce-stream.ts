/**
 * The broker's side of one Produce stream: hello, then requests in order, answers as they come. Invariant: the batches
 * that are unanswered stay within the stream's credit (one request may overdraw it) and within the
 * broker's total; what would exceed either is refused unread, 'not written'. Credit goes back in lumps, so
 * that small requests do not cost a message each. Called by the produce handler.
 */
import type { TributaryError } from '@tributary/common';
import {
  type MessageStream,
  type ProduceDownInput,
  type ProduceRequest,
  type ProduceUp,
} from '@tributary/protocol';
import type { DataHost } from './data-host';
import { HelloGate } from './hello-gate';
import type { InFlightBytes } from './produce-in-flight';
import { overloaded } from './produce-append';
import { produce, refuseAll, requestBytes, type Respond } from './produce-request';

export class ProduceStream {
  private ended = false;
  private openRequests = 0;
  private outstandingBytes = 0;
  private owedCredit = 0;
  private readonly gate: HelloGate;

  constructor(
    private readonly host: DataHost,
    private readonly inFlight: InFlightBytes,
    private readonly stream: MessageStream<ProduceDownInput, ProduceUp>,
    private readonly listener: string,
  ) {
    this.gate = new HelloGate(host, stream);
    stream.handle({
      onMessage: (message) => this.gate.pass(message, (request) => this.take(request)),
      onEnd: () => {
        this.ended = true;
        if (this.openRequests === 0) stream.end();
      },
      onClose: () => this.gate.close(),
    });
  }

  private take(request: ProduceRequest): void {
    const bytes = requestBytes(request);
    const refusal = this.refusal(bytes);
    if (refusal) {
      // It costs the client its credit like any other, so it gives it back like any other.
      const respond = this.responder(request, () => this.giveBack(bytes));
      return refuseAll(request, refusal, respond);
    }
    this.inFlight.take(bytes);
    this.outstandingBytes += bytes;
    this.openRequests += 1;
    const respond = this.responder(request, () => this.finished(bytes));
    produce(this.host, request, { listener: this.listener, mayUseNames: false }, respond);
  }

  private refusal(bytes: number): TributaryError | undefined {
    const { produceCreditBytes } = this.host.limits;
    if (this.outstandingBytes >= produceCreditBytes) {
      return overloaded(`${produceCreditBytes} bytes of credit of this stream are used up`);
    }
    if (!this.inFlight.hasRoomFor(bytes)) {
      return overloaded(`${this.inFlight.maxBytes} bytes are unanswered on it`);
    }
    return undefined;
  }

  private responder(request: ProduceRequest, finished: () => void): Respond {
    const { correlationId, acks } = request;
    return (results, last) => {
      // Nobody waits for an answer to acks 0.
      if (acks !== 0) this.stream.send({ response: { correlationId, results, last } });
      if (last) finished();
    };
  }

  private finished(bytes: number): void {
    this.inFlight.release(bytes);
    this.outstandingBytes -= bytes;
    this.openRequests -= 1;
    this.giveBack(bytes);
    if (this.ended && this.openRequests === 0) this.stream.end();
  }

  private giveBack(bytes: number): void {
    this.owedCredit += bytes;
    if (this.owedCredit < this.host.limits.produceCreditBytes / 4) return;
    this.stream.send({ credit: { bytes: this.owedCredit } });
    this.owedCredit = 0;
  }
}
