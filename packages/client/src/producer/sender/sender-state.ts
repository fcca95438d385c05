/**
 * The words of the sender: one state per partition of one topic id, what may happen to it, and what it wants
 * done. `sender-machine.ts` holds the rules, `partition-sender.ts` does what they ask.
 *
 *                 +--------------- a batch failed and may be tried again --------------+
 *                 v                                                                    |
 *   homing (what is in flight comes home) -> pausing (backoff) -> asking (leader, producer identity)
 *                                                                        |             |
 *   ended (topic replaced, producer closed)                              +-> sending --+
 *
 * Beside that, a producer identity whose sequence has a hole is `spent`: the batches that may lie in the log
 * already are tried to their end under their old numbers; then a new epoch is asked for, and the rest is
 * numbered from 0.
 */
import type { TributaryError } from '@tributary/common';

/** What the broker keeps of each producer: a duplicate among the last five batches is recognised. */
export const MAX_IN_FLIGHT = 5;
/** Sequences go from 0 to 2^31 - 1 and start again. */
export const SEQUENCE_MODULUS = 2 ** 31;
/** How often one batch may be numbered anew before it fails. */
export const MAX_RENEWALS = 3;
/** A stream that ends with a final error is tried this often: brokers restart, name services blink. */
export const MAX_STREAM_ATTEMPTS = 5;

export interface SenderSettings {
  readonly topic: string;
  readonly partition: number;
  readonly idempotent: boolean;
  /** 1 to MAX_IN_FLIGHT when idempotent. */
  readonly maxInFlight: number;
  readonly deliveryTimeoutMs: number;
}

export interface ProducerIdentity {
  readonly producerId: number;
  readonly producerEpoch: number;
}

export interface Stamp extends ProducerIdentity {
  readonly baseSequence: number;
}

export interface NewBatch {
  readonly id: number;
  readonly records: number;
  /** On the monotonic clock. */
  readonly deadline: number;
}

export interface BatchState extends NewBatch {
  readonly place: 'waiting' | 'in flight' | 'splitting';
  /** Since it was first sent under the present identity; kept until the batch is resolved. */
  readonly stamp: Stamp | undefined;
  /** An attempt ended without word that it was not written. Never taken back. */
  readonly maybeWritten: boolean;
  /** Its caller was told already; the answer still decides about the sequence. */
  readonly abandoned: boolean;
  readonly renewals: number;
}

export interface KnownLeader {
  readonly brokerId: number;
  readonly leaderEpoch: number;
}

export type LeaderState =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'asked' }
  | ({ readonly kind: 'known' } & KnownLeader);

/** The identity that must not be used any more. `fresh`: another producer id is needed, not only an epoch. */
export interface SpentIdentity extends ProducerIdentity {
  readonly fresh: boolean;
}

export type IdentityState =
  | { readonly kind: 'not needed' }
  | { readonly kind: 'unknown'; readonly replaces?: SpentIdentity }
  | { readonly kind: 'asked'; readonly replaces?: SpentIdentity }
  | ({ readonly kind: 'held'; readonly nextSequence: number } & ProducerIdentity)
  | ({ readonly kind: 'spent' } & SpentIdentity);

export interface SenderState {
  readonly settings: SenderSettings;
  /** Unresolved, in the order of the log. */
  readonly batches: readonly BatchState[];
  readonly leader: LeaderState;
  readonly identity: IdentityState;
  /** After a failure nothing is sent until all came home, and then until the pause is over. */
  readonly recovery: 'none' | 'homing' | 'pausing';
  /** The failure named a newer leader: no pause. */
  readonly hinted: boolean;
  /** Failures in a row. */
  readonly attempt: number;
  readonly lastError: TributaryError | undefined;
  readonly ended: TributaryError | undefined;
}

export type SenderEvent =
  | { readonly type: 'added'; readonly batch: NewBatch }
  | ({ readonly type: 'leaderFound' } & KnownLeader)
  | { readonly type: 'leaderMissing'; readonly error: TributaryError }
  | ({ readonly type: 'identityGranted' } & ProducerIdentity)
  | { readonly type: 'identityMissing'; readonly error: TributaryError }
  | { readonly type: 'written'; readonly batchId: number; readonly baseOffset: number }
  /** The broker answered with an error. */
  | { readonly type: 'refused'; readonly batchId: number; readonly error: TributaryError }
  /** It went out, and no answer will come. */
  | { readonly type: 'lost'; readonly batchId: number; readonly error: TributaryError }
  /** It never left. */
  | { readonly type: 'unsent'; readonly batchId: number; readonly error: TributaryError }
  | { readonly type: 'split'; readonly batchId: number; readonly into: readonly NewBatch[] }
  | { readonly type: 'pauseOver' }
  /** Time passed: what is due expires. */
  | { readonly type: 'tick' }
  /** The topic is gone, or the producer closes: everything fails. */
  | { readonly type: 'ended'; readonly error: TributaryError };

export type SenderEffect =
  | ({
      readonly type: 'send';
      readonly batchId: number;
      readonly stamp: Stamp | undefined;
    } & KnownLeader)
  | { readonly type: 'findLeader' }
  | { readonly type: 'getIdentity'; readonly replaces: SpentIdentity | undefined }
  | { readonly type: 'pause'; readonly attempt: number }
  | { readonly type: 'reportFailure'; readonly leaderEpoch: number; readonly error: TributaryError }
  | { readonly type: 'split'; readonly batchId: number }
  | { readonly type: 'delivered'; readonly batchId: number; readonly baseOffset: number }
  | { readonly type: 'failed'; readonly batchId: number; readonly error: TributaryError };

export interface SenderStep {
  readonly state: SenderState;
  readonly effects: readonly SenderEffect[];
}

export function newSender(settings: SenderSettings): SenderState {
  return {
    settings,
    batches: [],
    leader: { kind: 'unknown' },
    identity: { kind: settings.idempotent ? 'unknown' : 'not needed' },
    recovery: 'none',
    hinted: false,
    attempt: 0,
    lastError: undefined,
    ended: undefined,
  };
}
