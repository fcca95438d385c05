/**
 * The one place that turns a TributaryError into the wire's Error message and back. Invariant: code, message,
 * hint, outcome and leader hint survive the round trip; a code that this version does not know becomes
 * INTERNAL, never a crash. Called by handlers and clients for errors inside answers, and by the transports
 * for errors that end a call (grpc/status-mapping.ts adds the gRPC status).
 */
import {
  errorCodes,
  isErrorCode,
  TributaryError,
  type LeaderHint as LeaderHintOfError,
  type Outcome as OutcomeOfError,
} from '@tributary/common';
import { codecOf } from './codec';
import type { LeaderHint, LeaderHintInput, WireError, WireErrorInput } from './generated';

/** Longer messages are cut: they travel in HTTP/2 headers, which peers limit to 8 to 64 KiB. */
export const maxErrorTextBytes = 2_048;

const outcomeToWire = {
  'not written': 'NOT_WRITTEN',
  'maybe written': 'MAYBE_WRITTEN',
  written: 'WRITTEN',
} as const satisfies Record<OutcomeOfError, string>;

const outcomeFromWire = new Map<unknown, OutcomeOfError>([
  ['NOT_WRITTEN', 'not written'],
  ['MAYBE_WRITTEN', 'maybe written'],
  ['WRITTEN', 'written'],
]);

/** For whoever carries the Error as bytes. */
export const wireErrorCodec = codecOf<WireErrorInput, WireError>('Error');

/** Anything thrown, as the wire's Error; what is not a TributaryError is INTERNAL. */
export function toWireError(thrown: unknown): WireErrorInput {
  const error = TributaryError.from(thrown);
  return {
    code: error.code,
    message: clipped(error.message),
    hint: clipped(error.hint),
    outcome: error.outcome ? outcomeToWire[error.outcome] : 'OUTCOME_UNSPECIFIED',
    leader: error.leader ? leaderToWire(error.leader) : null,
  };
}

/** A newer peer's unknown code arrives as a number, and an Error without a code as NONE: both are INTERNAL. */
export function fromWireError(wire: WireError): TributaryError {
  const received: string | number = wire.code;
  const known = typeof received === 'string' && isErrorCode(received);
  const code = known ? received : 'INTERNAL';
  const message = wire.message || 'the peer gave no message';
  return new TributaryError(code, known ? message : `${message} (error code ${received})`, {
    hint: wire.hint || errorCodes[code].hint,
    outcome: outcomeFromWire.get(wire.outcome),
    leader: wire.leader ? leaderFromWire(wire.leader) : undefined,
  });
}

function leaderToWire(leader: LeaderHintOfError): LeaderHintInput {
  const { leaderId, leaderEpoch, host = '', port = 0 } = leader;
  return { leaderId, leaderEpoch, host, port };
}

function leaderFromWire(leader: LeaderHint): LeaderHintOfError {
  const { leaderId, leaderEpoch, host, port } = leader;
  return { leaderId, leaderEpoch, ...(host ? { host, port } : {}) };
}

/**
 * One line of well-formed UTF-8 of bounded length, whatever names of a client's are quoted in it. gRPC refuses to
 * send a lone surrogate.
 */
function clipped(text: string): string {
  const bytes = Buffer.from(text.replace(/\p{Cc}+/gu, ' '));
  if (bytes.length <= maxErrorTextBytes) return bytes.toString();
  // The cut may split a character; its remains decode to one replacement character.
  return `${bytes.toString('utf8', 0, maxErrorTextBytes)}...`;
}
