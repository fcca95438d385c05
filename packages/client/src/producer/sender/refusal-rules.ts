/**
 * What an answer with an error means for its batch and for those behind it. The heart of idempotence: which
 * batches may be sent again, under which numbers, and what the caller is told. Called by the machine alone.
 */
import type { ErrorCode, TributaryError } from '@tributary/common';
import type { SenderDraft } from './sender-draft';
import { MAX_RENEWALS, MAX_STREAM_ATTEMPTS, type BatchState } from './sender-state';

/** The leader that was asked is not, or may not be, the right one: look again. */
const LEADER_ERRORS: ReadonlySet<ErrorCode> = new Set([
  'NOT_LEADER',
  'FENCED_LEADER_EPOCH',
  'LEADER_NOT_AVAILABLE',
  'UNAVAILABLE',
  'BROKER_MISMATCH',
  'FENCED_BROKER_EPOCH',
  'UNKNOWN_TOPIC',
  'TOPIC_ID_MISMATCH',
  'STORAGE_ERROR',
  'TIMEOUT',
  'CANCELLED',
  'CLOSED',
]);

/** A leader that does not know its epoch yet hears of it in a moment; one that is cut off from the controller does not. */
const PATIENT_ATTEMPTS = 3;

/** A stream that ends with these would end so again. */
const FINAL_FOR_STREAMS: ReadonlySet<ErrorCode> = new Set([
  'CLUSTER_MISMATCH',
  'UNSUPPORTED_VERSION',
]);

/** Final for a caller of one call; here only that attempt is over. */
const RETRIED_ANYWAY: ReadonlySet<ErrorCode> = new Set(['CANCELLED', 'CLOSED']);

/** Where a broker does not say what became of the batch. */
const UNCLEAR: ReadonlySet<ErrorCode> = new Set([
  'TIMEOUT',
  'CANCELLED',
  'CLOSED',
  'UNAVAILABLE',
  'INTERNAL',
  'NOT_ENOUGH_REPLICAS_AFTER_APPEND',
]);

/** The broker's view of this producer differs from ours. True for `fresh`: another id is needed. */
const SEQUENCE_ERRORS: ReadonlyMap<ErrorCode, boolean> = new Map([
  ['OUT_OF_ORDER_SEQUENCE', false],
  ['UNKNOWN_PRODUCER_ID', true],
  ['INVALID_PRODUCER_EPOCH', true],
]);

export function applyRefusal(draft: SenderDraft, batch: BatchState, error: TributaryError): void {
  const home: BatchState = { ...batch, place: 'waiting' };
  if (batch.abandoned) return giveUp(draft, home, error);
  draft.patchBatch(batch.id, { place: 'waiting' });
  const fresh = SEQUENCE_ERRORS.get(error.code);
  if (fresh !== undefined && batch.stamp) return outOfSequence(draft, home, error, fresh);
  if (isTooLarge(error) && batch.records > 1 && !batch.maybeWritten) {
    draft.patchBatch(batch.id, { place: 'splitting' });
    draft.effects.push({ type: 'split', batchId: batch.id });
    // Those behind it were refused for their sequence, or will be: they must come home first.
    return draft.recover(error);
  }
  const written = (error.outcome ?? defaultOutcome(error)) !== 'not written';
  const failed = { ...home, maybeWritten: home.maybeWritten || written };
  const isBehind = error.code === 'UNKNOWN_LEADER_EPOCH' && draft.state.attempt >= PATIENT_ATTEMPTS;
  const leader = isBehind || LEADER_ERRORS.has(error.code);
  applyFailure(draft, failed, error, { again: mayRetry(error), leader });
}

/** The stream broke, or could not be had: it says nothing about the batch, and somewhat about the leader. */
export function applyLoss(draft: SenderDraft, batch: BatchState, error: TributaryError): void {
  const final = FINAL_FOR_STREAMS.has(error.code);
  const again = !final && draft.state.attempt < MAX_STREAM_ATTEMPTS;
  applyFailure(draft, batch, error, { again: mayRetry(error) || again, leader: true });
}

/** An attempt failed: `batch` is home, and knows whether it may be written. */
function applyFailure(
  draft: SenderDraft,
  batch: BatchState,
  error: TributaryError,
  doubt: { readonly again: boolean; readonly leader: boolean },
): void {
  draft.patchBatch(batch.id, { place: 'waiting', maybeWritten: batch.maybeWritten });
  if (batch.abandoned || !doubt.again) return giveUp(draft, batch, error);
  const { leader } = draft.state;
  draft.recover(error);
  if (!doubt.leader || leader.kind !== 'known') return;
  const { leaderEpoch } = leader;
  const hint = error.leader;
  const hinted = hint !== undefined && hint.leaderId >= 0 && hint.leaderEpoch > leaderEpoch;
  draft.effects.push({ type: 'reportFailure', leaderEpoch, error });
  draft.patch({ leader: { kind: 'unknown' }, hinted });
}

/** The batch is resolved as failed; a number that it held is a hole now. */
export function giveUp(draft: SenderDraft, batch: BatchState, error: TributaryError): void {
  draft.fail(batch, error);
  draft.remove(batch.id);
  if (batch.stamp) draft.spend(false);
}

/**
 * With an unresolved batch before it, the refusal only says that this one is not there: it goes again behind
 * that one. As the first one it can never be accepted under its numbers. Was every attempt refused, it takes new
 * numbers under a new identity; if one may have been written, that would risk a double, so the caller is told.
 */
function outOfSequence(
  draft: SenderDraft,
  batch: BatchState,
  error: TributaryError,
  fresh: boolean,
): void {
  const first = draft.state.batches[0]?.id === batch.id;
  const draining = draft.state.identity.kind === 'spent';
  if (!first && !draining && error.code !== 'INVALID_PRODUCER_EPOCH') {
    if (draft.state.recovery === 'none') draft.recover(error);
    return;
  }
  draft.spend(fresh);
  if (batch.maybeWritten || batch.renewals >= MAX_RENEWALS) {
    return giveUp(draft, batch, error);
  }
  draft.patchBatch(batch.id, { renewals: batch.renewals + 1 });
  draft.recover(error);
}

function mayRetry(error: TributaryError): boolean {
  return error.retriable || RETRIED_ANYWAY.has(error.code);
}

function isTooLarge(error: TributaryError): boolean {
  return error.code === 'BATCH_TOO_LARGE' || error.code === 'RECORD_TOO_LARGE';
}

function defaultOutcome(error: TributaryError): 'not written' | 'maybe written' {
  return UNCLEAR.has(error.code) ? 'maybe written' : 'not written';
}
