/** Broker/Produce and its unary twin. Called by `dataHandlers`. */
import { TributaryError } from '@tributary/common';
import {
  bidiHandler,
  methods,
  unaryHandler,
  type Handler,
  type ProduceRequest,
  type ProduceResponseInput,
  type ProduceResultInput,
} from '@tributary/protocol';
import type { DataHost } from './data-host';
import { overloaded } from './produce-append';
import { InFlightBytes } from './produce-in-flight';
import { produce, requestBytes } from './produce-request';
import { ProduceStream } from './produce-stream';

export function produceHandlers(host: DataHost): Handler[] {
  const inFlight = new InFlightBytes(() => host.limits.maxInFlightBytes);
  return [
    bidiHandler(methods.broker.produce, (stream, { listener }) => {
      new ProduceStream(host, inFlight, stream, listener);
    }),
    unaryHandler(methods.broker.produceOnce, (request, { listener }) =>
      produceOnce(host, inFlight, request, listener),
    ),
  ];
}

/** All results in one answer; with acks 0 as soon as everything is appended, and without results. */
async function produceOnce(
  host: DataHost,
  inFlight: InFlightBytes,
  request: ProduceRequest,
  listener: string,
): Promise<ProduceResponseInput> {
  if (request.partitions.length === 0) {
    throw new TributaryError('INVALID_ARGUMENT', 'the request names no partition');
  }
  const bytes = requestBytes(request);
  if (!inFlight.hasRoomFor(bytes)) {
    throw overloaded(`${inFlight.maxBytes} bytes are unanswered on it`);
  }
  inFlight.take(bytes);
  const results: ProduceResultInput[] = [];
  await new Promise<void>((resolve) => {
    produce(host, request, { listener, mayUseNames: true }, (some, last) => {
      results.push(...some);
      if (last) resolve();
    });
  });
  inFlight.release(bytes);
  const { correlationId, acks } = request;
  return { correlationId, results: acks === 0 ? [] : results, last: true };
}
