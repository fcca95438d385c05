/**
 * What a refused or lost fetch (or offset lookup) means for the reader. Closed: every code has a reaction.
 * Called by fetcher and offset lookup.
 */
import { TributaryError, type ErrorCode } from '@tributary/common';
import { fromWireError, type FetchResult } from '@tributary/protocol';

export type FetchReaction =
  /** Another leader may be right: report, back off, find it again. */
  | 'locate'
  /** The right broker, not now: back off, ask again. */
  | 'again'
  /** The position does not exist: by policy. */
  | 'out of range'
  /** Records that were read are gone: by policy. */
  | 'truncated'
  /** The topic is not the one that it was: look. */
  | 'look at topic'
  /** The user must know: reading throws it. */
  | 'tell';

const reactions: Partial<Record<ErrorCode, FetchReaction>> = {
  OFFSET_NOT_AVAILABLE: 'again',
  OVERLOADED: 'again',
  OFFSET_OUT_OF_RANGE: 'out of range',
  LOG_TRUNCATED: 'truncated',
  TOPIC_ID_MISMATCH: 'look at topic',
  UNKNOWN_TOPIC: 'look at topic',
  UNKNOWN_PARTITION: 'look at topic',
  UNSUPPORTED_VERSION: 'tell',
  CLUSTER_MISMATCH: 'tell',
  UNRESOLVABLE_ADDRESS: 'tell',
  INVALID_ARGUMENT: 'tell',
  INVALID_CONFIG: 'tell',
  INVALID_BATCH: 'tell',
  CORRUPT_BATCH: 'tell',
};

/** What is not named above is taken as trouble of that broker: look for another leader. */
export function reactionTo(code: ErrorCode): FetchReaction {
  return reactions[code] ?? 'locate';
}

/** What refused a partition of a fetch; `details.divergingOffset`: see LOG_TRUNCATED in the proto. */
export function errorOf({ error, divergingOffset }: FetchResult): TributaryError {
  const told = error ? fromWireError(error) : new TributaryError('INTERNAL', 'no error');
  if (divergingOffset === undefined) return told;
  const { code, message, hint } = told;
  return new TributaryError(code, message, { hint, details: { divergingOffset } });
}

export function createdAgain(topic: string): TributaryError {
  return new TributaryError('TOPIC_ID_MISMATCH', `topic ${topic} was deleted and created again`);
}
