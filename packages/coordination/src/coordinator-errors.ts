/**
 * The expected failures of the Coordinator port, made in one place so that both implementations say the same.
 */
import { hasCode, TributaryError, type ErrorCode, type Outcome } from '@tributary/common';

const meanings = {
  NO_NODE: 'there is no node',
  NODE_EXISTS: 'there is already a node',
  BAD_VERSION: 'somebody else changed the node',
  NOT_EMPTY: 'there are nodes below',
} as const satisfies Partial<Record<ErrorCode, string>>;

export type NodeErrorCode = keyof typeof meanings;

/**
 * @param index of the culprit, in a multi.
 * @param outcome 'maybe written': an attempt before this refusal may have been applied.
 */
export function nodeError(
  code: NodeErrorCode,
  path: string,
  index?: number,
  outcome: Outcome = 'not written',
): TributaryError {
  const details: Record<string, string | number> = index === undefined ? { path } : { path, index };
  return new TributaryError(code, `${meanings[code]} ${path}`, { details, outcome });
}

/** One attempt failed with the connection. @param sent the request may have reached the server. */
export function connectionLost(sent: boolean): TributaryError {
  return new TributaryError('COORDINATOR_UNAVAILABLE', 'the connection to the coordinator broke', {
    outcome: sent ? 'maybe written' : 'not written',
  });
}

export function sessionExpired(sent: boolean): TributaryError {
  return new TributaryError('SESSION_EXPIRED', 'the session with the coordinator expired', {
    outcome: sent ? 'maybe written' : 'not written',
  });
}

export function coordinatorClosed(): TributaryError {
  return new TributaryError('CLOSED', 'this client of the coordinator is closed');
}

export function illegal(message: string): TributaryError {
  return new TributaryError('INVALID_ARGUMENT', message, { outcome: 'not written' });
}

/** A write was sent and its reply never came: read back. (Not: there was no connection until the deadline.) */
export function replyWasLost(error: unknown): error is TributaryError {
  return hasCode(error, 'COORDINATOR_UNAVAILABLE') && error.outcome === 'maybe written';
}
