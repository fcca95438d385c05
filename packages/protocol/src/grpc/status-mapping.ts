/**
 * Errors as gRPC status and back. Invariant: a status with the trailer `tributary-error-bin` is the handler's
 * own TributaryError, whole; a status without it was made by gRPC itself and speaks of the connection, so that
 * it becomes UNAVAILABLE, TIMEOUT, UNSUPPORTED_VERSION or INVALID_ARGUMENT. Called by both sides' streams and calls.
 */
import { Metadata, status as grpcStatus, type StatusObject } from '@grpc/grpc-js';
import { errorCodes, TributaryError } from '@tributary/common';
import { fromWireError, toWireError, wireErrorCodec } from '../error-mapping';

const errorTrailer = 'tributary-error-bin';

export function toStatus(thrown: unknown): StatusObject {
  const wire = toWireError(thrown);
  const error = TributaryError.from(thrown);
  const metadata = new Metadata();
  metadata.set(errorTrailer, wireErrorCodec.encode(wire));
  const code = grpcStatus[errorCodes[error.code].grpcStatus as keyof typeof grpcStatus];
  // The text is for clients that do not read the trailer, such as grpcurl.
  return { code, details: `${error.code}: ${wire.message}`, metadata };
}

/** @param what the method and the peer: starts the message of an error that gRPC made. */
export function fromStatus(status: StatusObject, what: string): TributaryError {
  const trailer = status.metadata.get(errorTrailer)[0];
  if (Buffer.isBuffer(trailer)) {
    try {
      return fromWireError(wireErrorCodec.decode(trailer));
    } catch {
      // Not readable: the status still tells something.
    }
  }
  return withoutTrailer(status, what);
}

/** gRPC's own words, without the parts that it left empty. */
function plain(details: string): string {
  return details
    .replace(/\. Resolution note: $/, '')
    .replace('Last error: Error: ', 'Last error: ');
}

function withoutTrailer({ code, details }: StatusObject, what: string): TributaryError {
  const message = `${what}: ${plain(details)}`;
  if (code === grpcStatus.DEADLINE_EXCEEDED) return new TributaryError('TIMEOUT', message);
  if (code === grpcStatus.UNIMPLEMENTED) {
    return new TributaryError('UNSUPPORTED_VERSION', `${what}: the peer does not know this method`);
  }
  if (code === grpcStatus.INVALID_ARGUMENT) return new TributaryError('INVALID_ARGUMENT', message);
  if (code === grpcStatus.RESOURCE_EXHAUSTED) {
    // Sending the same again cannot help, unlike with a peer that is busy.
    const tooLarge = details.includes('larger than');
    return new TributaryError(tooLarge ? 'INVALID_ARGUMENT' : 'OVERLOADED', message);
  }
  if (details.includes('Name resolution failed')) {
    return new TributaryError('UNRESOLVABLE_ADDRESS', message);
  }
  const refused = code === grpcStatus.UNAVAILABLE && details.includes('ECONNREFUSED');
  return new TributaryError('UNAVAILABLE', message, { details: { refused } });
}
