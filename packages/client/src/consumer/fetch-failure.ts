/**
 * What a refused or lost fetch (or offset lookup) means for the reader. Closed: every code has a reaction.
 * Called by fetcher and offset lookup.
 */
import { type ErrorCode } from '@tributary/common';

export type FetchReaction =
  /** Another leader may be right: report, back off, find it again. */
  | 'locate'
  /** The right broker, not now: back off, ask again. */
  | 'again'
  /** The position does not exist: by policy. */
  | 'out of range'
  /** The topic is not the one that it was: look. */
  | 'look at topic'
  /** The user must know: reading throws it. */
  | 'tell';

const reactions: Partial<Record<ErrorCode, FetchReaction>> = {
  OFFSET_NOT_AVAILABLE: 'again',
  OVERLOADED: 'again',
  OFFSET_OUT_OF_RANGE: 'out of range',
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
