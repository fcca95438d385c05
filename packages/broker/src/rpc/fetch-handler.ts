/** Broker/Fetch and its unary twin. Called by `dataHandlers`. */
import { TributaryError } from '@tributary/common';
import {
  bidiHandler,
  methods,
  unaryHandler,
  type CallContext,
  type FetchRequest,
  type FetchResponseInput,
  type Handler,
} from '@tributary/protocol';
import type { DataHost } from './data-host';
import { PendingFetch } from './fetch-request';
import { FetchStream } from './fetch-stream';

export function fetchHandlers(host: DataHost): Handler[] {
  return [
    bidiHandler(methods.broker.fetch, (stream, { listener }) => {
      new FetchStream(host, stream, listener);
    }),
    unaryHandler(methods.broker.fetchOnce, (request, context) => fetchOnce(host, request, context)),
  ];
}

function fetchOnce(
  host: DataHost,
  request: FetchRequest,
  { listener, signal }: CallContext,
): Promise<FetchResponseInput> {
  return new Promise((resolve, reject) => {
    if (request.partitions.length === 0) {
      return reject(new TributaryError('INVALID_ARGUMENT', 'the request names no partition'));
    }
    const onAbort = (): void => {
      fetch.cancel();
      reject(new TributaryError('CANCELLED', 'the caller went away'));
    };
    const caller = { listener, mayUseNames: true };
    const fetch = new PendingFetch(host, request, caller, (results) => {
      signal.removeEventListener('abort', onAbort);
      resolve({ correlationId: request.correlationId, results, last: true });
    });
    signal.addEventListener('abort', onAbort, { once: true });
    fetch.start();
  });
}
